//! Ways to peers: address vectors in the words of libibverbs, and address handles.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{
    net::{IpAddr, Ipv6Addr},
    ptr,
    sync::Arc,
    time::Duration,
};

use libc::c_int;
use rdma_sys::ibv_wc_flags;
use rdma_sys::{
    ibv_ah, ibv_ah_attr, ibv_context, ibv_gid, ibv_global_route, ibv_grh, ibv_pd, ibv_qp, ibv_wc,
};
use stroma_verbs::{Address, AddressHandle, Grh, Membership};

use crate::{
    context::{CONTEXTS, Context, PORT},
    domain::{DOMAINS, Domain},
    failure::{Outcome, invalid, pointer, status},
    handle::{Held, Parent, Shell, Table, Users, given, zeroed},
    pair::PAIRS,
};

/// How long a neighbour has to say where it is. Who is slow to start needs some.
const PATIENCE: Duration = Duration::from_secs(5);
/// First of the UDP ports that packets leave from, and the bits of others.
const FIRST_PORT: u16 = 0xc000;
const PORT_BITS: u32 = 0x3fff;
/// Bits of a flow label.
const FLOW_LABEL_BITS: u32 = 0xf_ffff;

/// An address handle.
pub(crate) struct Handle {
    pub(crate) inner: AddressHandle,
    pub(crate) domain: Held<Domain>,
    users: Users,
}

impl Shell for ibv_ah {}

impl Parent for Handle {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All address handles.
pub(crate) static HANDLES: Table<ibv_ah, Handle> =
    Table::new("no address handle of ours, or one that was destroyed");

/// A GID as an address.
fn ip(gid: ibv_gid) -> IpAddr {
    // SAFETY: all bytes of a GID are bytes, whatever it was written as.
    Ipv6Addr::from(unsafe { gid.raw }).to_canonical()
}

/// The UDP port of a flow: packets with one flow label take one way through the network.
fn source_port(flow_label: u32) -> u16 {
    let folded = (flow_label & PORT_BITS) ^ (flow_label >> 14 & 0x3f);
    FIRST_PORT | u16::try_from(folded & PORT_BITS).unwrap_or(0)
}

/// The way that an address vector names. A neighbour that nobody has heard of yet is asked.
pub(crate) fn way(context: &Context, vector: &ibv_ah_attr) -> Outcome<Address> {
    let ibv_global_route { dgid, flow_label, sgid_index, hop_limit, traffic_class } = vector.grh;
    // Programs that have none to name set all bits.
    let flow_label = flow_label & FLOW_LABEL_BITS;
    if vector.is_global == 0 {
        return Err(invalid("a peer without an address: RoCE has no other identifiers"));
    }
    if vector.port_num != PORT {
        return Err(invalid("a card has port 1 alone"));
    }
    let to = ip(dgid);
    let from = context.device().port().address(sgid_index.into())?;
    if from.is_unspecified() || from.is_ipv4() != to.is_ipv4() {
        return Err(invalid("the port has no address of this kind at that place"));
    }
    let is_own = context.device().port().addresses()?.contains(&to);
    let mac = if is_own {
        context.card.found.mac()
    } else {
        context.card.inner.neighbours.resolve(to, PATIENCE)?
    };
    Ok(Address {
        mac,
        ip: to,
        source_port: source_port(flow_label),
        // 0 is for peers on the same link; a packet with no hop left would not reach them here.
        hop_limit: hop_limit.max(1),
        traffic_class,
        vlan: None,
        flow_label,
        source_address: sgid_index,
    })
}

/// The address vector of a way.
pub(crate) fn vector(address: &Address) -> ibv_ah_attr {
    let raw = match address.ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut vector: ibv_ah_attr = zeroed();
    vector.grh = ibv_global_route {
        dgid: ibv_gid { raw: raw.octets() },
        flow_label: address.flow_label,
        sgid_index: address.source_address,
        hop_limit: address.hop_limit,
        traffic_class: address.traffic_class,
    };
    (vector.is_global, vector.port_num) = (1, PORT);
    vector
}

fn create(pd: *mut ibv_pd, vector: &ibv_ah_attr) -> Outcome<*mut ibv_ah> {
    let domain = DOMAINS.find(pd)?;
    let handle = domain.inner.address_handle(&way(&domain.context, vector)?)?;
    let mut shell: ibv_ah = zeroed();
    (shell.context, shell.pd, shell.handle) = (domain.context.face(), pd, handle.number());
    let domain = Held::new(domain)?;
    Ok(HANDLES.add(shell, |_| Arc::new(Handle { inner: handle, domain, users: Users::default() })))
}

/// Makes an address handle.
///
/// # Safety
/// `attr` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_ah(pd: *mut ibv_pd, attr: *mut ibv_ah_attr) -> *mut ibv_ah {
    pointer("ibv_create_ah", || {
        given(attr)?;
        // SAFETY: by contract.
        create(pd, unsafe { &*attr })
    })
}

/// Ends an address handle.
///
/// # Safety
/// None: a pointer that is none of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_ah(ah: *mut ibv_ah) -> c_int {
    status("ibv_destroy_ah", || HANDLES.remove(ah).map(drop))
}

/// The address vector that leads back to who sent a datagram.
fn back(context: &Context, port: u8, wc: &ibv_wc, grh: *const ibv_grh) -> Outcome<ibv_ah_attr> {
    if port != PORT || wc.wc_flags & ibv_wc_flags::IBV_WC_GRH.0 == 0 {
        return Err(invalid("no datagram of this port"));
    }
    given(grh)?;
    let mut bytes = [0; Grh::LEN];
    // SAFETY: the completion says that the buffer begins with so many bytes of header, and the program where it is.
    unsafe { ptr::copy_nonoverlapping(grh.cast(), bytes.as_mut_ptr(), bytes.len()) };
    let grh = Grh::parse(&bytes)?;
    // The next hop is asked for when the vector is used.
    Ok(vector(&grh.answer(context.device().port(), [0; 6])?))
}

/// Makes the address vector to answer a datagram with.
///
/// # Safety
/// `wc` and `attr` are structures, and `grh` is the beginning of the datagram's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_init_ah_from_wc(
    context: *mut ibv_context,
    port: u8,
    wc: *mut ibv_wc,
    grh: *mut ibv_grh,
    attr: *mut ibv_ah_attr,
) -> c_int {
    status("ibv_init_ah_from_wc", || {
        let context = CONTEXTS.find(context)?;
        given(wc)?;
        given(attr)?;
        // SAFETY: by contract.
        unsafe { attr.write(back(&context, port, &*wc, grh)?) };
        Ok(())
    })
}

/// Makes the address handle to answer a datagram with.
///
/// # Safety
/// As [`ibv_init_ah_from_wc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_ah_from_wc(
    pd: *mut ibv_pd,
    wc: *mut ibv_wc,
    grh: *mut ibv_grh,
    port: u8,
) -> *mut ibv_ah {
    pointer("ibv_create_ah_from_wc", || {
        given(wc)?;
        let domain = DOMAINS.find(pd)?;
        // SAFETY: by contract.
        let attr = back(&domain.context, port, unsafe { &*wc }, grh)?;
        create(pd, &attr)
    })
}

/// The MAC address and the VLAN of a peer.
///
/// # Safety
/// `attr` is a structure; `mac` is a place for six bytes, `vlan` null or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_resolve_eth_l2_from_gid(
    context: *mut ibv_context,
    attr: *mut ibv_ah_attr,
    mac: *mut [u8; 6],
    vlan: *mut u16,
) -> c_int {
    status("ibv_resolve_eth_l2_from_gid", || {
        let context = CONTEXTS.find(context)?;
        given(attr)?;
        given(mac)?;
        // SAFETY: by contract.
        unsafe {
            mac.write(way(&context, &*attr)?.mac);
            if !vlan.is_null() {
                vlan.write(NO_VLAN);
            }
        }
        Ok(())
    })
}

/// What stands for no VLAN.
const NO_VLAN: u16 = 0xffff;

/// A group that a queue pair belongs to.
pub(crate) struct Member {
    group: IpAddr,
    _membership: Membership,
}

/// Lets a queue pair belong to a group.
///
/// # Safety
/// `gid` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_attach_mcast(qp: *mut ibv_qp, gid: *const ibv_gid, _lid: u16) -> c_int {
    status("ibv_attach_mcast", || {
        let pair = PAIRS.find(qp)?;
        given(gid)?;
        // SAFETY: by contract.
        let group = ip(unsafe { *gid });
        let mut members = pair.members();
        let membership = pair.context().device().port().join(&pair.inner, group)?;
        members.push(Member { group, _membership: membership });
        Ok(())
    })
}

/// Lets it leave the group.
///
/// # Safety
/// `gid` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_detach_mcast(qp: *mut ibv_qp, gid: *const ibv_gid, _lid: u16) -> c_int {
    status("ibv_detach_mcast", || {
        let pair = PAIRS.find(qp)?;
        given(gid)?;
        // SAFETY: by contract.
        let group = ip(unsafe { *gid });
        let mut members = pair.members();
        let place = members.iter().position(|member| member.group == group);
        members.remove(place.ok_or(invalid("the queue pair does not belong to the group"))?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_label_chooses_the_port_that_packets_leave_from() {
        assert_eq!(source_port(0), 0xc000);
        assert_eq!(source_port(0x3fff), 0xffff);
        // The upper bits are folded into the lower ones.
        assert_eq!(source_port(0x4001), 0xc000);
    }
}
