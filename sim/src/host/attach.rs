//! Puts a [`Port`] at the far end of a model's AXI channels: the streams `aw`, `w`, `b`, `ar` and `r` of a bench.

use stroma_hw::host::axi::{ReadAddress, ReadBeat, WriteAddress, WriteBeat, WriteResponse};
use stroma_hw::pack::Packed;
use stroma_verilate::{Bench, Error, Pause, SinkId, SourceId};

use super::port::Port;

/// The write side of a `D`-bit port, attached.
pub struct Writes<const D: usize, const K: usize> {
    aw: SinkId,
    w: SinkId,
    b: SourceId,
}

/// The read side of a `D`-bit port, attached.
pub struct Reads<const D: usize> {
    ar: SinkId,
    r: SourceId,
}

/// Never ready.
fn held() -> Pause {
    Pause::Script(vec![true])
}

fn ready_if(takes: bool) -> Pause {
    if takes { Pause::None } else { held() }
}

fn bytes<const D: usize>(data: rust_hdl::prelude::Bits<D>) -> Vec<u8> {
    data.to_words().into_iter().flat_map(u32::to_le_bytes).collect()
}

impl<const D: usize, const K: usize> Writes<D, K> {
    /// Finds the channels `aw`, `w` and `b` of the bench's model.
    ///
    /// # Errors
    /// When one of them is missing.
    pub fn attach(bench: &mut Bench) -> Result<Self, Error> {
        Ok(Self { aw: bench.sink("aw")?, w: bench.sink("w")?, b: bench.source("b")? })
    }

    /// Before a cycle: what the host can take in it.
    pub fn before(&self, bench: &mut Bench, port: &mut Port) {
        let now = bench.cycle();
        bench[self.aw].pause(ready_if(port.takes_write()));
        bench[self.w].pause(ready_if(port.takes_data(now)));
        if let Some(resp) = port.write_response(now) {
            bench[self.b].send(WriteResponse { resp: u64::from(resp).into() }.to_words());
        }
    }

    /// After it: what the host has taken.
    ///
    /// # Panics
    /// When the model breaks the port's contract.
    pub fn after(&self, bench: &mut Bench, port: &mut Port) {
        let now = bench.cycle() - 1;
        for words in bench[self.aw].take() {
            let burst = WriteAddress::from_words(&words);
            port.write(burst.addr.to_u64(), burst.len.to_u64() + 1);
        }
        for words in bench[self.w].take() {
            let beat = WriteBeat::<D, K>::from_words(&words);
            let strobe: u128 =
                num_bigint::BigUint::from(beat.strb).try_into().expect("at most 64 bytes a beat");
            port.write_data(now, &bytes(beat.data), u64::try_from(strobe).expect("64 bits"), beat.last);
        }
    }
}

impl<const D: usize> Reads<D> {
    /// Finds the channels `ar` and `r` of the bench's model.
    ///
    /// # Errors
    /// When one of them is missing.
    pub fn attach(bench: &mut Bench) -> Result<Self, Error> {
        Ok(Self { ar: bench.sink("ar")?, r: bench.source("r")? })
    }

    /// Before a cycle: what the host can take in it, and what it has to give.
    pub fn before(&self, bench: &mut Bench, port: &mut Port) {
        let now = bench.cycle();
        bench[self.ar].pause(ready_if(port.takes_read()));
        if bench[self.r].is_empty()
            && let Some(beat) = port.read_data(now)
        {
            let payload = ReadBeat::<D> {
                data: num_bigint::BigUint::from_bytes_le(&beat.data).into(),
                id: u64::from(beat.id).into(),
                resp: u64::from(beat.response).into(),
                last: beat.last,
            };
            bench[self.r].send(payload.to_words());
        }
    }

    /// After it: what the host has taken.
    ///
    /// # Panics
    /// When the model breaks the port's contract.
    pub fn after(&self, bench: &mut Bench, port: &mut Port) {
        let now = bench.cycle() - 1;
        for words in bench[self.ar].take() {
            let burst = ReadAddress::from_words(&words);
            let id = u8::try_from(burst.id.to_u64()).expect("six bits");
            port.read(now, burst.addr.to_u64(), burst.len.to_u64() + 1, id);
        }
    }
}

#[cfg(test)]
mod tests;
