//! Every primitive in the differential suite: RustHDL's simulator against the Verilated text.

use rust_hdl::prelude::Bits;

use super::ram::{BlockRam, ByteRam, LutRam, UltraByteRam, UltraRam};
use super::{
    block_fifo, fifo, fork, join, mul, packet_fifo, reg, ring, round_robin, skid, stream_ram, sync2,
};
use crate::verilog::differential::{Case, assert_agree, differential};

/// Hand-written Verilog is checked by nothing else; the other blocks are here because it costs a line each.
fn cases() -> Vec<Case> {
    type Word = Bits<70>;
    vec![
        differential!("reg", reg::Reg::<Word>::default, clock, [d]),
        differential!("sync2", sync2::Sync2::<Word>::default, clock, [d]),
        differential!("mul", mul::Mul::<24, 17, 41>::default, clock, [enable, a, b]),
        differential!("mul_wide", mul::Mul::<64, 64, 128>::default, clock, [enable, a, b]),
        differential!(
            "lut_ram",
            LutRam::<Word, 2>::default,
            clock,
            [write_enable, write_address, write_data, read_address]
        ),
        differential!(
            "block_ram",
            BlockRam::<Word, 2>::default,
            clock,
            [write_enable, write_address, write_data, read_enable, read_address]
        ),
        differential!(
            "ultra_ram",
            UltraRam::<Word, 2>::default,
            clock,
            [write_enable, write_address, write_data, read_enable, read_address]
        ),
        differential!(
            "byte_ram",
            ByteRam::<80, 10, 2>::default,
            clock,
            [write_enable, write_address, write_data, read_enable, read_address]
        ),
        differential!(
            "ultra_byte_ram",
            UltraByteRam::<80, 10, 2>::default,
            clock,
            [write_enable, write_address, write_data, read_enable, read_address]
        ),
        differential!(
            "stream_ram",
            stream_ram::StreamRam::<Word, 2>::default,
            clock,
            [write_enable, write_at, write_data, some, read_at, source.ready]
        ),
        differential!("ring", ring::Ring::<3>::default, clock, [reset, push, pop]),
        differential!("skid", skid::Skid::<Word>::default, clock, [sink.payload, sink.valid, source.ready]),
        differential!(
            "fifo",
            fifo::Fifo::<Word, 2>::default,
            clock,
            [sink.payload, sink.valid, source.ready]
        ),
        differential!(
            "block_fifo",
            block_fifo::BlockFifo::<Word, 2>::default,
            clock,
            [sink.payload, sink.valid, source.ready]
        ),
        differential!(
            "ultra_fifo",
            block_fifo::UltraFifo::<Word, 2>::default,
            clock,
            [sink.payload, sink.valid, source.ready]
        ),
        differential!(
            "packet_fifo",
            || packet_fifo::PacketFifo::<64, 2>::new(false),
            clock,
            [sink.payload, sink.valid, source.ready]
        ),
        differential!(
            "fork_block",
            fork::Fork::<Word>::default,
            clock,
            [sink.payload, sink.valid, left.ready, right.ready]
        ),
        differential!(
            "join_block",
            join::Join::<Word, Bits<3>>::default,
            [left.payload, left.valid, right.payload, right.valid, ready]
        ),
        differential!("round_robin", round_robin::RoundRobin::<5>::default, clock, [request, taken]),
    ]
}

#[test]
fn rust_and_verilog_agree_on_every_primitive() {
    assert_agree(cases(), 500);
}
