//! The shell as a whole: everything between the pins of the vendor's IP and the ports of the card.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::board;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::sync2::Sync2;
use stroma_hw::stream::StreamSource;

use crate::board::{Board, low};
use crate::mac::lights::Lights;
use crate::mac::link::Link;
use crate::mac::receive::Receive;
use crate::mac::transmit::Transmit;
use crate::pcie::completer::{CcBeat, Completer, CqBeat, RegAnswer, RegRequest};
use crate::pcie::interrupts::Interrupts;
use crate::pcie::pins::Pins;
use crate::pcie::requester::fields::{RC_USER_BITS, RQ_USER_BITS};
use crate::pcie::requester::{RcBeat, Requester, RqBeat};
use crate::pcie::settings::{Restart, Settings};

/// log2 of the reads of host memory that may be under way, and of the beats that they bring.
const TAGS_LOG: usize = 7;
const PLACES_LOG: usize = TAGS_LOG + 3;

/// The way of a board to host memory.
pub type HostMemory = Requester<TAGS_LOG, PLACES_LOG>;

block! {
    /// Joins MAC, PCIe block, sensor and cage to a card.
    ///
    /// ```text
    ///            mac_clock ┊ clock
    ///   mac_rx ─▶ Receive ─┊──────────────▶ rx ┐
    ///   mac_tx ◀─ Transmit ┊◀────────────── tx │
    ///   ctl, stat ── Link ─┊── link_up, pause  │ card
    ///                      ┊ s_axil ◀──────────┤
    ///   cq, cc ── Completer ─┬─────────────────┘
    ///                        ├ Interrupts ◀─ irq
    ///                        └ Board ── sensor, cage
    ///   rq, rc ── Requester ◀── m_axi
    /// ```
    ///
    /// - **Ports** `m_axis_*`, `s_axis_*`, `pcie_*`, `cfg_*`: the PCIe block's, by its names, on `clock`, which is its `user_clk`; `reset` is its `user_reset`.
    ///   `mac_*`, `ctl_*`, `stat_*`: the MAC's, on `mac_clock`; `mac_rx_reset`, `mac_tx_reset`: its resets, synchronous to that. `sysmon_*`: the sensor in the chip;
    ///   `qsfp_*`, `hbm_cattrip`, `led_*`: pins of the board, of which the inputs are asynchronous; `board_name`: as the register has it. All others are the card's, by its names, in the other direction, and
    ///   `card_reset` is its `reset`.
    /// - **Rate** one beat a cycle each way, of the network and of host memory.
    /// - **Backpressure** the network's never: frames that find no room are counted. PCIe's in both directions.
    /// - **Reset** `reset` forgets everything. A reset of the MAC's side drops the frames under way there, and a reset of the function by the host
    ///   (FLR) waits for what is under way between card and host, then resets card and vectors.
    pub struct Shell {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub mac_clock: Signal<In, Clock>,
        pub mac_rx_reset: Signal<In, Bit>,
        pub mac_tx_reset: Signal<In, Bit>,

        pub mac_rx_tdata: Signal<In, Bits<512>>,
        pub mac_rx_tkeep: Signal<In, Bits<64>>,
        pub mac_rx_tvalid: Signal<In, Bit>,
        pub mac_rx_tlast: Signal<In, Bit>,
        pub mac_rx_tuser: Signal<In, Bit>,
        pub mac_tx_tdata: Signal<Out, Bits<512>>,
        pub mac_tx_tkeep: Signal<Out, Bits<64>>,
        pub mac_tx_tvalid: Signal<Out, Bit>,
        pub mac_tx_tready: Signal<In, Bit>,
        pub mac_tx_tlast: Signal<Out, Bit>,
        pub mac_tx_tuser: Signal<Out, Bit>,
        pub stat_rx_aligned: Signal<In, Bit>,
        pub stat_rx_local_fault: Signal<In, Bit>,
        pub stat_rx_remote_fault: Signal<In, Bit>,
        pub ctl_rx_enable: Signal<Out, Bit>,
        pub ctl_tx_enable: Signal<Out, Bit>,
        pub ctl_tx_send_rfi: Signal<Out, Bit>,

        pub m_axis_cq_tdata: Signal<In, Bits<512>>,
        pub m_axis_cq_tkeep: Signal<In, Bits<16>>,
        pub m_axis_cq_tuser: Signal<In, Bits<183>>,
        pub m_axis_cq_tlast: Signal<In, Bit>,
        pub m_axis_cq_tvalid: Signal<In, Bit>,
        pub m_axis_cq_tready: Signal<Out, Bit>,
        pub s_axis_cc_tdata: Signal<Out, Bits<512>>,
        pub s_axis_cc_tkeep: Signal<Out, Bits<16>>,
        pub s_axis_cc_tuser: Signal<Out, Bits<81>>,
        pub s_axis_cc_tlast: Signal<Out, Bit>,
        pub s_axis_cc_tvalid: Signal<Out, Bit>,
        pub s_axis_cc_tready: Signal<In, Bits<4>>,
        pub s_axis_rq_tdata: Signal<Out, Bits<512>>,
        pub s_axis_rq_tkeep: Signal<Out, Bits<16>>,
        pub s_axis_rq_tuser: Signal<Out, Bits<RQ_USER_BITS>>,
        pub s_axis_rq_tlast: Signal<Out, Bit>,
        pub s_axis_rq_tvalid: Signal<Out, Bit>,
        pub s_axis_rq_tready: Signal<In, Bits<4>>,
        pub m_axis_rc_tdata: Signal<In, Bits<512>>,
        pub m_axis_rc_tkeep: Signal<In, Bits<16>>,
        pub m_axis_rc_tuser: Signal<In, Bits<RC_USER_BITS>>,
        pub m_axis_rc_tlast: Signal<In, Bit>,
        pub m_axis_rc_tvalid: Signal<In, Bit>,
        pub m_axis_rc_tready: Signal<Out, Bit>,
        pub pcie_rq_seq_num0: Signal<In, Bits<6>>,
        pub pcie_rq_seq_num_vld0: Signal<In, Bit>,
        pub pcie_rq_seq_num1: Signal<In, Bits<6>>,
        pub pcie_rq_seq_num_vld1: Signal<In, Bit>,
        pub pcie_tfc_nph_av: Signal<In, Bits<4>>,
        pub cfg_max_payload: Signal<In, Bits<2>>,
        pub cfg_max_read_req: Signal<In, Bits<3>>,
        pub cfg_function_status: Signal<In, Bits<16>>,
        pub cfg_mgmt_addr: Signal<Out, Bits<10>>,
        pub cfg_mgmt_function_number: Signal<Out, Bits<8>>,
        pub cfg_mgmt_write: Signal<Out, Bit>,
        pub cfg_mgmt_write_data: Signal<Out, Bits<32>>,
        pub cfg_mgmt_byte_enable: Signal<Out, Bits<4>>,
        pub cfg_mgmt_read: Signal<Out, Bit>,
        pub cfg_mgmt_read_data: Signal<In, Bits<32>>,
        pub cfg_mgmt_read_write_done: Signal<In, Bit>,
        pub cfg_flr_in_process: Signal<In, Bits<4>>,
        pub cfg_flr_done: Signal<Out, Bits<4>>,
        pub cfg_interrupt_msix_enable: Signal<In, Bits<4>>,
        pub cfg_interrupt_msix_mask: Signal<In, Bits<4>>,
        pub cfg_interrupt_msix_address: Signal<Out, Bits<64>>,
        pub cfg_interrupt_msix_data: Signal<Out, Bits<32>>,
        pub cfg_interrupt_msix_int: Signal<Out, Bit>,
        pub cfg_interrupt_msi_sent: Signal<In, Bit>,
        pub cfg_interrupt_msi_fail: Signal<In, Bit>,

        pub board_name: Signal<In, Bits<32>>,
        pub sysmon_daddr: Signal<Out, Bits<8>>,
        pub sysmon_den: Signal<Out, Bit>,
        pub sysmon_do: Signal<In, Bits<16>>,
        pub sysmon_drdy: Signal<In, Bit>,
        pub qsfp_modprs_l: Signal<In, Bit>,
        pub qsfp_int_l: Signal<In, Bit>,
        pub qsfp_reset_l: Signal<Out, Bit>,
        pub qsfp_lpmode: Signal<Out, Bit>,
        pub hbm_cattrip: Signal<Out, Bit>,
        pub led_activity: Signal<Out, Bit>,
        pub led_green: Signal<Out, Bit>,
        pub led_yellow: Signal<Out, Bit>,

        pub card_reset: Signal<Out, Bit>,
        pub rx_tdata: Signal<Out, Bits<512>>,
        pub rx_tkeep: Signal<Out, Bits<64>>,
        pub rx_tvalid: Signal<Out, Bit>,
        pub rx_tlast: Signal<Out, Bit>,
        pub rx_tuser: Signal<Out, Bit>,
        pub rx_tready: Signal<In, Bit>,
        pub tx_tdata: Signal<In, Bits<512>>,
        pub tx_tkeep: Signal<In, Bits<64>>,
        pub tx_tvalid: Signal<In, Bit>,
        pub tx_tlast: Signal<In, Bit>,
        pub tx_tuser: Signal<In, Bit>,
        pub tx_tready: Signal<Out, Bit>,
        pub link_up: Signal<Out, Bit>,
        pub tx_pause: Signal<Out, Bit>,
        pub s_axil_awaddr: Signal<Out, Bits<25>>,
        pub s_axil_awvalid: Signal<Out, Bit>,
        pub s_axil_awready: Signal<In, Bit>,
        pub s_axil_wdata: Signal<Out, Bits<64>>,
        pub s_axil_wstrb: Signal<Out, Bits<8>>,
        pub s_axil_wvalid: Signal<Out, Bit>,
        pub s_axil_wready: Signal<In, Bit>,
        pub s_axil_bresp: Signal<In, Bits<2>>,
        pub s_axil_bvalid: Signal<In, Bit>,
        pub s_axil_bready: Signal<Out, Bit>,
        pub s_axil_araddr: Signal<Out, Bits<25>>,
        pub s_axil_arvalid: Signal<Out, Bit>,
        pub s_axil_arready: Signal<In, Bit>,
        pub s_axil_rdata: Signal<In, Bits<64>>,
        pub s_axil_rresp: Signal<In, Bits<2>>,
        pub s_axil_rvalid: Signal<In, Bit>,
        pub s_axil_rready: Signal<Out, Bit>,
        pub m_axi_awaddr: Signal<In, Bits<64>>,
        pub m_axi_awlen: Signal<In, Bits<8>>,
        pub m_axi_awvalid: Signal<In, Bit>,
        pub m_axi_awready: Signal<Out, Bit>,
        pub m_axi_wdata: Signal<In, Bits<512>>,
        pub m_axi_wstrb: Signal<In, Bits<64>>,
        pub m_axi_wlast: Signal<In, Bit>,
        pub m_axi_wvalid: Signal<In, Bit>,
        pub m_axi_wready: Signal<Out, Bit>,
        pub m_axi_bresp: Signal<Out, Bits<2>>,
        pub m_axi_bvalid: Signal<Out, Bit>,
        pub m_axi_bready: Signal<In, Bit>,
        pub m_axi_bid: Signal<Out, Bits<6>>,
        pub m_axi_araddr: Signal<In, Bits<64>>,
        pub m_axi_arlen: Signal<In, Bits<8>>,
        pub m_axi_arid: Signal<In, Bits<6>>,
        pub m_axi_arvalid: Signal<In, Bit>,
        pub m_axi_arready: Signal<Out, Bit>,
        pub m_axi_rdata: Signal<Out, Bits<512>>,
        pub m_axi_rid: Signal<Out, Bits<6>>,
        pub m_axi_rresp: Signal<Out, Bits<2>>,
        pub m_axi_rlast: Signal<Out, Bit>,
        pub m_axi_rvalid: Signal<Out, Bit>,
        pub m_axi_rready: Signal<In, Bit>,
        pub irq_vector: Signal<In, Bits<5>>,
        pub irq_valid: Signal<In, Bit>,
        pub irq_ready: Signal<Out, Bit>,

        receive: Receive,
        transmit: Transmit,
        link: Link,
        lights: Lights,
        pins: Pins,
        completer: Completer,
        interrupts: Interrupts,
        requester: HostMemory,
        settings: Settings,
        restart: Restart,
        registers: Board,
        absent: Sync2<Bit>,
        attention: Sync2<Bit>,
        reset_now: Reg<Bit>,
        /// Of the card and of what belongs to it.
        resets_card: Reg<Bit>,
        cage_resets: Reg<Bit>,
        odd: Reg<Bits<32>>,
        pcie_state: Signal<Local, Bits<32>>,
        link_state: Signal<Local, Bits<32>>,
        up_at: Constant<Bits<6>> = low(&board::LINK, "up"),
        aligned_at: Constant<Bits<6>> = low(&board::LINK, "aligned"),
        local_fault_at: Constant<Bits<6>> = low(&board::LINK, "local_fault"),
        remote_fault_at: Constant<Bits<6>> = low(&board::LINK, "remote_fault"),
        paused_at: Constant<Bits<6>> = low(&board::LINK, "paused"),
        max_payload_at: Constant<Bits<6>> = low(&board::PCIE, "max_payload_log"),
        max_read_at: Constant<Bits<6>> = low(&board::PCIE, "max_read_log"),
        extended_tags_at: Constant<Bits<6>> = low(&board::PCIE, "extended_tags"),
        master_at: Constant<Bits<6>> = low(&board::PCIE, "master"),
    }
}

impl Shell {
    /// One that waits for at most `patience` cycles, below 2^21, for what is under way when the host resets the function; `default()` for 2^20.
    #[must_use]
    pub fn new(patience: u32) -> Self {
        Self { restart: Restart::new(patience), ..Self::default() }
    }
}

impl Logic for Shell {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        // Resets: they go everywhere, and get there from registers.
        dff_setup!(self, clock, reset_now, resets_card, cage_resets, odd);
        self.reset_now.d.next = self.reset.val();
        self.resets_card.d.next = self.reset.val() | self.restart.card_reset.val();
        self.card_reset.next = self.resets_card.q.val();
        clock!(self, clock, completer, interrupts, requester, settings, restart, registers);
        self.completer.reset.next = self.reset_now.q.val();
        self.interrupts.reset.next = self.resets_card.q.val();
        self.requester.reset.next = self.resets_card.q.val();
        self.settings.reset.next = self.reset_now.q.val();
        self.restart.reset.next = self.reset_now.q.val();
        self.registers.reset.next = self.reset_now.q.val();

        // Network.
        clock!(self, clock, receive, transmit, link);
        self.receive.mac_clock.next = self.mac_clock.val();
        self.transmit.mac_clock.next = self.mac_clock.val();
        self.link.mac_clock.next = self.mac_clock.val();
        self.receive.reset.next = self.resets_card.q.val();
        self.transmit.reset.next = self.resets_card.q.val();
        self.link.reset.next = self.reset_now.q.val();
        self.receive.mac_reset.next = self.mac_rx_reset.val();
        self.transmit.mac_reset.next = self.mac_tx_reset.val();
        self.link.mac_reset.next = self.mac_rx_reset.val() | self.mac_tx_reset.val();
        self.receive.mac_tdata.next = self.mac_rx_tdata.val();
        self.receive.mac_tkeep.next = self.mac_rx_tkeep.val();
        self.receive.mac_tvalid.next = self.mac_rx_tvalid.val();
        self.receive.mac_tlast.next = self.mac_rx_tlast.val();
        self.receive.mac_tuser.next = self.mac_rx_tuser.val();
        self.rx_tdata.next = self.receive.tdata.val();
        self.rx_tkeep.next = self.receive.tkeep.val();
        self.rx_tvalid.next = self.receive.tvalid.val();
        self.rx_tlast.next = self.receive.tlast.val();
        self.rx_tuser.next = self.receive.tuser.val();
        self.receive.tready.next = self.rx_tready.val();
        self.transmit.tdata.next = self.tx_tdata.val();
        self.transmit.tkeep.next = self.tx_tkeep.val();
        self.transmit.tvalid.next = self.tx_tvalid.val();
        self.transmit.tlast.next = self.tx_tlast.val();
        self.transmit.tuser.next = self.tx_tuser.val();
        self.tx_tready.next = self.transmit.tready.val();
        self.mac_tx_tdata.next = self.transmit.mac_tdata.val();
        self.mac_tx_tkeep.next = self.transmit.mac_tkeep.val();
        self.mac_tx_tvalid.next = self.transmit.mac_tvalid.val();
        self.mac_tx_tlast.next = self.transmit.mac_tlast.val();
        self.mac_tx_tuser.next = self.transmit.mac_tuser.val();
        self.transmit.mac_tready.next = self.mac_tx_tready.val();
        self.transmit.is_up.next = self.link.is_up.val();
        self.link.stat_rx_aligned.next = self.stat_rx_aligned.val();
        self.link.stat_rx_local_fault.next = self.stat_rx_local_fault.val();
        self.link.stat_rx_remote_fault.next = self.stat_rx_remote_fault.val();
        // The MAC is built without flow control.
        self.link.pauses.next = false;
        self.ctl_rx_enable.next = self.link.ctl_rx_enable.val();
        self.ctl_tx_enable.next = self.link.ctl_tx_enable.val();
        self.ctl_tx_send_rfi.next = self.link.ctl_tx_send_rfi.val();
        self.link_up.next = self.link.link_up.val();
        self.lights.clock.next = self.mac_clock.val();
        self.lights.reset.next = self.mac_rx_reset.val() | self.mac_tx_reset.val();
        self.lights.is_linked.next = self.link.is_up.val();
        self.lights.is_busy.next =
            self.mac_rx_tvalid.val() | (self.transmit.mac_tvalid.val() & self.mac_tx_tready.val());
        self.led_activity.next = self.lights.led_activity.val();
        self.led_green.next = self.lights.led_green.val();
        self.led_yellow.next = self.lights.led_yellow.val();
        self.tx_pause.next = self.link.tx_pause.val();

        // The host's requests.
        self.pins.m_axis_cq_tdata.next = self.m_axis_cq_tdata.val();
        self.pins.m_axis_cq_tkeep.next = self.m_axis_cq_tkeep.val();
        self.pins.m_axis_cq_tuser.next = self.m_axis_cq_tuser.val();
        self.pins.m_axis_cq_tlast.next = self.m_axis_cq_tlast.val();
        self.pins.m_axis_cq_tvalid.next = self.m_axis_cq_tvalid.val();
        self.m_axis_cq_tready.next = self.pins.m_axis_cq_tready.val();
        self.s_axis_cc_tdata.next = self.pins.s_axis_cc_tdata.val();
        self.s_axis_cc_tkeep.next = self.pins.s_axis_cc_tkeep.val();
        self.s_axis_cc_tuser.next = self.pins.s_axis_cc_tuser.val();
        self.s_axis_cc_tlast.next = self.pins.s_axis_cc_tlast.val();
        self.s_axis_cc_tvalid.next = self.pins.s_axis_cc_tvalid.val();
        self.pins.s_axis_cc_tready.next = self.s_axis_cc_tready.val();
        StreamSource::<CqBeat>::join(&mut self.pins.cq, &mut self.completer.cq);
        StreamSource::<CcBeat>::join(&mut self.completer.cc, &mut self.pins.cc);
        StreamSource::<RegRequest>::join(&mut self.completer.table, &mut self.interrupts.requests);
        StreamSource::<RegAnswer>::join(&mut self.interrupts.answers, &mut self.completer.table_answers);
        StreamSource::<RegRequest>::join(&mut self.completer.board, &mut self.registers.request);
        StreamSource::<RegAnswer>::join(&mut self.registers.answer, &mut self.completer.board_answers);
        self.completer.stops.next = self.restart.stops.val();
        self.s_axil_awaddr.next = self.completer.aw.payload.val().addr;
        self.s_axil_awvalid.next = self.completer.aw.valid.val();
        self.completer.aw.ready.next = self.s_axil_awready.val();
        self.s_axil_wdata.next = self.completer.w.payload.val().data;
        self.s_axil_wstrb.next = self.completer.w.payload.val().strb;
        self.s_axil_wvalid.next = self.completer.w.valid.val();
        self.completer.w.ready.next = self.s_axil_wready.val();
        self.completer.b.payload.next.resp = self.s_axil_bresp.val();
        self.completer.b.valid.next = self.s_axil_bvalid.val();
        self.s_axil_bready.next = self.completer.b.ready.val();
        self.s_axil_araddr.next = self.completer.ar.payload.val().addr;
        self.s_axil_arvalid.next = self.completer.ar.valid.val();
        self.completer.ar.ready.next = self.s_axil_arready.val();
        self.completer.r.payload.next.data = self.s_axil_rdata.val();
        self.completer.r.payload.next.resp = self.s_axil_rresp.val();
        self.completer.r.valid.next = self.s_axil_rvalid.val();
        self.s_axil_rready.next = self.completer.r.ready.val();

        // The card's requests.
        self.s_axis_rq_tdata.next = self.pins.s_axis_rq_tdata.val();
        self.s_axis_rq_tkeep.next = self.pins.s_axis_rq_tkeep.val();
        self.s_axis_rq_tuser.next = self.pins.s_axis_rq_tuser.val();
        self.s_axis_rq_tlast.next = self.pins.s_axis_rq_tlast.val();
        self.s_axis_rq_tvalid.next = self.pins.s_axis_rq_tvalid.val();
        self.pins.s_axis_rq_tready.next = self.s_axis_rq_tready.val();
        self.pins.m_axis_rc_tdata.next = self.m_axis_rc_tdata.val();
        self.pins.m_axis_rc_tkeep.next = self.m_axis_rc_tkeep.val();
        self.pins.m_axis_rc_tuser.next = self.m_axis_rc_tuser.val();
        self.pins.m_axis_rc_tlast.next = self.m_axis_rc_tlast.val();
        self.pins.m_axis_rc_tvalid.next = self.m_axis_rc_tvalid.val();
        self.m_axis_rc_tready.next = self.pins.m_axis_rc_tready.val();
        StreamSource::<RqBeat>::join(&mut self.requester.rq, &mut self.pins.rq);
        StreamSource::<RcBeat>::join(&mut self.pins.rc, &mut self.requester.rc);
        self.requester.reports[0].next.sequence = self.pcie_rq_seq_num0.val();
        self.requester.reports[0].next.valid = self.pcie_rq_seq_num_vld0.val();
        self.requester.reports[1].next.sequence = self.pcie_rq_seq_num1.val();
        self.requester.reports[1].next.valid = self.pcie_rq_seq_num_vld1.val();
        self.requester.pcie_tfc_nph_av.next = self.pcie_tfc_nph_av.val();
        self.requester.max_payload_log.next = self.settings.max_payload_log.val();
        self.requester.max_read_log.next = self.settings.max_read_log.val();
        self.requester.extended_tags.next = self.settings.extended_tags.val();
        self.requester.is_master.next = self.settings.is_master.val() & !self.restart.halts.val();
        self.requester.stops.next = self.restart.stops.val();
        self.requester.aw.payload.next.addr = self.m_axi_awaddr.val();
        self.requester.aw.payload.next.len = self.m_axi_awlen.val();
        self.requester.aw.valid.next = self.m_axi_awvalid.val();
        self.m_axi_awready.next = self.requester.aw.ready.val();
        self.requester.w.payload.next.data = self.m_axi_wdata.val();
        self.requester.w.payload.next.strb = self.m_axi_wstrb.val();
        self.requester.w.payload.next.last = self.m_axi_wlast.val();
        self.requester.w.valid.next = self.m_axi_wvalid.val();
        self.m_axi_wready.next = self.requester.w.ready.val();
        self.m_axi_bresp.next = self.requester.b.payload.val().resp;
        self.m_axi_bid.next = 0.into();
        self.m_axi_bvalid.next = self.requester.b.valid.val();
        self.requester.b.ready.next = self.m_axi_bready.val();
        self.requester.ar.payload.next.addr = self.m_axi_araddr.val();
        self.requester.ar.payload.next.len = self.m_axi_arlen.val();
        self.requester.ar.payload.next.id = self.m_axi_arid.val();
        self.requester.ar.valid.next = self.m_axi_arvalid.val();
        self.m_axi_arready.next = self.requester.ar.ready.val();
        self.m_axi_rdata.next = self.requester.r.payload.val().data;
        self.m_axi_rid.next = self.requester.r.payload.val().id;
        self.m_axi_rresp.next = self.requester.r.payload.val().resp;
        self.m_axi_rlast.next = self.requester.r.payload.val().last;
        self.m_axi_rvalid.next = self.requester.r.valid.val();
        self.requester.r.ready.next = self.m_axi_rready.val();

        // Interrupts; function 0 is the only one.
        self.interrupts.irq.payload.next = self.irq_vector.val();
        self.interrupts.irq.valid.next = self.irq_valid.val();
        self.irq_ready.next = self.interrupts.irq.ready.val();
        self.interrupts.cfg_interrupt_msix_enable.next = self.cfg_interrupt_msix_enable.val().get_bit(0);
        self.interrupts.cfg_interrupt_msix_mask.next = self.cfg_interrupt_msix_mask.val().get_bit(0);
        self.cfg_interrupt_msix_address.next = self.interrupts.cfg_interrupt_msix_address.val();
        self.cfg_interrupt_msix_data.next = self.interrupts.cfg_interrupt_msix_data.val();
        self.cfg_interrupt_msix_int.next = self.interrupts.cfg_interrupt_msix_int.val();
        self.interrupts.cfg_interrupt_msi_sent.next = self.cfg_interrupt_msi_sent.val();
        self.interrupts.cfg_interrupt_msi_fail.next = self.cfg_interrupt_msi_fail.val();

        // What the host has set up, and its resets of the function.
        self.settings.cfg_max_payload.next = self.cfg_max_payload.val();
        self.settings.cfg_max_read_req.next = self.cfg_max_read_req.val();
        self.settings.cfg_function_status.next = self.cfg_function_status.val();
        self.cfg_mgmt_addr.next = self.settings.cfg_mgmt_addr.val();
        self.cfg_mgmt_function_number.next = self.settings.cfg_mgmt_function_number.val();
        self.cfg_mgmt_write.next = self.settings.cfg_mgmt_write.val();
        self.cfg_mgmt_write_data.next = self.settings.cfg_mgmt_write_data.val();
        self.cfg_mgmt_byte_enable.next = self.settings.cfg_mgmt_byte_enable.val();
        self.cfg_mgmt_read.next = self.settings.cfg_mgmt_read.val();
        self.settings.cfg_mgmt_read_data.next = self.cfg_mgmt_read_data.val();
        self.settings.cfg_mgmt_read_write_done.next = self.cfg_mgmt_read_write_done.val();
        self.restart.cfg_flr_in_process.next = self.cfg_flr_in_process.val();
        self.cfg_flr_done.next = self.restart.cfg_flr_done.val();
        self.restart.is_drained.next = self.requester.is_drained.val() & self.completer.is_idle.val();
        self.restart.may_cut.next = self.requester.is_between.val() & self.completer.is_idle.val();

        // The board.
        clock!(self, clock, absent, attention);
        self.absent.d.next = self.qsfp_modprs_l.val();
        self.attention.d.next = self.qsfp_int_l.val();
        self.cage_resets.d.next = !self.registers.cage_reset.val();
        self.qsfp_reset_l.next = self.cage_resets.q.val();
        self.qsfp_lpmode.next = self.registers.cage_low_power.val();
        self.hbm_cattrip.next = self.registers.too_hot.val();
        self.registers.cage_absent.next = self.absent.q.val();
        self.registers.cage_interrupts.next = !self.attention.q.val();
        self.registers.board_name.next = self.board_name.val();
        self.sysmon_daddr.next = self.registers.sysmon_daddr.val();
        self.sysmon_den.next = self.registers.sysmon_den.val();
        self.registers.sysmon_do.next = self.sysmon_do.val();
        self.registers.sysmon_drdy.next = self.sysmon_drdy.val();
        self.link_state.next = 0.into();
        self.registers.link.next = self
            .link_state
            .val()
            .replace_bit(self.up_at.val().index(), self.link.link_up.val())
            .replace_bit(self.aligned_at.val().index(), self.link.aligned.val())
            .replace_bit(self.local_fault_at.val().index(), self.link.local_fault.val())
            .replace_bit(self.remote_fault_at.val().index(), self.link.remote_fault.val())
            .replace_bit(self.paused_at.val().index(), self.link.tx_pause.val());
        self.pcie_state.next = (bit_cast::<32, 4>(self.settings.max_payload_log.val())
            << self.max_payload_at.val())
            | (bit_cast::<32, 4>(self.settings.max_read_log.val()) << self.max_read_at.val());
        self.registers.pcie.next = self
            .pcie_state
            .val()
            .replace_bit(self.extended_tags_at.val().index(), self.settings.extended_tags.val())
            .replace_bit(self.master_at.val().index(), self.settings.is_master.val());
        self.registers.link_downs.next = self.link.downs.val();
        self.registers.rx_overrun.next = self.receive.overrun.val();
        self.registers.tx_oversized.next = self.transmit.overflowed.val();
        self.odd.d.next = self.completer.errors.val() + self.completer.unsupported.val();
        self.registers.pcie_odd.next = self.odd.q.val();
        self.registers.pcie_writes.next = self.requester.writes_sent.val();
        self.registers.pcie_reads.next = self.requester.reads_sent.val();
        self.registers.pcie_failed.next = self.requester.failed.val();
        self.registers.pcie_timeouts.next = self.requester.timeouts.val();
        self.registers.pcie_unexpected.next = self.requester.unexpected.val();
        self.registers.interrupts_failed.next = self.interrupts.failures.val();
    }
}
