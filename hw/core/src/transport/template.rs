//! Template: a packet gets the fields that all packets of its queue pair share.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::wire::opcode::CNP;

use super::records::{PathRow, TxPacket};
use crate::constant::number;
use crate::head::Head;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Bits above an IPv4 address in its GID, and what stands there.
const MAPPED_AT: usize = 32;
const MAPPED: u64 = 0xffff;
/// BTH byte 4 of a congestion notification: BECN.
const BECN: u64 = 0x40;

block! {
    /// Makes heads of packets, with the path of their queue pair, and lets their payload pass.
    ///
    /// - **Ports** `packet`, `payload`: a payload for each packet with `payload_len > 0`, in order; `path_enable`, `path_index`,
    ///   `path`: the queue pair's path, there a cycle later; `address_index`, `address`: one of the port's addresses, in the
    ///   same cycle; `mac`: the port's. `head`, `source`: heads, and their payload. `again`: high for a cycle, a packet is
    ///   sent again. A packet without a path, whose queue pair is gone, is thrown away with its payload. `busy`: something is inside.
    /// - **Latency** 2 cycles from `packet` to `head`; 0 from `payload` to `source`. **Rate** a packet every 2 cycles, 1 beat per
    ///   cycle.
    /// - **Backpressure** 4 heads wait; then `packet` does. A payload waits for its packet. `payload` and `source` are joined
    ///   combinationally, and `address` reaches a register; nothing else runs from port to port.
    /// - **Reset** forgets everything; payload of packets from before must not come any more.
    pub struct Template<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub packet: StreamSink<TxPacket>,
        pub payload: StreamSink<Beat<D>>,
        pub path_enable: Signal<Out, Bit>,
        pub path_index: Signal<Out, Bits<24>>,
        pub path: Signal<In, PathRow>,
        pub address_index: Signal<Out, Bits<4>>,
        pub address: Signal<In, Bits<128>>,
        pub mac: Signal<In, Bits<48>>,
        pub head: StreamSource<Head>,
        pub source: StreamSource<Beat<D>>,
        pub again: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        held: Reg<TxPacket>,
        /// The path of the packet that is held is here.
        looking: Reg<Bit>,
        repeats: Reg<Bit>,
        heads: Fifo<Head, 2>,
        /// Of each payload: does it pass?
        verdicts: Fifo<Bit, 3>,
        takes: Signal<Local, Bit>,
        is_passed: Signal<Local, Bit>,
        mapped_at: Constant<Bits<8>> = number(MAPPED_AT),
        mapped: Constant<Bits<128>> = number(MAPPED),
        cnp: Constant<Bits<8>> = number(CNP.code),
        becn: Constant<Bits<8>> = number(BECN),
    }
}

impl<const D: usize> Logic for Template<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, heads, verdicts);
        dff_setup!(self, clock, held, looking, repeats);
        self.heads.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();

        // Nobody else fills the two queues, so the room that is there now is there in the next cycle.
        self.takes.next =
            !self.looking.q.val() & self.heads.sink.ready.val() & self.verdicts.sink.ready.val();
        self.packet.ready.next = self.takes.val();
        self.looking.d.next = self.takes.val() & self.packet.valid.val();
        if self.takes.val() {
            self.held.d.next = self.packet.payload.val();
        }
        self.path_enable.next = self.takes.val() & self.packet.valid.val();
        self.path_index.next = self.packet.payload.val().qpn;
        self.address_index.next = self.path.val().source_address;

        self.heads.sink.valid.next = self.looking.q.val() & self.path.val().exists;
        self.heads.sink.payload.next.dmac = self.path.val().peer_mac;
        self.heads.sink.payload.next.smac = self.mac.val();
        self.heads.sink.payload.next.tagged = self.path.val().has_vlan;
        self.heads.sink.payload.next.tci = self.path.val().vlan;
        self.heads.sink.payload.next.v6 =
            (self.path.val().peer_ip >> self.mapped_at.val()) != self.mapped.val();
        self.heads.sink.payload.next.tclass = self.path.val().traffic_class;
        self.heads.sink.payload.next.flow = self.path.val().flow_label;
        self.heads.sink.payload.next.ident = 0.into();
        self.heads.sink.payload.next.dont_fragment = true;
        self.heads.sink.payload.next.hops = self.path.val().hop_limit;
        self.heads.sink.payload.next.src_ip = self.address.val();
        self.heads.sink.payload.next.dst_ip = self.path.val().peer_ip;
        self.heads.sink.payload.next.sport = self.path.val().source_port;
        self.heads.sink.payload.next.udp_sum = 0.into();
        self.heads.sink.payload.next.op = self.held.q.val().op;
        self.heads.sink.payload.next.solicited = self.held.q.val().solicited;
        // No other path is ever armed, and the specification calls that migrated.
        self.heads.sink.payload.next.migrated = true;
        self.heads.sink.payload.next.pad = 0.into();
        self.heads.sink.payload.next.pkey = self.path.val().p_key;
        self.heads.sink.payload.next.congestion = 0.into();
        if self.held.q.val().op == self.cnp.val() {
            self.heads.sink.payload.next.congestion = self.becn.val();
        }
        self.heads.sink.payload.next.dqpn = self.path.val().peer;
        self.heads.sink.payload.next.ackreq = self.held.q.val().ackreq;
        self.heads.sink.payload.next.psn = self.held.q.val().psn;
        self.heads.sink.payload.next.va = self.held.q.val().va;
        self.heads.sink.payload.next.rkey = self.held.q.val().rkey;
        self.heads.sink.payload.next.len = self.held.q.val().len;
        self.heads.sink.payload.next.aeth = self.held.q.val().aeth;
        self.heads.sink.payload.next.imm = self.held.q.val().imm;
        self.heads.sink.payload.next.a1 = self.held.q.val().a1;
        self.heads.sink.payload.next.a2 = self.held.q.val().a2;
        self.heads.sink.payload.next.qkey = 0.into();
        self.heads.sink.payload.next.sqpn = 0.into();
        self.heads.sink.payload.next.payload_len = self.held.q.val().payload_len;
        StreamSource::<Head>::link(&mut self.head, &mut self.heads.source);

        self.verdicts.sink.valid.next = self.looking.q.val() & self.held.q.val().payload_len.any();
        self.verdicts.sink.payload.next = self.path.val().exists;
        self.is_passed.next = self.verdicts.source.valid.val() & self.verdicts.source.payload.val();
        self.source.payload.next = self.payload.payload.val();
        self.source.valid.next = self.payload.valid.val() & self.is_passed.val();
        self.payload.ready.next = self.verdicts.source.valid.val()
            & (self.source.ready.val() | !self.verdicts.source.payload.val());
        self.verdicts.source.ready.next = self.payload.valid.val()
            & self.payload.payload.val().eop
            & (self.source.ready.val() | !self.verdicts.source.payload.val());

        self.repeats.d.next = self.looking.q.val() & self.path.val().exists & self.held.q.val().again;
        self.again.next = self.repeats.q.val();
        self.busy.next =
            self.looking.q.val() | self.heads.level.val().any() | self.verdicts.level.val().any();
        if self.reset.val() {
            self.looking.d.next = false;
            self.repeats.d.next = false;
        }
    }
}
