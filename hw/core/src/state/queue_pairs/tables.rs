//! The queue pairs themselves: whole for their owner, and the part that the sending side reads.

use rust_hdl::prelude::*;
use stroma_abi::desc::{QueuePair, QueuePairKind};

use super::modification::PATH_MTU_MAX;
use super::rows::{Paths, Peers, Results, Rings};
use crate::constant::number;
use crate::fabric::records::ResultRow;
use crate::host::work::SendRow;
use crate::prim::ram::{BlockRam, LutRam};
use crate::prim::reg::Reg;
use crate::transport::records::{PathRow, PeerRow, RingRow};

const _: () = assert!(QueuePairKind::from_code(0).is_none(), "a body of kind 0 is no queue pair");

block! {
    /// Holds `2^QPS` queue pairs: bodies, and rows made of them.
    ///
    /// - **Ports** `read`, `index`: `body` shows that queue pair from the next cycle on and holds it until the next read,
    ///   `beyond` that there is no such place, so that `body` means nothing; a body of kind 0 is no queue pair.
    ///   `write*`: stores a body and its row at the clock edge. `row_enable`, `row_index`, `row`: the same read for the
    ///   sending side, at any time; `peer*`, `path*`, `ring*`: as in [`Peers`], [`Paths`] and, for two readers each, [`Rings`] and, as `area*`, [`Results`]. `probe`, `exists`: is there such a
    ///   queue pair? `ready`: the tables are clean.
    /// - **Latency** 1 cycle, to `exists` 0; a read during a write of the same place gives the *old* content. **Rate** one read of each
    ///   table and one write per cycle.
    /// - **Reset** clears all places, one a cycle; `ready` is low meanwhile, and writes are lost.
    /// - **Limits** `QPS` from 1 to 24, the bits a queue pair's number has.
    pub struct Tables<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub read: Signal<In, Bit>,
        pub index: Signal<In, Bits<32>>,
        pub body: Signal<Out, Bits<896>>,
        pub beyond: Signal<Out, Bit>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub write_body: Signal<In, Bits<896>>,
        pub row_enable: Signal<In, Bit>,
        pub row_index: Signal<In, Bits<24>>,
        pub row: Signal<Out, SendRow>,
        pub peer_enable: Signal<In, Bit>,
        pub peer_index: Signal<In, Bits<24>>,
        pub peer: Signal<Out, PeerRow>,
        pub path_enable: Signal<In, Bit>,
        pub path_index: Signal<In, Bits<24>>,
        pub path: Signal<Out, PathRow>,
        pub ring_enable: [Signal<In, Bit>; 2],
        pub ring_index: [Signal<In, Bits<24>>; 2],
        pub ring: [Signal<Out, RingRow>; 2],
        pub area_enable: [Signal<In, Bit>; 2],
        pub area_index: [Signal<In, Bits<24>>; 2],
        pub area: [Signal<Out, ResultRow>; 2],
        pub probe: Signal<In, Bits<24>>,
        pub exists: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        peers: Peers<QPS>,
        paths: Paths<QPS>,
        rings: [Rings<QPS>; 2],
        results: [Results<QPS>; 2],
        bodies: BlockRam<Bits<896>, QPS>,
        rows: BlockRam<SendRow, QPS>,
        existence: LutRam<Bit, QPS>,
        is_beyond: Reg<Bit>,
        is_row_beyond: Reg<Bit>,
        scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<QPS>>,
        stored: Signal<Local, Bits<896>>,
        at: Signal<Local, Bits<QPS>>,
        stores: Signal<Local, Bit>,
        log: Constant<Bits<5>> = number(QPS),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
        state_at: Constant<Bits<10>> = number(QueuePair::STATE.offset()),
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        pd_at: Constant<Bits<10>> = number(QueuePair::PD.offset()),
        cq_at: Constant<Bits<10>> = number(QueuePair::SEND_CQ.offset()),
        page_at: Constant<Bits<10>> = number(QueuePair::PAGE.offset()),
        log_at: Constant<Bits<10>> = number(QueuePair::SEND_LOG.offset()),
        /// Of the base without its low twelve bits.
        base_at: Constant<Bits<10>> = number(QueuePair::SEND_BASE.offset() + 12),
        pace_at: Constant<Bits<10>> = number(QueuePair::PACE.offset()),
        path_mtu_at: Constant<Bits<10>> = number(QueuePair::PATH_MTU.offset()),
        send_psn_at: Constant<Bits<10>> = number(QueuePair::SEND_PSN.offset()),
        reads_out_at: Constant<Bits<10>> = number(QueuePair::READS_OUT.offset()),
        timeout_at: Constant<Bits<10>> = number(QueuePair::TIMEOUT.offset()),
        datagram: Constant<Bits<3>> = number(QueuePairKind::Datagram as u64),
        path_mtu_max: Constant<Bits<3>> = number(PATH_MTU_MAX),
    }
}

impl<const QPS: usize> Logic for Tables<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, bodies, rows, existence, peers, paths);
        dff_setup!(self, clock, is_beyond, is_row_beyond, scrubbing, scrubbed);
        self.bodies.read_enable.next = self.read.val();
        self.bodies.read_address.next = bit_cast::<QPS, 32>(self.index.val());
        if self.read.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.beyond.next = self.is_beyond.q.val();
        self.body.next = self.bodies.read_data.val();
        self.rows.read_enable.next = self.row_enable.val();
        self.rows.read_address.next = bit_cast::<QPS, 24>(self.row_index.val());
        if self.row_enable.val() {
            self.is_row_beyond.d.next = (self.row_index.val() >> self.log.val()).any();
        }
        self.row.next = self.rows.read_data.val();
        if self.is_row_beyond.q.val() {
            self.row.next.exists = false;
        }

        self.stores.next = self.write.val();
        self.at.next = self.write_index.val();
        self.stored.next = self.write_body.val();
        if self.scrubbing.q.val() {
            self.stores.next = true;
            self.at.next = self.scrubbed.q.val();
            self.stored.next = 0.into();
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
            self.scrubbing.d.next = self.scrubbed.q.val() != self.last.val();
        }
        self.ready.next = !self.scrubbing.q.val();
        self.bodies.write_enable.next = self.stores.val();
        self.bodies.write_address.next = self.at.val();
        self.bodies.write_data.next = self.stored.val();
        self.rows.write_enable.next = self.stores.val();
        self.rows.write_address.next = self.at.val();
        self.rows.write_data.next.exists = self.stored.val().get_bits::<3>(self.kind_at.val().index()).any();
        self.rows.write_data.next.state = self.stored.val().get_bits::<3>(self.state_at.val().index());
        self.rows.write_data.next.kind = self.stored.val().get_bits::<3>(self.kind_at.val().index());
        self.rows.write_data.next.pd = self.stored.val().get_bits::<16>(self.pd_at.val().index());
        self.rows.write_data.next.cq = self.stored.val().get_bits::<24>(self.cq_at.val().index());
        self.rows.write_data.next.page = self.stored.val().get_bits::<12>(self.page_at.val().index());
        self.rows.write_data.next.log = self.stored.val().get_bits::<4>(self.log_at.val().index());
        self.rows.write_data.next.base = self.stored.val().get_bits::<52>(self.base_at.val().index());
        self.rows.write_data.next.pace = self.stored.val().get_bits::<24>(self.pace_at.val().index());
        self.rows.write_data.next.path_mtu = self.stored.val().get_bits::<3>(self.path_mtu_at.val().index());
        // A datagram is one packet, whatever the way to its peer.
        if self.stored.val().get_bits::<3>(self.kind_at.val().index()) == self.datagram.val() {
            self.rows.write_data.next.path_mtu = self.path_mtu_max.val();
        }
        self.rows.write_data.next.send_psn = self.stored.val().get_bits::<24>(self.send_psn_at.val().index());
        self.rows.write_data.next.reads_out =
            self.stored.val().get_bits::<5>(self.reads_out_at.val().index());
        self.rows.write_data.next.timeout = self.stored.val().get_bits::<5>(self.timeout_at.val().index());
        self.peers.enable.next = self.peer_enable.val();
        self.peers.index.next = self.peer_index.val();
        self.peer.next = self.peers.row.val();
        self.peers.write.next = self.stores.val();
        self.peers.write_index.next = self.at.val();
        self.peers.body.next = self.stored.val();
        self.paths.enable.next = self.path_enable.val();
        self.paths.index.next = self.path_index.val();
        self.path.next = self.paths.row.val();
        self.paths.write.next = self.stores.val();
        self.paths.write_index.next = self.at.val();
        self.paths.body.next = self.stored.val();
        self.existence.write_enable.next = self.stores.val();
        self.existence.write_address.next = self.at.val();
        self.existence.write_data.next = self.stored.val().get_bits::<3>(self.kind_at.val().index()).any();
        self.existence.read_address.next = bit_cast::<QPS, 24>(self.probe.val());
        self.exists.next = self.existence.read_data.val()
            & !(self.probe.val() >> self.log.val()).any()
            & !self.scrubbing.q.val();
        for i in 0..2 {
            self.rings[i].clock.next = self.clock.val();
            self.rings[i].enable.next = self.ring_enable[i].val();
            self.rings[i].index.next = self.ring_index[i].val();
            self.ring[i].next = self.rings[i].row.val();
            self.rings[i].write.next = self.stores.val();
            self.rings[i].write_index.next = self.at.val();
            self.rings[i].body.next = self.stored.val();
            self.results[i].clock.next = self.clock.val();
            self.results[i].enable.next = self.area_enable[i].val();
            self.results[i].index.next = self.area_index[i].val();
            self.area[i].next = self.results[i].row.val();
            self.results[i].write.next = self.stores.val();
            self.results[i].write_index.next = self.at.val();
            self.results[i].body.next = self.stored.val();
        }
        if self.reset.val() {
            self.scrubbing.d.next = true;
            self.scrubbed.d.next = 0.into();
        }
    }
}
