//! Address handles: the ways that datagrams take.

use std::sync::Arc;

use stroma_abi::{
    Field, Value,
    desc::{self, ObjectKind},
};

use crate::{Address, Error, Grh, ProtectionDomain, Result, object::Object, port, way::group_mac};

/// A way to a station, or to a group of stations, for the datagrams of a domain's queue pairs. Dropped, its number may be the next
/// one's: datagrams that name it have to be completed before.
#[derive(Debug)]
pub struct AddressHandle {
    object: Object,
    domain: Arc<ProtectionDomain>,
    address: Address,
}

impl ProtectionDomain {
    /// Makes an address handle. The MAC address of a group follows from its IP address, whatever stands in `address`.
    ///
    /// # Errors
    /// [`Error::Lacks`] when the card has no datagrams; [`Error::NoneLeft`]; [`Error::TooWide`]; when the card refuses.
    pub fn address_handle(self: &Arc<Self>, address: &Address) -> Result<AddressHandle> {
        let device = self.device();
        device.check_datagrams("address handle")?;
        fits("flow_label", desc::AddressHandle::FLOW_LABEL, address.flow_label)?;
        fits("source_address", desc::AddressHandle::SOURCE_ADDRESS, address.source_address)?;
        let address = Address { mac: group_mac(address.ip).unwrap_or(address.mac), ..*address };
        let body = desc::AddressHandle {
            pd: self.body_number(),
            source_port: address.source_port,
            hop_limit: address.hop_limit,
            traffic_class: address.traffic_class,
            vlan: address.vlan.unwrap_or(0),
            peer_mac: port::mac_bits(address.mac),
            source_address: address.source_address,
            has_vlan: address.vlan.is_some(),
            peer_ip: port::bits(address.ip),
            flow_label: address.flow_label,
        };
        let number = device.numbers().address_handles.take()?;
        let object = Object::create(device, ObjectKind::AddressHandle, number, &body.to_bytes(), Vec::new())?;
        Ok(AddressHandle { object, domain: Arc::clone(self), address })
    }

    /// Makes the address handle to answer a datagram with, as `ibv_create_ah_from_wc` does: see [`Grh::answer`].
    ///
    /// # Errors
    /// As [`Grh::answer`] and [`Self::address_handle`].
    pub fn answer_handle(self: &Arc<Self>, grh: &Grh, mac: [u8; 6]) -> Result<AddressHandle> {
        self.address_handle(&grh.answer(self.device().port(), mac)?)
    }
}

impl AddressHandle {
    /// Number of the address handle.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.object.number()
    }

    /// The protection domain.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The way.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Ends it, and says how that went.
    ///
    /// # Errors
    /// When the card does not answer: its number is not used again.
    pub fn destroy(mut self) -> Result<()> {
        self.object.destroy()
    }
}

fn fits(name: &'static str, field: Field, value: impl Value) -> Result<()> {
    let value = value.to_bits();
    if value <= field.max() { Ok(()) } else { Err(Error::TooWide { field: name, value, bits: field.width }) }
}
