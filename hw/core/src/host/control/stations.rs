//! Whose an IP address is: the port's own, or that of a group which it belongs to.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::{PORT_ADDRESSES, PORT_GROUPS};

use crate::prim::reg::Reg;
use crate::prim::reverse::Reverse;
use crate::record;
use crate::transport::records::Station;

/// Bits that name a half of an address.
pub const HALF_BITS: usize = 5;
/// Halves of addresses, and as many of groups'.
const HALVES: usize = 2 * PORT_ADDRESSES;

const _: () = assert!(HALVES == 1 << HALF_BITS && PORT_GROUPS == PORT_ADDRESSES);

record! {
    /// A half of an address changes.
    pub struct HalfStore {
        /// One does in this cycle.
        pub valid: Bit,
        /// Which: twice the number of the address, and one more for its last eight bytes.
        pub half: Bits<HALF_BITS>,
        /// Its eight bytes, the first one lowest.
        pub bytes: Bits<64>,
    }
}

record! {
    /// Who belongs to a group changes.
    pub struct MemberStore {
        /// It does in this cycle.
        pub valid: Bit,
        /// The group.
        pub group: Bits<4>,
        /// The queue pair.
        pub queue_pair: Bits<24>,
        /// It counts.
        pub enable: Bit,
    }
}

block! {
    /// Holds an address against all that the port has, and all groups, at once.
    ///
    /// A datagram may be for any of them, and comes every other cycle: there is no time to look for it one by one. A bit for each half says
    /// that it was stored since reset; without it the half counts as zero, so that reset has few registers to clear.
    ///
    /// - **Ports** `address`, `group`, `member`: what is stored; `destination`: an address, first byte highest; `station`: whose it is. Of two
    ///   groups with one address the first counts.
    /// - **Latency** 1 cycle from all inputs. **Rate** one of each per cycle.
    /// - **Reset** forgets everything. No address at all, all zero, is nobody's.
    pub struct Stations {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub address: Signal<In, HalfStore>,
        pub group: Signal<In, HalfStore>,
        pub member: Signal<In, MemberStore>,
        pub destination: Signal<In, Bits<128>>,
        pub station: Signal<Out, Station>,
        addresses: [Reg<Bits<64>>; HALVES],
        groups: [Reg<Bits<64>>; HALVES],
        members: [Reg<Bits<24>>; PORT_GROUPS],
        enabled: Reg<Bits<PORT_GROUPS>>,
        has_address: Reg<Bits<HALVES>>,
        has_group: Reg<Bits<HALVES>>,
        /// What was found: the address is one of the port's, and one bit for each group that has it.
        is_found: Reg<Bit>,
        found: Reg<Bits<PORT_GROUPS>>,
        asked: Reverse<128>,
        low: Signal<Local, Bits<64>>,
        high: Signal<Local, Bits<64>>,
        own: [Signal<Local, Bits<64>>; HALVES],
        theirs: [Signal<Local, Bits<64>>; HALVES],
        is_ours: Signal<Local, Bit>,
        hits: Signal<Local, Bits<PORT_GROUPS>>,
        first: Signal<Local, Bits<PORT_GROUPS>>,
        chosen: Signal<Local, Bits<24>>,
    }
}

impl Logic for Stations {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, enabled, has_address, has_group, is_found, found);
        for i in 0..HALVES {
            self.addresses[i].clock.next = self.clock.val();
            self.addresses[i].d.next = self.addresses[i].q.val();
            if self.address.val().valid & (self.address.val().half.index() == i) {
                self.addresses[i].d.next = self.address.val().bytes;
            }
            self.groups[i].clock.next = self.clock.val();
            self.groups[i].d.next = self.groups[i].q.val();
            if self.group.val().valid & (self.group.val().half.index() == i) {
                self.groups[i].d.next = self.group.val().bytes;
            }
        }
        if self.address.val().valid {
            self.has_address.d.next =
                self.has_address.q.val().replace_bit(self.address.val().half.index(), true);
        }
        if self.group.val().valid {
            self.has_group.d.next = self.has_group.q.val().replace_bit(self.group.val().half.index(), true);
        }
        for i in 0..PORT_GROUPS {
            self.members[i].clock.next = self.clock.val();
            self.members[i].d.next = self.members[i].q.val();
            if self.member.val().valid & (self.member.val().group.index() == i) {
                self.members[i].d.next = self.member.val().queue_pair;
            }
        }
        if self.member.val().valid {
            self.enabled.d.next =
                self.enabled.q.val().replace_bit(self.member.val().group.index(), self.member.val().enable);
        }

        self.asked.forward.next = self.destination.val();
        self.low.next = self.asked.reversed.val().get_bits::<64>(0);
        self.high.next = self.asked.reversed.val().get_bits::<64>(64);
        for i in 0..HALVES {
            self.own[i].next = 0.into();
            if self.has_address.q.val().get_bit(i) {
                self.own[i].next = self.addresses[i].q.val();
            }
            self.theirs[i].next = 0.into();
            if self.has_group.q.val().get_bit(i) {
                self.theirs[i].next = self.groups[i].q.val();
            }
        }
        self.is_ours.next = false;
        self.hits.next = 0.into();
        for i in 0..PORT_GROUPS {
            if (self.own[2 * i].val() == self.low.val()) & (self.own[2 * i + 1].val() == self.high.val()) {
                self.is_ours.next = true;
            }
            if (self.theirs[2 * i].val() == self.low.val())
                & (self.theirs[2 * i + 1].val() == self.high.val())
            {
                self.hits.next = self.hits.val().replace_bit(i, self.enabled.q.val().get_bit(i));
            }
        }
        self.is_found.d.next = self.is_ours.val() & self.destination.val().any();
        self.found.d.next = self.hits.val();

        // The lowest bit alone.
        self.first.next = self.found.q.val() & (!self.found.q.val() + 1);
        self.chosen.next = 0.into();
        for i in 0..PORT_GROUPS {
            if self.first.val().get_bit(i) {
                self.chosen.next = self.chosen.val() | self.members[i].q.val();
            }
        }
        self.station.next.is_ours = self.is_found.q.val();
        self.station.next.is_group = self.found.q.val().any();
        self.station.next.member = self.chosen.val();
        if self.reset.val() {
            self.enabled.d.next = 0.into();
            self.has_address.d.next = 0.into();
            self.has_group.d.next = 0.into();
        }
    }
}
