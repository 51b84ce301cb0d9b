//! How blocks talk: a valid/ready stream of one payload type, and the packet beat.
//!
//! **The stream law.**
//! 1. A beat moves in the cycle in which `valid` and `ready` are both high.
//! 2. An offered beat stays offered and unchanged until it moves.
//! 3. `valid` never waits for `ready`.
//! 4. `ready` may come and go as it likes.
//!
//! Every stream port of every test is watched for rules 2 and 3, and `cargo xtask formal` proves them for the
//! primitives. A link between two blocks ends in a cut ([`crate::prim::skid`]) or a FIFO, so that no combinational
//! path runs from port to port through more than one block.

use rust_hdl::core::{synth::VCDValue, type_descriptor::TypeField};
use rust_hdl::prelude::*;

use crate::pack::{BitReader, BitWriter, Packed};

/// The consuming end of a stream.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StreamSource"]
pub struct StreamSink<T: Synth> {
    pub payload: Signal<In, T>,
    pub valid: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
}

/// The producing end of a stream.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StreamSink"]
pub struct StreamSource<T: Synth> {
    pub payload: Signal<Out, T>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

/// One cycle's worth of a packet on a `D`-bit path. Byte 0 of the packet is the least significant byte of the first
/// beat; only the beat with `eop` may be partial, and bytes past `nbytes` are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beat<const D: usize> {
    /// The bytes, first byte lowest.
    pub data: Bits<D>,
    /// How many of them count: 1 to `D / 8`, and `D / 8` unless `eop`.
    pub nbytes: Bits<7>,
    /// First beat of its packet.
    pub sop: Bit,
    /// Last beat of its packet.
    pub eop: Bit,
    /// The packet is to be thrown away; meaningful with `eop`.
    pub err: Bit,
}

// RustHDL's `LogicStruct` derive cannot take const generics, so what it would write stands here: the place of each
// field, which the kernel macro asks for by these names.
#[expect(clippy::must_use_candidate, reason = "the kernel macro is the only caller")]
impl<const D: usize> Beat<D> {
    pub fn get_my_width_data(&self) -> usize {
        D
    }
    pub fn get_my_offset_data(&self) -> usize {
        0
    }
    pub fn get_my_width_nbytes(&self) -> usize {
        7
    }
    pub fn get_my_offset_nbytes(&self) -> usize {
        D
    }
    pub fn get_my_width_sop(&self) -> usize {
        1
    }
    pub fn get_my_offset_sop(&self) -> usize {
        D + 7
    }
    pub fn get_my_width_eop(&self) -> usize {
        1
    }
    pub fn get_my_offset_eop(&self) -> usize {
        D + 8
    }
    pub fn get_my_width_err(&self) -> usize {
        1
    }
    pub fn get_my_offset_err(&self) -> usize {
        D + 9
    }
}

impl<const D: usize> Packed for Beat<D> {
    fn write(&self, to: &mut BitWriter) {
        self.data.write(to);
        self.nbytes.write(to);
        self.sop.write(to);
        self.eop.write(to);
        self.err.write(to);
    }
    fn read(from: &mut BitReader) -> Self {
        Self {
            data: Packed::read(from),
            nbytes: Packed::read(from),
            sop: Packed::read(from),
            eop: Packed::read(from),
            err: Packed::read(from),
        }
    }
}

impl<const D: usize> Synth for Beat<D> {
    const BITS: usize = D + 10;

    fn descriptor() -> TypeDescriptor {
        let field = |name: &str, kind| Box::new(TypeField { fieldname: name.to_string(), kind });
        TypeDescriptor {
            name: format!("Beat::<{D}>"),
            kind: TypeKind::Composite(vec![
                field("data", Bits::<D>::descriptor()),
                field("nbytes", Bits::<7>::descriptor()),
                field("sop", Bit::descriptor()),
                field("eop", Bit::descriptor()),
                field("err", Bit::descriptor()),
            ]),
        }
    }

    fn vcd(self) -> VCDValue {
        VCDValue::Composite(vec![
            Box::new(self.data.vcd()),
            Box::new(self.nbytes.vcd()),
            Box::new(self.sop.vcd()),
            Box::new(self.eop.vcd()),
            Box::new(self.err.vcd()),
        ])
    }

    /// The value alone is meant: `D + 10` cannot be named as a const generic, so the literal is wider than the type.
    fn verilog(self) -> VerilogLiteral {
        let value: Bits<1024> = num_bigint::BigUint::new(self.to_words()).into();
        value.into()
    }
}

/// Cuts `bytes` into the beats of one packet.
///
/// # Panics
/// If `bytes` is empty: a packet has at least one beat.
#[must_use]
pub fn beats<const D: usize>(bytes: &[u8]) -> Vec<Beat<D>> {
    assert!(!bytes.is_empty(), "a packet has at least one byte");
    let count = bytes.len().div_ceil(D / 8);
    let cut = |(index, chunk): (usize, &[u8])| Beat {
        data: num_bigint::BigUint::from_bytes_le(chunk).into(),
        nbytes: (chunk.len() as u64).into(),
        sop: index == 0,
        eop: index + 1 == count,
        err: false,
    };
    bytes.chunks(D / 8).enumerate().map(cut).collect()
}

/// The bytes of a run of beats.
#[must_use]
pub fn bytes<const D: usize>(beats: &[Beat<D>]) -> Vec<u8> {
    let of = |beat: &Beat<D>| {
        let mut bytes = num_bigint::BigUint::from(beat.data).to_bytes_le();
        bytes.resize(beat.nbytes.index(), 0);
        bytes
    };
    beats.iter().flat_map(of).collect()
}
