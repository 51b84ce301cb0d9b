//! What the transport reads of queue pairs: who the peer is, and the path to it.

use rust_hdl::prelude::*;
use stroma_abi::desc::{QueuePair, QueuePairKind, QueuePairState};

use crate::constant::number;
use crate::fabric::records::ResultRow;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::prim::reverse::Reverse;
use crate::transport::records::{PathRow, PeerRow, RingRow};

const _: () = {
    assert!(
        QueuePairState::Reset as u8 == 0 && QueuePairState::Init as u8 == 1,
        "in these a path is not known"
    );
};

block! {
    /// Keeps a [`PeerRow`] for each of `2^QPS` queue pairs.
    ///
    /// - **Ports** `enable`, `index`: `row` shows that queue pair's from the next cycle on, until the next `enable`; beyond the
    ///   table it does not exist. `write`, `write_index`, `body`: a queue pair, all zero for none.
    /// - **Latency** 1 cycle; a read during a write of the same place gives the *old* content. **Rate** a read and a write
    ///   per cycle. **Reset** none: the owner writes all places.
    pub struct Peers<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub enable: Signal<In, Bit>,
        pub index: Signal<In, Bits<24>>,
        pub row: Signal<Out, PeerRow>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub body: Signal<In, Bits<896>>,
        rows: BlockRam<PeerRow, QPS>,
        is_beyond: Reg<Bit>,
        peer_ip: Reverse<128>,
        log: Constant<Bits<5>> = number(QPS),
        state_at: Constant<Bits<10>> = number(QueuePair::STATE.offset()),
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        pd_at: Constant<Bits<10>> = number(QueuePair::PD.offset()),
        rights_at: Constant<Bits<10>> = number(QueuePair::RIGHTS.offset()),
        path_mtu_at: Constant<Bits<10>> = number(QueuePair::PATH_MTU.offset()),
        p_key_at: Constant<Bits<10>> = number(QueuePair::P_KEY.offset()),
        q_key_at: Constant<Bits<10>> = number(QueuePair::Q_KEY.offset()),
        peer_ip_at: Constant<Bits<10>> = number(QueuePair::PEER_IP.offset()),
        source_address_at: Constant<Bits<10>> = number(QueuePair::SOURCE_ADDRESS.offset()),
        receive_psn_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_PSN.offset()),
        cq_at: Constant<Bits<10>> = number(QueuePair::SEND_CQ.offset()),
        timeout_at: Constant<Bits<10>> = number(QueuePair::TIMEOUT.offset()),
        retry_at: Constant<Bits<10>> = number(QueuePair::RETRY.offset()),
        rnr_retry_at: Constant<Bits<10>> = number(QueuePair::RNR_RETRY.offset()),
        min_rnr_at: Constant<Bits<10>> = number(QueuePair::MIN_RNR.offset()),
        reads_in_at: Constant<Bits<10>> = number(QueuePair::READS_IN.offset()),
        receive_cq_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_CQ.offset()),
        has_srq_at: Constant<Bits<10>> = number(QueuePair::HAS_SRQ.offset()),
        srq_at: Constant<Bits<10>> = number(QueuePair::SRQ.offset()),
        result_log_at: Constant<Bits<10>> = number(QueuePair::RESULT_LOG.offset()),
    }
}

impl<const QPS: usize> Logic for Peers<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        dff_setup!(self, clock, is_beyond);
        self.rows.read_enable.next = self.enable.val();
        self.rows.read_address.next = bit_cast::<QPS, 24>(self.index.val());
        if self.enable.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.row.next = self.rows.read_data.val();
        if self.is_beyond.q.val() {
            self.row.next.exists = false;
        }
        self.rows.write_enable.next = self.write.val();
        self.rows.write_address.next = self.write_index.val();
        self.rows.write_data.next.exists = self.body.val().get_bits::<3>(self.kind_at.val().index()).any();
        self.rows.write_data.next.state = self.body.val().get_bits::<3>(self.state_at.val().index());
        self.rows.write_data.next.kind = self.body.val().get_bits::<3>(self.kind_at.val().index());
        self.rows.write_data.next.pd = self.body.val().get_bits::<16>(self.pd_at.val().index());
        self.rows.write_data.next.rights = self.body.val().get_bits::<5>(self.rights_at.val().index());
        self.rows.write_data.next.path_mtu = self.body.val().get_bits::<3>(self.path_mtu_at.val().index());
        self.rows.write_data.next.p_key = self.body.val().get_bits::<16>(self.p_key_at.val().index());
        self.rows.write_data.next.q_key = self.body.val().get_bits::<32>(self.q_key_at.val().index());
        self.peer_ip.forward.next = self.body.val().get_bits::<128>(self.peer_ip_at.val().index());
        self.rows.write_data.next.peer_ip = self.peer_ip.reversed.val();
        self.rows.write_data.next.source_address =
            self.body.val().get_bits::<4>(self.source_address_at.val().index());
        self.rows.write_data.next.receive_psn =
            self.body.val().get_bits::<24>(self.receive_psn_at.val().index());
        self.rows.write_data.next.cq = self.body.val().get_bits::<24>(self.cq_at.val().index());
        self.rows.write_data.next.timeout = self.body.val().get_bits::<5>(self.timeout_at.val().index());
        self.rows.write_data.next.retry = self.body.val().get_bits::<3>(self.retry_at.val().index());
        self.rows.write_data.next.rnr_retry = self.body.val().get_bits::<3>(self.rnr_retry_at.val().index());
        self.rows.write_data.next.min_rnr = self.body.val().get_bits::<5>(self.min_rnr_at.val().index());
        self.rows.write_data.next.reads_in = self.body.val().get_bits::<5>(self.reads_in_at.val().index());
        self.rows.write_data.next.receive_cq =
            self.body.val().get_bits::<24>(self.receive_cq_at.val().index());
        self.rows.write_data.next.has_srq = self.body.val().get_bit(self.has_srq_at.val().index());
        self.rows.write_data.next.srq = self.body.val().get_bits::<24>(self.srq_at.val().index());
        self.rows.write_data.next.result_log =
            self.body.val().get_bits::<5>(self.result_log_at.val().index());
    }
}

block! {
    /// Keeps a [`PathRow`] for each of `2^QPS` queue pairs.
    ///
    /// - **Ports, latency, rate, reset** as [`Peers`]. A queue pair in RESET or INIT has no path.
    pub struct Paths<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub enable: Signal<In, Bit>,
        pub index: Signal<In, Bits<24>>,
        pub row: Signal<Out, PathRow>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub body: Signal<In, Bits<896>>,
        rows: BlockRam<PathRow, QPS>,
        is_beyond: Reg<Bit>,
        peer_mac: Reverse<48>,
        peer_ip: Reverse<128>,
        state: Signal<Local, Bits<3>>,
        kind: Signal<Local, Bits<3>>,
        log: Constant<Bits<5>> = number(QPS),
        state_at: Constant<Bits<10>> = number(QueuePair::STATE.offset()),
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        pd_at: Constant<Bits<10>> = number(QueuePair::PD.offset()),
        peer_at: Constant<Bits<10>> = number(QueuePair::PEER.offset()),
        q_key_at: Constant<Bits<10>> = number(QueuePair::Q_KEY.offset()),
        p_key_at: Constant<Bits<10>> = number(QueuePair::P_KEY.offset()),
        peer_mac_at: Constant<Bits<10>> = number(QueuePair::PEER_MAC.offset()),
        peer_ip_at: Constant<Bits<10>> = number(QueuePair::PEER_IP.offset()),
        source_port_at: Constant<Bits<10>> = number(QueuePair::SOURCE_PORT.offset()),
        hop_limit_at: Constant<Bits<10>> = number(QueuePair::HOP_LIMIT.offset()),
        traffic_class_at: Constant<Bits<10>> = number(QueuePair::TRAFFIC_CLASS.offset()),
        has_vlan_at: Constant<Bits<10>> = number(QueuePair::HAS_VLAN.offset()),
        vlan_at: Constant<Bits<10>> = number(QueuePair::VLAN.offset()),
        flow_label_at: Constant<Bits<10>> = number(QueuePair::FLOW_LABEL.offset()),
        source_address_at: Constant<Bits<10>> = number(QueuePair::SOURCE_ADDRESS.offset()),
        raw: Constant<Bits<3>> = number(QueuePairKind::Raw as u64),
        unreliable: Constant<Bits<3>> = number(QueuePairKind::Unreliable as u64),
        datagram: Constant<Bits<3>> = number(QueuePairKind::Datagram as u64),
    }
}

impl<const QPS: usize> Logic for Paths<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        dff_setup!(self, clock, is_beyond);
        self.rows.read_enable.next = self.enable.val();
        self.rows.read_address.next = bit_cast::<QPS, 24>(self.index.val());
        if self.enable.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.row.next = self.rows.read_data.val();
        if self.is_beyond.q.val() {
            self.row.next.exists = false;
        }
        self.rows.write_enable.next = self.write.val();
        self.rows.write_address.next = self.write_index.val();
        self.state.next = self.body.val().get_bits::<3>(self.state_at.val().index());
        self.kind.next = self.body.val().get_bits::<3>(self.kind_at.val().index());
        self.rows.write_data.next.exists = self.kind.val().any() & (self.state.val() >> 1).any();
        self.rows.write_data.next.peer = self.body.val().get_bits::<24>(self.peer_at.val().index());
        self.rows.write_data.next.p_key = self.body.val().get_bits::<16>(self.p_key_at.val().index());
        self.peer_mac.forward.next = self.body.val().get_bits::<48>(self.peer_mac_at.val().index());
        self.rows.write_data.next.peer_mac = self.peer_mac.reversed.val();
        self.peer_ip.forward.next = self.body.val().get_bits::<128>(self.peer_ip_at.val().index());
        self.rows.write_data.next.peer_ip = self.peer_ip.reversed.val();
        self.rows.write_data.next.source_port =
            self.body.val().get_bits::<16>(self.source_port_at.val().index());
        self.rows.write_data.next.hop_limit = self.body.val().get_bits::<8>(self.hop_limit_at.val().index());
        self.rows.write_data.next.traffic_class =
            self.body.val().get_bits::<8>(self.traffic_class_at.val().index());
        self.rows.write_data.next.has_vlan = self.body.val().get_bit(self.has_vlan_at.val().index());
        self.rows.write_data.next.vlan = self.body.val().get_bits::<16>(self.vlan_at.val().index());
        self.rows.write_data.next.flow_label =
            self.body.val().get_bits::<20>(self.flow_label_at.val().index());
        self.rows.write_data.next.source_address =
            self.body.val().get_bits::<4>(self.source_address_at.val().index());
        self.rows.write_data.next.raw = self.kind.val() == self.raw.val();
        self.rows.write_data.next.unreliable =
            (self.kind.val() == self.unreliable.val()) | (self.kind.val() == self.datagram.val());
        self.rows.write_data.next.datagram = self.kind.val() == self.datagram.val();
        self.rows.write_data.next.pd = self.body.val().get_bits::<16>(self.pd_at.val().index());
        self.rows.write_data.next.q_key = self.body.val().get_bits::<32>(self.q_key_at.val().index());
    }
}

block! {
    /// Keeps a [`RingRow`] for each of `2^QPS` queue pairs.
    ///
    /// - **Ports, latency, rate, reset** as [`Peers`].
    pub struct Rings<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub enable: Signal<In, Bit>,
        pub index: Signal<In, Bits<24>>,
        pub row: Signal<Out, RingRow>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub body: Signal<In, Bits<896>>,
        rows: BlockRam<RingRow, QPS>,
        is_beyond: Reg<Bit>,
        log: Constant<Bits<5>> = number(QPS),
        state_at: Constant<Bits<10>> = number(QueuePair::STATE.offset()),
        kind_at: Constant<Bits<10>> = number(QueuePair::KIND.offset()),
        page_at: Constant<Bits<10>> = number(QueuePair::PAGE.offset()),
        pd_at: Constant<Bits<10>> = number(QueuePair::PD.offset()),
        /// Of the bases without their low twelve bits.
        send_base_at: Constant<Bits<10>> = number(QueuePair::SEND_BASE.offset() + 12),
        receive_base_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_BASE.offset() + 12),
        send_log_at: Constant<Bits<10>> = number(QueuePair::SEND_LOG.offset()),
        receive_log_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_LOG.offset()),
        receive_stride_at: Constant<Bits<10>> = number(QueuePair::RECEIVE_STRIDE.offset()),
        has_srq_at: Constant<Bits<10>> = number(QueuePair::HAS_SRQ.offset()),
    }
}

impl<const QPS: usize> Logic for Rings<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        dff_setup!(self, clock, is_beyond);
        self.rows.read_enable.next = self.enable.val();
        self.rows.read_address.next = bit_cast::<QPS, 24>(self.index.val());
        if self.enable.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.row.next = self.rows.read_data.val();
        if self.is_beyond.q.val() {
            self.row.next.exists = false;
        }
        self.rows.write_enable.next = self.write.val();
        self.rows.write_address.next = self.write_index.val();
        self.rows.write_data.next.exists = self.body.val().get_bits::<3>(self.kind_at.val().index()).any();
        self.rows.write_data.next.state = self.body.val().get_bits::<3>(self.state_at.val().index());
        self.rows.write_data.next.page = self.body.val().get_bits::<12>(self.page_at.val().index());
        self.rows.write_data.next.pd = self.body.val().get_bits::<16>(self.pd_at.val().index());
        self.rows.write_data.next.send_base = self.body.val().get_bits::<52>(self.send_base_at.val().index());
        self.rows.write_data.next.send_log = self.body.val().get_bits::<4>(self.send_log_at.val().index());
        self.rows.write_data.next.receive_base =
            self.body.val().get_bits::<52>(self.receive_base_at.val().index());
        self.rows.write_data.next.receive_log =
            self.body.val().get_bits::<4>(self.receive_log_at.val().index());
        self.rows.write_data.next.receive_stride =
            self.body.val().get_bits::<3>(self.receive_stride_at.val().index());
        self.rows.write_data.next.has_srq = self.body.val().get_bit(self.has_srq_at.val().index());
    }
}

block! {
    /// Keeps a [`ResultRow`] for each of `2^QPS` queue pairs.
    ///
    /// - **Ports, latency, rate, reset** as [`Peers`].
    pub struct Results<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub enable: Signal<In, Bit>,
        pub index: Signal<In, Bits<24>>,
        pub row: Signal<Out, ResultRow>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub body: Signal<In, Bits<896>>,
        rows: BlockRam<ResultRow, QPS>,
        is_beyond: Reg<Bit>,
        log: Constant<Bits<5>> = number(QPS),
        /// Of the base without its low twelve bits.
        base_at: Constant<Bits<10>> = number(QueuePair::RESULT_BASE.offset() + 12),
        log_at: Constant<Bits<10>> = number(QueuePair::RESULT_LOG.offset()),
        key_at: Constant<Bits<10>> = number(QueuePair::RESULT_KEY.offset()),
    }
}

impl<const QPS: usize> Logic for Results<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        dff_setup!(self, clock, is_beyond);
        self.rows.read_enable.next = self.enable.val();
        self.rows.read_address.next = bit_cast::<QPS, 24>(self.index.val());
        if self.enable.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.row.next = self.rows.read_data.val();
        if self.is_beyond.q.val() {
            self.row.next.exists = false;
        }
        self.rows.write_enable.next = self.write.val();
        self.rows.write_address.next = self.write_index.val();
        self.rows.write_data.next.exists = self.body.val().get_bits::<5>(self.log_at.val().index()).any();
        self.rows.write_data.next.base = self.body.val().get_bits::<52>(self.base_at.val().index());
        self.rows.write_data.next.log = self.body.val().get_bits::<5>(self.log_at.val().index());
        self.rows.write_data.next.key = self.body.val().get_bits::<32>(self.key_at.val().index());
    }
}
