//! The card: its stages joined, no logic of its own.
//!
//! ```text
//!  network
//!   rx_* pins -> AxisIn -> Turn -> RxFront: gather, decode, ICRC, strip -> head, payload (whole, checked packets) -> HostSide
//!                           |^  frames for the card itself
//!   tx_* pins <- AxisOut <- Turn <- TxFront: ICRC, insert, build        <- head, payload                          <- HostSide
//!                                <----------------------------------------- whole frames                            <- HostSide
//!
//!  host
//!   s_axil_* pins -> HostSide: registers, mailbox, doorbells, work requests, connections, tables -> m_axi_* pins, irq_* pins
//!                       HostSide <-> Kernels
//! ```

use rust_hdl::prelude::*;
use stroma_abi::wire::class::Class;
use stroma_hw::block;
use stroma_hw::head::Head;
use stroma_hw::host::control::facts::Facts;
use stroma_hw::host::side::HostSide;
use stroma_hw::prim::reset_reg::ResetReg;
use stroma_hw::slot::{SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite};
use stroma_hw::stream::{Beat, StreamSource};

use crate::fronts::Fronts;
use crate::kernels::{KERNELS, Kernels};

block! {
    /// The card between MAC and host.
    ///
    /// - **Ports** `rx_t*`, `tx_t*`: AXI4-Stream to the MAC, frames without FCS; `link_up`: the MAC's word; `tx_pause`: the peer asks for
    ///   silence, as [`AxisOut`] has it; `rx_counts`: frames of each class; `tx_mismatched`: payloads that were not as long as their
    ///   head said. `s_axil_*`: AXI4-Lite subordinate, 64 bits wide, BAR0 from address 0 and BAR2 from 2^24 on; `m_axi_*`: AXI4
    ///   manager to host memory, as [`axi`](stroma_hw::host::axi) says; `irq_*`: interrupt vectors to raise. `cycles`: since reset;
    ///   `skip`, `quiet`, `wake`, `kernel_clock`, `kernel_clock_rests`: for simulations, see [`HostSide`]; on a board `skip` is 0, and `kernel_clock` is
    ///   `clock`.
    /// - **Rate** one beat a cycle each way, no bubbles between frames.
    /// - **Backpressure** `rx_tready` falls when the transport takes packets more slowly than they come, and never for what is sent.
    /// - **Reset** synchronous, for at least 2 cycles; everything under way is forgotten. It ends a cycle after `reset` does, and whatever is given
    ///   to the card in that cycle is lost.
    pub struct Nic<const D: usize, const K: usize, const QPS: usize, const CQS: usize, const MRS: usize, const SRQS: usize, const PAGES: usize, const WINDOWS: usize, const LOG: usize, const OUT: usize, const RING: usize, const STORE: usize, const PORT: usize, const BUFFER: usize, const STAGE: usize, const WRITERS: usize, const OBJECT: usize, const HASHES: usize, const QUADS: usize, const CHAIN: usize, const BANKS: usize, const ROWS: usize, const WORDS: usize, const TABLE: usize, const HELD: usize> {
        pub clock: Signal<In, Clock>,
        pub kernel_clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub rx_tdata: Signal<In, Bits<D>>,
        pub rx_tkeep: Signal<In, Bits<K>>,
        pub rx_tvalid: Signal<In, Bit>,
        pub rx_tlast: Signal<In, Bit>,
        pub rx_tuser: Signal<In, Bit>,
        pub rx_tready: Signal<Out, Bit>,
        pub tx_tdata: Signal<Out, Bits<D>>,
        pub tx_tkeep: Signal<Out, Bits<K>>,
        pub tx_tvalid: Signal<Out, Bit>,
        pub tx_tlast: Signal<Out, Bit>,
        pub tx_tuser: Signal<Out, Bit>,
        pub tx_tready: Signal<In, Bit>,
        pub link_up: Signal<In, Bit>,
        pub tx_pause: Signal<In, Bit>,
        pub rx_counts: [Signal<Out, Bits<32>>; Class::COUNT],
        pub tx_mismatched: Signal<Out, Bits<32>>,
        pub s_axil_awaddr: Signal<In, Bits<25>>,
        pub s_axil_awvalid: Signal<In, Bit>,
        pub s_axil_awready: Signal<Out, Bit>,
        pub s_axil_wdata: Signal<In, Bits<64>>,
        pub s_axil_wstrb: Signal<In, Bits<8>>,
        pub s_axil_wvalid: Signal<In, Bit>,
        pub s_axil_wready: Signal<Out, Bit>,
        pub s_axil_bresp: Signal<Out, Bits<2>>,
        pub s_axil_bvalid: Signal<Out, Bit>,
        pub s_axil_bready: Signal<In, Bit>,
        pub s_axil_araddr: Signal<In, Bits<25>>,
        pub s_axil_arvalid: Signal<In, Bit>,
        pub s_axil_arready: Signal<Out, Bit>,
        pub s_axil_rdata: Signal<Out, Bits<64>>,
        pub s_axil_rresp: Signal<Out, Bits<2>>,
        pub s_axil_rvalid: Signal<Out, Bit>,
        pub s_axil_rready: Signal<In, Bit>,
        pub m_axi_awaddr: Signal<Out, Bits<64>>,
        pub m_axi_awlen: Signal<Out, Bits<8>>,
        pub m_axi_awvalid: Signal<Out, Bit>,
        pub m_axi_awready: Signal<In, Bit>,
        pub m_axi_awsize: Signal<Out, Bits<3>>,
        pub m_axi_awburst: Signal<Out, Bits<2>>,
        pub m_axi_awid: Signal<Out, Bits<6>>,
        pub m_axi_wdata: Signal<Out, Bits<D>>,
        pub m_axi_wstrb: Signal<Out, Bits<K>>,
        pub m_axi_wlast: Signal<Out, Bit>,
        pub m_axi_wvalid: Signal<Out, Bit>,
        pub m_axi_wready: Signal<In, Bit>,
        pub m_axi_bresp: Signal<In, Bits<2>>,
        pub m_axi_bvalid: Signal<In, Bit>,
        pub m_axi_bready: Signal<Out, Bit>,
        pub m_axi_bid: Signal<In, Bits<6>>,
        pub m_axi_araddr: Signal<Out, Bits<64>>,
        pub m_axi_arlen: Signal<Out, Bits<8>>,
        pub m_axi_arid: Signal<Out, Bits<6>>,
        pub m_axi_arvalid: Signal<Out, Bit>,
        pub m_axi_arready: Signal<In, Bit>,
        pub m_axi_arsize: Signal<Out, Bits<3>>,
        pub m_axi_arburst: Signal<Out, Bits<2>>,
        pub m_axi_rdata: Signal<In, Bits<D>>,
        pub m_axi_rid: Signal<In, Bits<6>>,
        pub m_axi_rresp: Signal<In, Bits<2>>,
        pub m_axi_rlast: Signal<In, Bit>,
        pub m_axi_rvalid: Signal<In, Bit>,
        pub m_axi_rready: Signal<Out, Bit>,
        pub irq_vector: Signal<Out, Bits<5>>,
        pub irq_valid: Signal<Out, Bit>,
        pub irq_ready: Signal<In, Bit>,
        pub cycles: Signal<Out, Bits<64>>,
        pub skip: Signal<In, Bits<32>>,
        pub quiet: Signal<Out, Bit>,
        pub wake: Signal<Out, Bits<64>>,
        pub kernel_clock_rests: Signal<Out, Bit>,
        fronts: Fronts<D, K, LOG>,
        host: HostSide<D, K, QPS, CQS, MRS, SRQS, PAGES, WINDOWS, LOG, OUT, RING, STORE, KERNELS, WRITERS, PORT, BUFFER, STAGE>,
        kernels: Kernels<D, OBJECT, HASHES, QUADS, CHAIN, BANKS, ROWS, WORDS, TABLE, HELD>,
        reset_now: ResetReg,
        beat_size: Constant<Bits<3>> = Constant::new(u64::from(K.ilog2()).into()),
        incrementing: Constant<Bits<2>> = Constant::new(1.into()),
    }
}

impl<
    const D: usize,
    const K: usize,
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const SRQS: usize,
    const PAGES: usize,
    const WINDOWS: usize,
    const LOG: usize,
    const OUT: usize,
    const RING: usize,
    const STORE: usize,
    const PORT: usize,
    const BUFFER: usize,
    const STAGE: usize,
    const WRITERS: usize,
    const OBJECT: usize,
    const HASHES: usize,
    const QUADS: usize,
    const CHAIN: usize,
    const BANKS: usize,
    const ROWS: usize,
    const WORDS: usize,
    const TABLE: usize,
    const HELD: usize,
>
    Nic<
        D,
        K,
        QPS,
        CQS,
        MRS,
        SRQS,
        PAGES,
        WINDOWS,
        LOG,
        OUT,
        RING,
        STORE,
        PORT,
        BUFFER,
        STAGE,
        WRITERS,
        OBJECT,
        HASHES,
        QUADS,
        CHAIN,
        BANKS,
        ROWS,
        WORDS,
        TABLE,
        HELD,
    >
{
    /// A card of which these facts are true, for kernels with these op-codes.
    #[must_use]
    pub fn new(facts: &Facts, operations: &[Option<u16>; KERNELS]) -> Self {
        Self { host: HostSide::new(facts, operations), ..Self::default() }
    }
}

impl<
    const D: usize,
    const K: usize,
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const SRQS: usize,
    const PAGES: usize,
    const WINDOWS: usize,
    const LOG: usize,
    const OUT: usize,
    const RING: usize,
    const STORE: usize,
    const PORT: usize,
    const BUFFER: usize,
    const STAGE: usize,
    const WRITERS: usize,
    const OBJECT: usize,
    const HASHES: usize,
    const QUADS: usize,
    const CHAIN: usize,
    const BANKS: usize,
    const ROWS: usize,
    const WORDS: usize,
    const TABLE: usize,
    const HELD: usize,
> Logic
    for Nic<
        D,
        K,
        QPS,
        CQS,
        MRS,
        SRQS,
        PAGES,
        WINDOWS,
        LOG,
        OUT,
        RING,
        STORE,
        PORT,
        BUFFER,
        STAGE,
        WRITERS,
        OBJECT,
        HASHES,
        QUADS,
        CHAIN,
        BANKS,
        ROWS,
        WORDS,
        TABLE,
        HELD,
    >
{
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, fronts, host);
        clock!(self, kernel_clock, kernels);
        self.host.kernel_clock.next = self.kernel_clock.val();
        // It goes everywhere, and gets there from a register.
        dff_setup!(self, clock, reset_now);
        self.reset_now.d.next = self.reset.val();
        self.fronts.reset.next = self.reset_now.q.val();
        self.host.reset.next = self.reset_now.q.val();
        self.kernels.reset.next = self.host.clears.val();

        // Network.
        self.fronts.rx_tdata.next = self.rx_tdata.val();
        self.fronts.rx_tkeep.next = self.rx_tkeep.val();
        self.fronts.rx_tvalid.next = self.rx_tvalid.val();
        self.fronts.rx_tlast.next = self.rx_tlast.val();
        self.fronts.rx_tuser.next = self.rx_tuser.val();
        self.rx_tready.next = self.fronts.rx_tready.val();
        self.fronts.rx_closed.next = self.host.rx_closed.val();
        self.host.rx_dropped.next = self.fronts.rx_dropped.val();
        self.host.rx_enters.next = self.fronts.rx_enters.val();
        self.tx_tdata.next = self.fronts.tx_tdata.val();
        self.tx_tkeep.next = self.fronts.tx_tkeep.val();
        self.tx_tvalid.next = self.fronts.tx_tvalid.val();
        self.tx_tlast.next = self.fronts.tx_tlast.val();
        self.tx_tuser.next = self.fronts.tx_tuser.val();
        self.fronts.tx_tready.next = self.tx_tready.val();
        self.fronts.tx_pause.next = self.tx_pause.val();
        StreamSource::<Head>::join(&mut self.fronts.rx_head, &mut self.host.rx_head);
        StreamSource::<Beat<D>>::join(&mut self.fronts.rx_payload, &mut self.host.rx_payload);
        StreamSource::<Head>::join(&mut self.host.tx_head, &mut self.fronts.tx_head);
        StreamSource::<Beat<D>>::join(&mut self.host.tx_payload, &mut self.fronts.tx_payload);
        StreamSource::<Beat<D>>::join(&mut self.host.tx_raw, &mut self.fronts.tx_raw);
        self.fronts.raw_enable.next = self.host.raw_enable.val();
        self.host.raw_dropped.next = self.fronts.raw_dropped.val();
        for i in 0..16 {
            self.rx_counts[i].next = self.fronts.rx_counts[i].val();
            self.host.class_counts[i].next = self.fronts.rx_counts[i].val();
        }
        self.tx_mismatched.next = self.fronts.tx_mismatched.val();
        self.host.tx_frame.next =
            self.fronts.tx_tvalid.val() & self.fronts.tx_tlast.val() & self.tx_tready.val();
        self.fronts.own.next = self.host.mac.val();
        self.host.tx_turned.next = self.fronts.turned.val();
        self.host.link.next = self.link_up.val();
        self.host.stirs.next = self.fronts.turns.val()
            | (self.rx_tvalid.val() & self.fronts.rx_tready.val())
            | (self.fronts.rx_head.valid.val() & self.host.rx_head.ready.val())
            | (self.fronts.rx_payload.valid.val() & self.host.rx_payload.ready.val())
            | (self.host.tx_head.valid.val() & self.fronts.tx_head.ready.val())
            | (self.host.tx_payload.valid.val() & self.fronts.tx_payload.ready.val())
            | (self.host.tx_raw.valid.val() & self.fronts.tx_raw.ready.val())
            | (self.fronts.tx_tvalid.val() & self.tx_tready.val());

        // Kernels.
        self.kernels.kernel_reset.next = self.host.kernel_reset.val();
        for i in 0..KERNELS {
            StreamSource::<SlotCommand>::join(&mut self.host.kernel_command[i], &mut self.kernels.command[i]);
            StreamSource::<Beat<D>>::join(&mut self.host.kernel_data_in[i], &mut self.kernels.data_in[i]);
            StreamSource::<SlotRead>::join(&mut self.kernels.read[i], &mut self.host.kernel_read[i]);
            StreamSource::<SlotData<D>>::join(
                &mut self.host.kernel_read_data[i],
                &mut self.kernels.read_data[i],
            );
            StreamSource::<SlotWrite>::join(&mut self.kernels.write[i], &mut self.host.kernel_write[i]);
            StreamSource::<Beat<D>>::join(
                &mut self.kernels.write_data[i],
                &mut self.host.kernel_write_data[i],
            );
            StreamSource::<SlotDone>::join(
                &mut self.host.kernel_write_done[i],
                &mut self.kernels.write_done[i],
            );
            StreamSource::<Beat<D>>::join(&mut self.kernels.data_out[i], &mut self.host.kernel_data_out[i]);
            StreamSource::<SlotResponse>::join(
                &mut self.kernels.response[i],
                &mut self.host.kernel_response[i],
            );
        }

        // The BARs.
        self.host.lite_aw.payload.next.addr = self.s_axil_awaddr.val();
        self.host.lite_aw.valid.next = self.s_axil_awvalid.val();
        self.s_axil_awready.next = self.host.lite_aw.ready.val();
        self.host.lite_w.payload.next.data = self.s_axil_wdata.val();
        self.host.lite_w.payload.next.strb = self.s_axil_wstrb.val();
        self.host.lite_w.valid.next = self.s_axil_wvalid.val();
        self.s_axil_wready.next = self.host.lite_w.ready.val();
        self.s_axil_bresp.next = self.host.lite_b.payload.val().resp;
        self.s_axil_bvalid.next = self.host.lite_b.valid.val();
        self.host.lite_b.ready.next = self.s_axil_bready.val();
        self.host.lite_ar.payload.next.addr = self.s_axil_araddr.val();
        self.host.lite_ar.valid.next = self.s_axil_arvalid.val();
        self.s_axil_arready.next = self.host.lite_ar.ready.val();
        self.s_axil_rdata.next = self.host.lite_r.payload.val().data;
        self.s_axil_rresp.next = self.host.lite_r.payload.val().resp;
        self.s_axil_rvalid.next = self.host.lite_r.valid.val();
        self.host.lite_r.ready.next = self.s_axil_rready.val();

        // Host memory: whole beats, rising addresses; writes have one ID.
        self.m_axi_awaddr.next = self.host.aw.payload.val().addr;
        self.m_axi_awlen.next = self.host.aw.payload.val().len;
        self.m_axi_awvalid.next = self.host.aw.valid.val();
        self.host.aw.ready.next = self.m_axi_awready.val();
        self.m_axi_awsize.next = self.beat_size.val();
        self.m_axi_awburst.next = self.incrementing.val();
        self.m_axi_awid.next = 0.into();
        self.m_axi_wdata.next = self.host.w.payload.val().data;
        self.m_axi_wstrb.next = self.host.w.payload.val().strb;
        self.m_axi_wlast.next = self.host.w.payload.val().last;
        self.m_axi_wvalid.next = self.host.w.valid.val();
        self.host.w.ready.next = self.m_axi_wready.val();
        self.host.b.payload.next.resp = self.m_axi_bresp.val();
        self.host.b.valid.next = self.m_axi_bvalid.val();
        self.m_axi_bready.next = self.host.b.ready.val();
        self.m_axi_araddr.next = self.host.ar.payload.val().addr;
        self.m_axi_arlen.next = self.host.ar.payload.val().len;
        self.m_axi_arid.next = self.host.ar.payload.val().id;
        self.m_axi_arvalid.next = self.host.ar.valid.val();
        self.host.ar.ready.next = self.m_axi_arready.val();
        self.m_axi_arsize.next = self.beat_size.val();
        self.m_axi_arburst.next = self.incrementing.val();
        self.host.r.payload.next.data = self.m_axi_rdata.val();
        self.host.r.payload.next.id = self.m_axi_rid.val();
        self.host.r.payload.next.resp = self.m_axi_rresp.val();
        self.host.r.payload.next.last = self.m_axi_rlast.val();
        self.host.r.valid.next = self.m_axi_rvalid.val();
        self.m_axi_rready.next = self.host.r.ready.val();

        // Interrupts and time.
        self.irq_vector.next = self.host.irq.payload.val();
        self.irq_valid.next = self.host.irq.valid.val();
        self.host.irq.ready.next = self.irq_ready.val();
        self.cycles.next = self.host.time.val();
        self.host.skip.next = self.skip.val();
        self.quiet.next = self.host.quiet.val();
        self.wake.next = self.host.wake.val();
        self.kernel_clock_rests.next = self.host.kernel_clock_rests.val();
    }
}
