//! BTH and the extended headers behind it, chosen and placed by the op-code table.

use rust_hdl::prelude::*;
use stroma_abi::wire::opcode::TABLE;
use stroma_abi::wire::{Header, Opcode};

use super::wire::{AtomicHeader, BTH, BthHeader, DETH, DethHeader, RETH, RethHeader};
use crate::constant::{constants, number};
use crate::head::Head;

/// Bits of the longest run of extended headers.
const EXTENDED: usize = 8 * stroma_abi::wire::opcode::EXTENDED_MAX;
/// Bits of BTH and extended headers.
pub(crate) const TRANSPORT: usize = BTH + EXTENDED;

/// The headers with fields of their own, each as often as the table puts it in another place. A CNP's reserved bytes
/// are zero and need no gate.
const SLOTS: [Header; 10] = [
    Header::Deth,
    Header::Reth,
    Header::AtomicEth,
    Header::Aeth,
    Header::AtomicAckEth,
    Header::RpcEth,
    Header::ImmDt,
    Header::ImmDt,
    Header::ImmDt,
    Header::Ieth,
];

/// Bytes between the BTH and `header` in packets of this op-code, if they carry it.
fn place(row: &Opcode, header: Header) -> Option<usize> {
    let before = row.headers.iter().position(|carried| *carried == header)?;
    Some(row.headers[..before].iter().map(|other| other.len()).sum())
}

/// One bit an op-code: where `holds` is true.
pub(crate) fn opcodes(holds: impl Fn(&Opcode) -> bool) -> Bits<256> {
    let bit = |row: &Opcode| num_bigint::BigUint::from(u8::from(holds(row))) << row.code;
    TABLE.iter().fold(num_bigint::BigUint::ZERO, |mask, row| mask | bit(row)).into()
}

/// Every place the table gives to `header`, in rising order.
fn places(header: Header) -> Vec<usize> {
    let mut places: Vec<usize> = TABLE.iter().filter_map(|row| place(row, header)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The place of slot `slot`: the n-th slot of a header takes its n-th place.
fn place_of(slot: usize) -> usize {
    let before = SLOTS[..slot].iter().filter(|header| **header == SLOTS[slot]).count();
    places(SLOTS[slot])[before]
}

/// The op-codes that carry the header of slot `slot` in its place.
fn carriers(slot: usize) -> Bits<256> {
    opcodes(|row| place(row, SLOTS[slot]) == Some(place_of(slot)))
}

block! {
    /// Writes BTH and extended headers, first byte on top, zeros behind the last.
    ///
    /// - **Ports** `head`: the fields; `pad`: bytes that fill the payload to whole words; `bytes`: the headers.
    /// - **Latency** 0 cycles. **Reset** none: it holds nothing. `clock` and `reset` are absent.
    /// - **Limits** an op-code outside the table has no extended header.
    pub struct Transport {
        pub head: Signal<In, Head>,
        pub pad: Signal<In, Bits<2>>,
        pub bytes: Signal<Out, Bits<TRANSPORT>>,
        bth: Signal<Local, BthHeader>,
        deth: Signal<Local, DethHeader>,
        reth: Signal<Local, RethHeader>,
        atomic: Signal<Local, AtomicHeader>,
        bth_bits: Signal<Local, Bits<BTH>>,
        deth_bits: Signal<Local, Bits<DETH>>,
        reth_bits: Signal<Local, Bits<RETH>>,
        part: [Signal<Local, Bits<EXTENDED>>; 10],
        placed: [Signal<Local, Bits<EXTENDED>>; 10],
        extended: Signal<Local, Bits<EXTENDED>>,
        carried: [Constant<Bits<256>>; 10] = constants(carriers),
        place: [Constant<Bits<9>>; 10] = constants(|slot| (8 * place_of(slot) as u64).into()),
        bth_at: Constant<Bits<9>> = number(TRANSPORT - BTH),
        top_32: Constant<Bits<9>> = number(EXTENDED - 32),
        top_64: Constant<Bits<9>> = number(EXTENDED - 64),
        top_128: Constant<Bits<9>> = number(EXTENDED - 128),
    }
}

impl Logic for Transport {
    #[hdl_gen]
    fn update(&mut self) {
        self.bth.next.opcode = self.head.val().op;
        self.bth.next.solicited = self.head.val().solicited;
        self.bth.next.migration = self.head.val().migrated;
        self.bth.next.pad = self.pad.val();
        self.bth.next.version = 0.into();
        self.bth.next.partition = self.head.val().pkey;
        self.bth.next.fecn = self.head.val().congestion.get_bit(7);
        self.bth.next.becn = self.head.val().congestion.get_bit(6);
        self.bth.next.reserved6 = self.head.val().congestion.get_bits::<6>(0);
        self.bth.next.destination_qp = self.head.val().dqpn;
        self.bth.next.ack_request = self.head.val().ackreq;
        self.bth.next.reserved7 = 0.into();
        self.bth.next.psn = self.head.val().psn;
        self.bth_bits.next = self.bth.val().to_bits();

        self.deth.next.queue_key = self.head.val().qkey;
        self.deth.next.reserved = 0.into();
        self.deth.next.source_qp = self.head.val().sqpn;
        self.deth_bits.next = self.deth.val().to_bits();
        self.reth.next.address = self.head.val().va;
        self.reth.next.remote_key = self.head.val().rkey;
        self.reth.next.length = self.head.val().len;
        self.reth_bits.next = self.reth.val().to_bits();
        self.atomic.next.address = self.head.val().va;
        self.atomic.next.remote_key = self.head.val().rkey;
        self.atomic.next.swap_add = self.head.val().a1;
        self.atomic.next.compare = self.head.val().a2;

        self.part[0].next = bit_cast::<EXTENDED, DETH>(self.deth_bits.val()) << self.top_64.val();
        self.part[1].next = bit_cast::<EXTENDED, RETH>(self.reth_bits.val()) << self.top_128.val();
        self.part[2].next = self.atomic.val().to_bits();
        self.part[3].next = bit_cast::<EXTENDED, 32>(self.head.val().aeth) << self.top_32.val();
        self.part[4].next = bit_cast::<EXTENDED, 64>(self.head.val().a1) << self.top_64.val();
        self.part[5].next = bit_cast::<EXTENDED, 64>(self.head.val().a1) << self.top_64.val();
        for i in 6..10 {
            self.part[i].next = bit_cast::<EXTENDED, 32>(self.head.val().imm) << self.top_32.val();
        }
        for i in 0..10 {
            self.placed[i].next = 0.into();
            if self.carried[i].val().get_bit(self.head.val().op.index()) {
                self.placed[i].next = self.part[i].val() >> self.place[i].val();
            }
        }
        self.extended.next = self.placed[0].val()
            | self.placed[1].val()
            | self.placed[2].val()
            | self.placed[3].val()
            | self.placed[4].val()
            | self.placed[5].val()
            | self.placed[6].val()
            | self.placed[7].val()
            | self.placed[8].val()
            | self.placed[9].val();
        self.bytes.next = (bit_cast::<TRANSPORT, BTH>(self.bth_bits.val()) << self.bth_at.val())
            | bit_cast::<TRANSPORT, EXTENDED>(self.extended.val());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_the_table_gives_a_header_has_its_slot() {
        for header in Header::ALL.into_iter().filter(|header| *header != Header::Cnp) {
            let slots = SLOTS.iter().filter(|slot| **slot == header).count();
            assert_eq!(places(header).len(), slots, "{header:?}");
        }
    }
}
