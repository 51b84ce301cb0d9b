//! The way from host memory: work requests, payload and page lists, each to its client.

pub mod gather;
pub mod model;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::UNIT;

use gather::Gather;

use super::axi::{ReadAddress, ReadBeat};
use super::dma_read::{DmaRead, ReadCommand, ReadData};
use super::work::Unit;
use crate::constant::number;
use crate::prim::pulses::Pulses;
use crate::state::walker::{Line, LineRequest};
use crate::stream::{StreamSink, StreamSource};

/// Clients of the engine: fetches, payload of copies, lines, payload of packets, lists, words, what kernels read.
const CLIENTS: usize = 7;
/// Bytes of a line.
const LINE_BYTES: usize = 64;
/// Where the commands of each begin: units and lines on their multiples, words too, payload anywhere.
const STEPS: [usize; CLIENTS] = [UNIT, 1, LINE_BYTES, 1, UNIT, 8, 1];

block! {
    /// Reads for seven clients, each at its own pace.
    ///
    /// ```text
    ///   fetch, payload, line_request ─ DmaRead ─┬─ Gather ─ units
    ///   packet, list, word, kernel ─┘           ├────────── payload_data, packet_data, word_data, kernel_data
    ///                                           ├─ Gather ─ line
    ///                                           └─ Gather ─ list_units
    /// ```
    ///
    /// - **Ports** `fetch`, `list`: commands for whole units, answered on `units` and `list_units`, the last of a command marked and
    ///   saying whether it failed; `payload`, `packet`, `word`, `kernel`: commands for any bytes, answered on `payload_data`, `packet_data`,
    ///   `word_data` and `kernel_data`; `line_request`: a line each, answered on
    ///   `line` with the same `id`. All answers in the order of their commands. `ar`, `r`: the host. `failed`: a cycle
    ///   high for each command with bytes that could not be read; `busy`: a command is not answered.
    /// - **Latency** 3 cycles from a command to `ar`, 7 from `r` to `payload_data`, 8 to `units` and `line` from the last beat of
    ///   the 64 bytes. **Rate** as [`DmaRead`]: 1 beat per cycle from `r` and to each client, so a unit or line every
    ///   `512 / D` cycles; a command every 2 cycles from each.
    /// - **Backpressure** a client that stalls its answers stalls its own commands alone. No combinational path from port to
    ///   port.
    /// - **Reset** forgets all commands; the host's side has to be reset with it.
    /// - **Limits** those of [`DmaRead`]. `fetch` and `list` ask for whole units, at multiples of 64; what else they
    ///   ask for comes in units with their bytes in the wrong place. Their `tag` is not looked at. `word` asks at multiples of 8.
    pub struct HostReader<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub fetch: StreamSink<ReadCommand>,
        pub units: StreamSource<Unit>,
        pub payload: StreamSink<ReadCommand>,
        pub payload_data: StreamSource<ReadData<D>>,
        pub packet: StreamSink<ReadCommand>,
        pub packet_data: StreamSource<ReadData<D>>,
        pub list: StreamSink<ReadCommand>,
        pub list_units: StreamSource<Unit>,
        pub word: StreamSink<ReadCommand>,
        pub word_data: StreamSource<ReadData<D>>,
        pub kernel: StreamSink<ReadCommand>,
        pub kernel_data: StreamSource<ReadData<D>>,
        pub line_request: StreamSink<LineRequest>,
        pub line: StreamSource<Line>,
        pub ar: StreamSource<ReadAddress>,
        pub r: StreamSink<ReadBeat<D>>,
        pub failed: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        engine: DmaRead<D, CLIENTS, LOG> = DmaRead::in_steps_of(STEPS),
        fetched: Gather<D>,
        walked: Gather<D>,
        listed: Gather<D>,
        pulses: Pulses<CLIENTS>,
        beat: Signal<Local, ReadData<D>>,
        takes: Signal<Local, Bits<CLIENTS>>,
        failures: Signal<Local, Bits<CLIENTS>>,
        line_len: Constant<Bits<13>> = number(LINE_BYTES),
    }
}

impl<const D: usize, const LOG: usize> Logic for HostReader<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, engine, fetched, walked, listed, pulses);
        self.engine.reset.next = self.reset.val();
        self.fetched.reset.next = self.reset.val();
        self.walked.reset.next = self.reset.val();
        self.listed.reset.next = self.reset.val();
        self.pulses.reset.next = self.reset.val();

        StreamSink::<ReadCommand>::link(&mut self.fetch, &mut self.engine.command[0]);
        StreamSink::<ReadCommand>::link(&mut self.payload, &mut self.engine.command[1]);
        StreamSink::<ReadCommand>::link(&mut self.packet, &mut self.engine.command[3]);
        StreamSink::<ReadCommand>::link(&mut self.list, &mut self.engine.command[4]);
        StreamSink::<ReadCommand>::link(&mut self.word, &mut self.engine.command[5]);
        StreamSink::<ReadCommand>::link(&mut self.kernel, &mut self.engine.command[6]);
        self.engine.command[2].valid.next = self.line_request.valid.val();
        self.engine.command[2].payload.next.iova = self.line_request.payload.val().addr;
        self.engine.command[2].payload.next.len = self.line_len.val();
        self.engine.command[2].payload.next.tag = bit_cast::<6, 3>(self.line_request.payload.val().id);
        self.line_request.ready.next = self.engine.command[2].ready.val();
        StreamSource::<ReadAddress>::link(&mut self.ar, &mut self.engine.ar);
        StreamSink::<ReadBeat<D>>::link(&mut self.r, &mut self.engine.r);

        StreamSource::<ReadData<D>>::join(&mut self.engine.data[0], &mut self.fetched.sink);
        StreamSource::<ReadData<D>>::link(&mut self.payload_data, &mut self.engine.data[1]);
        StreamSource::<ReadData<D>>::join(&mut self.engine.data[2], &mut self.walked.sink);
        StreamSource::<ReadData<D>>::link(&mut self.packet_data, &mut self.engine.data[3]);
        StreamSource::<ReadData<D>>::join(&mut self.engine.data[4], &mut self.listed.sink);
        StreamSource::<ReadData<D>>::link(&mut self.word_data, &mut self.engine.data[5]);
        StreamSource::<ReadData<D>>::link(&mut self.kernel_data, &mut self.engine.data[6]);
        self.units.valid.next = self.fetched.source.valid.val();
        self.units.payload.next.data = self.fetched.source.payload.val().data;
        self.units.payload.next.last = self.fetched.source.payload.val().last;
        self.units.payload.next.err = self.fetched.source.payload.val().err;
        self.fetched.source.ready.next = self.units.ready.val();
        self.list_units.valid.next = self.listed.source.valid.val();
        self.list_units.payload.next.data = self.listed.source.payload.val().data;
        self.list_units.payload.next.last = self.listed.source.payload.val().last;
        self.list_units.payload.next.err = self.listed.source.payload.val().err;
        self.listed.source.ready.next = self.list_units.ready.val();
        self.line.valid.next = self.walked.source.valid.val();
        self.line.payload.next.data = self.walked.source.payload.val().data;
        self.line.payload.next.id = bit_cast::<3, 6>(self.walked.source.payload.val().tag);
        self.line.payload.next.err = self.walked.source.payload.val().err;
        self.walked.source.ready.next = self.line.ready.val();

        self.takes.next = 0.into();
        self.takes.next = self.takes.val().replace_bit(0, self.fetched.sink.ready.val());
        self.takes.next = self.takes.val().replace_bit(1, self.payload_data.ready.val());
        self.takes.next = self.takes.val().replace_bit(2, self.walked.sink.ready.val());
        self.takes.next = self.takes.val().replace_bit(3, self.packet_data.ready.val());
        self.takes.next = self.takes.val().replace_bit(4, self.listed.sink.ready.val());
        self.takes.next = self.takes.val().replace_bit(5, self.word_data.ready.val());
        self.takes.next = self.takes.val().replace_bit(6, self.kernel_data.ready.val());
        self.failures.next = 0.into();
        for i in 0..CLIENTS {
            self.beat.next = self.engine.data[i].payload.val();
            self.failures.next = self.failures.val().replace_bit(
                i,
                self.engine.data[i].valid.val()
                    & self.takes.val().get_bit(i)
                    & self.beat.val().eop
                    & self.beat.val().err,
            );
        }
        self.pulses.happens.next = self.failures.val();
        self.failed.next = self.pulses.pulse.val();
        self.busy.next = self.engine.busy.val()
            | self.fetched.source.valid.val()
            | self.walked.source.valid.val()
            | self.listed.source.valid.val()
            | self.pulses.busy.val();
    }
}
