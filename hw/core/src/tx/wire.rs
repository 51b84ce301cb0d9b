//! Headers as hardware sees them: one field after the other, first byte on the wire on top.
//!
//! A record begins with its least significant field, so these list the fields of `stroma_abi`'s tables from the last
//! to the first. A test holds every name, width and place against those tables.

use rust_hdl::prelude::*;
use stroma_abi::wire::{AtomicEth, Bth, Deth, Ethernet, Ipv4, Ipv6, Reth, Tag, Udp};

use crate::record;

macro_rules! header {
    ($name:ident, $header:ident, $bits:ident, { $($field:ident: $kind:ty),+ $(,)? }) => {
        #[doc = concat!("Bits of [`", stringify!($header), "`].")]
        pub const $bits: usize = 8 * $header::LEN;

        record! {
            #[doc = concat!("[`", stringify!($header), "`], last field first.")]
            pub struct $name { $(pub $field: $kind),+ }
        }

        impl $name {
            /// The header as one word. The kernel macro prints a call of this name as its receiver alone.
            #[must_use]
            pub fn to_bits(self) -> Bits<$bits> {
                num_bigint::BigUint::new(crate::pack::Packed::to_words(&self)).into()
            }
        }
    };
}

header!(EthernetHeader, Ethernet, ETHERNET, {
    ethertype: Bits<16>, source: Bits<48>, destination: Bits<48>,
});

header!(TagHeader, Tag, TAG, {
    ethertype: Bits<16>, vlan: Bits<12>, drop_eligible: Bit, priority: Bits<3>,
});

header!(Ipv4Header, Ipv4, IPV4, {
    destination: Bits<32>, source: Bits<32>,
    checksum: Bits<16>, protocol: Bits<8>, ttl: Bits<8>,
    fragment: Bits<13>, more_fragments: Bit, dont_fragment: Bit, reserved: Bit, identification: Bits<16>,
    total_length: Bits<16>, ecn: Bits<2>, dscp: Bits<6>, ihl: Bits<4>, version: Bits<4>,
});

header!(Ipv6Header, Ipv6, IPV6, {
    destination: Bits<128>, source: Bits<128>,
    hop_limit: Bits<8>, next_header: Bits<8>, payload_length: Bits<16>,
    flow_label: Bits<20>, traffic_class: Bits<8>, version: Bits<4>,
});

header!(UdpHeader, Udp, UDP, {
    checksum: Bits<16>, length: Bits<16>, destination_port: Bits<16>, source_port: Bits<16>,
});

header!(BthHeader, Bth, BTH, {
    psn: Bits<24>, reserved7: Bits<7>, ack_request: Bit,
    destination_qp: Bits<24>, reserved6: Bits<6>, becn: Bit, fecn: Bit,
    partition: Bits<16>, version: Bits<4>, pad: Bits<2>, migration: Bit, solicited: Bit, opcode: Bits<8>,
});

header!(DethHeader, Deth, DETH, { source_qp: Bits<24>, reserved: Bits<8>, queue_key: Bits<32> });

header!(RethHeader, Reth, RETH, { length: Bits<32>, remote_key: Bits<32>, address: Bits<64> });

header!(AtomicHeader, AtomicEth, ATOMIC, {
    compare: Bits<64>, swap_add: Bits<64>, remote_key: Bits<32>, address: Bits<64>,
});

#[cfg(test)]
mod tests {
    use rust_hdl::core::type_descriptor::TypeField;
    use stroma_abi::Entry;

    use super::*;

    fn width(kind: &TypeKind) -> usize {
        match kind {
            TypeKind::Bits(width) => *width,
            other => panic!("a header field is made of bits, not {other:?}"),
        }
    }

    /// Does a record list the rows of a table, last first, each at its width? The tables name every bit and are sorted,
    /// so equal order and widths mean equal places.
    fn follows<T: Synth>(table: &[Entry]) -> bool {
        let TypeKind::Composite(fields) = T::descriptor().kind else { return false };
        let same = |(field, entry): (&TypeField, &Entry)| {
            field.fieldname == entry.name && width(&field.kind.kind) == entry.field.width
        };
        fields.len() == table.len() && fields.iter().map(AsRef::as_ref).zip(table.iter().rev()).all(same)
    }

    #[test]
    fn every_record_follows_its_table() {
        assert!(follows::<EthernetHeader>(Ethernet::TABLE));
        assert!(follows::<TagHeader>(Tag::TABLE));
        assert!(follows::<Ipv4Header>(Ipv4::TABLE));
        assert!(follows::<Ipv6Header>(Ipv6::TABLE));
        assert!(follows::<UdpHeader>(Udp::TABLE));
        assert!(follows::<BthHeader>(Bth::TABLE));
        assert!(follows::<DethHeader>(Deth::TABLE));
        assert!(follows::<RethHeader>(Reth::TABLE));
        assert!(follows::<AtomicHeader>(AtomicEth::TABLE));
    }

    #[test]
    fn a_record_does_not_follow_another_table() {
        assert!(!follows::<UdpHeader>(Tag::TABLE));
        assert!(!follows::<Ipv4Header>(&Ipv4::TABLE[1..]));
    }

    #[test]
    fn a_header_as_one_word_is_its_bytes_read_as_one_number() {
        let wire = Udp { source_port: 0x1234, destination_port: 4791, length: 0x0102, checksum: 0xbeef };
        let header = UdpHeader {
            source_port: 0x1234.into(),
            destination_port: 4791.into(),
            length: 0x0102.into(),
            checksum: 0xbeef.into(),
        };
        assert_eq!(num_bigint::BigUint::from(header.to_bits()), u64::from_be_bytes(wire.to_bytes()).into());
    }
}
