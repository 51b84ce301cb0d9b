//! Blocks with an own clock around one primitive each, and beside that what counts the edges of both.

use rust_hdl::prelude::*;

use crate::prim::mul::Mul;
use crate::prim::own_clock::OwnClock;
use crate::prim::ram::{ByteRam, ClockedRam, LutRam};
use crate::prim::reg::Reg;
use crate::prim::sync2::Sync2;

/// `2^LOG` words of a RAM, few enough that reads find what was written.
const LOG: usize = 3;

/// Counts the edges of the domain in which it is, and asks for none. Its register has a name that is left out when
/// variables are compared, and Verilator keeps it.
#[derive(LogicBlock, Default)]
struct EdgeCount {
    pub clock: Signal<In, Clock>,
}

impl Logic for EdgeCount {
    fn update(&mut self) {}

    fn hdl(&self) -> Verilog {
        Verilog::Custom(
            "// module edge_count\n\
             // moves 1'b0\n\
             logic [31:0] _count_edges /*verilator public_flat_rd*/;\n\
             initial _count_edges = 32'd0;\n\
             always_ff @(posedge clock) _count_edges <= _count_edges + 32'd1;"
                .into(),
        )
    }
}

/// Around a register.
#[derive(LogicBlock, Default)]
pub(super) struct AloneReg {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bits<3>>,
    pub q: Signal<Out, Bits<3>>,
    held: Reg<Bits<3>>,
    count: EdgeCount,
    own_clock: OwnClock,
}

impl Logic for AloneReg {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, held, count);
        self.held.d.next = self.d.val();
        self.q.next = self.held.q.val();
    }
}

/// Around a synchroniser.
#[derive(LogicBlock, Default)]
pub(super) struct AloneSync {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bits<3>>,
    pub q: Signal<Out, Bits<3>>,
    held: Sync2<Bits<3>>,
    count: EdgeCount,
    own_clock: OwnClock,
}

impl Logic for AloneSync {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, held, count);
        self.held.d.next = self.d.val();
        self.q.next = self.held.q.val();
    }
}

/// Around a multiplier.
#[derive(LogicBlock, Default)]
pub(super) struct AloneMul {
    pub clock: Signal<In, Clock>,
    pub enable: Signal<In, Bit>,
    pub a: Signal<In, Bits<4>>,
    pub b: Signal<In, Bits<3>>,
    pub p: Signal<Out, Bits<7>>,
    held: Mul<4, 3, 7>,
    count: EdgeCount,
    own_clock: OwnClock,
}

impl Logic for AloneMul {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, held, count);
        self.held.enable.next = self.enable.val();
        self.held.a.next = self.a.val();
        self.held.b.next = self.b.val();
        self.p.next = self.held.p.val();
    }
}

/// Around a block RAM or, with `ULTRA`, an ultra RAM.
#[derive(LogicBlock, Default)]
pub(super) struct AloneRam<const ULTRA: bool> {
    pub clock: Signal<In, Clock>,
    pub write_enable: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, Bits<5>>,
    pub read_enable: Signal<In, Bit>,
    pub read_address: Signal<In, Bits<LOG>>,
    pub read_data: Signal<Out, Bits<5>>,
    held: ClockedRam<Bits<5>, LOG, ULTRA>,
    count: EdgeCount,
    own_clock: OwnClock,
}

impl<const ULTRA: bool> Logic for AloneRam<ULTRA> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, held, count);
        self.held.write_enable.next = self.write_enable.val();
        self.held.write_address.next = self.write_address.val();
        self.held.write_data.next = self.write_data.val();
        self.held.read_enable.next = self.read_enable.val();
        self.held.read_address.next = self.read_address.val();
        self.read_data.next = self.held.read_data.val();
    }
}

/// Around a RAM with byte enables.
#[derive(LogicBlock, Default)]
pub(super) struct AloneByteRam {
    pub clock: Signal<In, Clock>,
    pub write_enable: Signal<In, Bits<2>>,
    pub write_address: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, Bits<16>>,
    pub read_enable: Signal<In, Bit>,
    pub read_address: Signal<In, Bits<LOG>>,
    pub read_data: Signal<Out, Bits<16>>,
    held: ByteRam<16, 2, LOG>,
    count: EdgeCount,
    own_clock: OwnClock,
}

impl Logic for AloneByteRam {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, held, count);
        self.held.write_enable.next = self.write_enable.val();
        self.held.write_address.next = self.write_address.val();
        self.held.write_data.next = self.write_data.val();
        self.held.read_enable.next = self.read_enable.val();
        self.held.read_address.next = self.read_address.val();
        self.read_data.next = self.held.read_data.val();
    }
}

/// Around a LUT RAM.
#[derive(LogicBlock, Default)]
pub(super) struct AloneLutRam {
    pub clock: Signal<In, Clock>,
    pub write_enable: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<LOG>>,
    pub write_data: Signal<In, Bits<5>>,
    pub read_address: Signal<In, Bits<LOG>>,
    pub read_data: Signal<Out, Bits<5>>,
    held: LutRam<Bits<5>, LOG>,
    count: EdgeCount,
    own_clock: OwnClock,
}

impl Logic for AloneLutRam {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, held, count);
        self.held.write_enable.next = self.write_enable.val();
        self.held.write_address.next = self.write_address.val();
        self.held.write_data.next = self.write_data.val();
        self.held.read_address.next = self.read_address.val();
        self.read_data.next = self.held.read_data.val();
    }
}
