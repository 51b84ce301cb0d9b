//! The kernels of the card, each in its slot: those of the catalogue, in its order, and behind them more of one kind.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::host::control::facts::Kernel;
use stroma_hw::slot::{SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};
use stroma_kernels::consistency::ConsistencyKernel;
use stroma_kernels::get::GetKernel;
use stroma_kernels::hyperloglog::HyperLogLogKernel;
use stroma_kernels::prism::PrismKernel;
use stroma_kernels::shuffle::ShuffleKernel;
use stroma_kernels::traversal::TraversalKernel;
use stroma_kernels::{CATALOGUE, Entry};

/// Slots there are.
pub const KERNELS: usize = CATALOGUE.len() + 1;

const _: () = assert!(KERNELS == 7, "a kernel without a slot, or a slot without a kernel");

/// What sits in each slot. A walk waits for memory most of the time, so there are two who walk.
///
/// # Panics
/// If the catalogue has no `traversal`.
#[must_use]
pub fn slots() -> [&'static Entry; KERNELS] {
    let again = CATALOGUE.iter().find(|entry| entry.name == "traversal").expect("a kernel of this name");
    std::array::from_fn(|slot| CATALOGUE.get(slot).unwrap_or(again))
}

/// Op-codes, by slot.
#[must_use]
pub fn operations() -> [u16; KERNELS] {
    slots().map(|entry| entry.operation)
}

/// What the card tells of its kernels, by slot.
#[must_use]
pub fn catalogue() -> Vec<Kernel> {
    let of = |entry: &Entry| {
        let Entry { operation, version, parameter_layout, .. } = *entry;
        Kernel { operation, version, parameter_layout }
    };
    slots().into_iter().map(of).collect()
}

block! {
    /// All kernels, one a slot. A stream that a kernel leaves out is never valid, and takes what comes.
    ///
    /// - **Ports** by slot, as [`slot`](stroma_hw::slot) says; `kernel_reset`: a bit for each.
    /// - **Limits** the parameters behind `D` are those of `consistency`, `hyperloglog`, `prism` and `shuffle`.
    pub struct Kernels<const D: usize, const OBJECT: usize, const HASHES: usize, const QUADS: usize, const CHAIN: usize, const BANKS: usize, const ROWS: usize, const WORDS: usize, const TABLE: usize, const HELD: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub kernel_reset: Signal<In, Bits<KERNELS>>,
        pub command: [StreamSink<SlotCommand>; KERNELS],
        pub data_in: [StreamSink<Beat<D>>; KERNELS],
        pub read: [StreamSource<SlotRead>; KERNELS],
        pub read_data: [StreamSink<SlotData<D>>; KERNELS],
        pub write: [StreamSource<SlotWrite>; KERNELS],
        pub write_data: [StreamSource<Beat<D>>; KERNELS],
        pub write_done: [StreamSink<SlotDone>; KERNELS],
        pub data_out: [StreamSource<Beat<D>>; KERNELS],
        pub response: [StreamSource<SlotResponse>; KERNELS],
        consistency: ConsistencyKernel<D, OBJECT>,
        get: GetKernel<D>,
        hyperloglog: HyperLogLogKernel<D, HASHES, QUADS>,
        prism: PrismKernel<D, CHAIN>,
        shuffle: ShuffleKernel<D, BANKS, ROWS, WORDS, TABLE, HELD>,
        traversals: [TraversalKernel<D>; 2] = std::array::from_fn(|_| TraversalKernel::default()),
        no_read: Constant<SlotRead> = Constant::new(SlotRead::default()),
        no_write: Constant<SlotWrite> = Constant::new(SlotWrite::default()),
        no_beat: Constant<Beat<D>> = Constant::new(Beat::default()),
    }
}

impl<
    const D: usize,
    const OBJECT: usize,
    const HASHES: usize,
    const QUADS: usize,
    const CHAIN: usize,
    const BANKS: usize,
    const ROWS: usize,
    const WORDS: usize,
    const TABLE: usize,
    const HELD: usize,
> Logic for Kernels<D, OBJECT, HASHES, QUADS, CHAIN, BANKS, ROWS, WORDS, TABLE, HELD>
{
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, consistency, get, hyperloglog, prism, shuffle);
        self.consistency.reset.next = self.reset.val() | self.kernel_reset.val().get_bit(0);
        self.get.reset.next = self.reset.val() | self.kernel_reset.val().get_bit(1);
        self.hyperloglog.reset.next = self.reset.val() | self.kernel_reset.val().get_bit(2);
        self.prism.reset.next = self.reset.val() | self.kernel_reset.val().get_bit(3);
        self.shuffle.reset.next = self.reset.val() | self.kernel_reset.val().get_bit(4);

        // consistency.
        StreamSink::<SlotCommand>::link(&mut self.command[0], &mut self.consistency.command);
        StreamSink::<Beat<D>>::link(&mut self.data_in[0], &mut self.consistency.data_in);
        StreamSource::<SlotRead>::link(&mut self.read[0], &mut self.consistency.read);
        StreamSink::<SlotData<D>>::link(&mut self.read_data[0], &mut self.consistency.read_data);
        self.write[0].valid.next = false;
        self.write[0].payload.next = self.no_write.val();
        self.write_data[0].valid.next = false;
        self.write_data[0].payload.next = self.no_beat.val();
        self.write_done[0].ready.next = true;
        StreamSource::<Beat<D>>::link(&mut self.data_out[0], &mut self.consistency.data_out);
        StreamSource::<SlotResponse>::link(&mut self.response[0], &mut self.consistency.response);

        // get.
        StreamSink::<SlotCommand>::link(&mut self.command[1], &mut self.get.command);
        StreamSink::<Beat<D>>::link(&mut self.data_in[1], &mut self.get.data_in);
        StreamSource::<SlotRead>::link(&mut self.read[1], &mut self.get.read);
        StreamSink::<SlotData<D>>::link(&mut self.read_data[1], &mut self.get.read_data);
        self.write[1].valid.next = false;
        self.write[1].payload.next = self.no_write.val();
        self.write_data[1].valid.next = false;
        self.write_data[1].payload.next = self.no_beat.val();
        self.write_done[1].ready.next = true;
        StreamSource::<Beat<D>>::link(&mut self.data_out[1], &mut self.get.data_out);
        StreamSource::<SlotResponse>::link(&mut self.response[1], &mut self.get.response);

        // hyperloglog.
        StreamSink::<SlotCommand>::link(&mut self.command[2], &mut self.hyperloglog.command);
        StreamSink::<Beat<D>>::link(&mut self.data_in[2], &mut self.hyperloglog.data_in);
        self.read[2].valid.next = false;
        self.read[2].payload.next = self.no_read.val();
        self.read_data[2].ready.next = true;
        StreamSource::<SlotWrite>::link(&mut self.write[2], &mut self.hyperloglog.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data[2], &mut self.hyperloglog.write_data);
        StreamSink::<SlotDone>::link(&mut self.write_done[2], &mut self.hyperloglog.write_done);
        StreamSource::<Beat<D>>::link(&mut self.data_out[2], &mut self.hyperloglog.data_out);
        StreamSource::<SlotResponse>::link(&mut self.response[2], &mut self.hyperloglog.response);

        // prism.
        StreamSink::<SlotCommand>::link(&mut self.command[3], &mut self.prism.command);
        StreamSink::<Beat<D>>::link(&mut self.data_in[3], &mut self.prism.data_in);
        StreamSource::<SlotRead>::link(&mut self.read[3], &mut self.prism.read);
        StreamSink::<SlotData<D>>::link(&mut self.read_data[3], &mut self.prism.read_data);
        StreamSource::<SlotWrite>::link(&mut self.write[3], &mut self.prism.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data[3], &mut self.prism.write_data);
        StreamSink::<SlotDone>::link(&mut self.write_done[3], &mut self.prism.write_done);
        StreamSource::<Beat<D>>::link(&mut self.data_out[3], &mut self.prism.data_out);
        StreamSource::<SlotResponse>::link(&mut self.response[3], &mut self.prism.response);

        // shuffle.
        StreamSink::<SlotCommand>::link(&mut self.command[4], &mut self.shuffle.command);
        StreamSink::<Beat<D>>::link(&mut self.data_in[4], &mut self.shuffle.data_in);
        StreamSource::<SlotRead>::link(&mut self.read[4], &mut self.shuffle.read);
        StreamSink::<SlotData<D>>::link(&mut self.read_data[4], &mut self.shuffle.read_data);
        StreamSource::<SlotWrite>::link(&mut self.write[4], &mut self.shuffle.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data[4], &mut self.shuffle.write_data);
        StreamSink::<SlotDone>::link(&mut self.write_done[4], &mut self.shuffle.write_done);
        StreamSource::<Beat<D>>::link(&mut self.data_out[4], &mut self.shuffle.data_out);
        StreamSource::<SlotResponse>::link(&mut self.response[4], &mut self.shuffle.response);

        // traversal, twice.
        for i in 0..2 {
            self.traversals[i].clock.next = self.clock.val();
            self.traversals[i].reset.next = self.reset.val() | self.kernel_reset.val().get_bit(i + 5);
            StreamSink::<SlotCommand>::link(&mut self.command[i + 5], &mut self.traversals[i].command);
            StreamSink::<Beat<D>>::link(&mut self.data_in[i + 5], &mut self.traversals[i].data_in);
            StreamSource::<SlotRead>::link(&mut self.read[i + 5], &mut self.traversals[i].read);
            StreamSink::<SlotData<D>>::link(&mut self.read_data[i + 5], &mut self.traversals[i].read_data);
            self.write[i + 5].valid.next = false;
            self.write[i + 5].payload.next = self.no_write.val();
            self.write_data[i + 5].valid.next = false;
            self.write_data[i + 5].payload.next = self.no_beat.val();
            self.write_done[i + 5].ready.next = true;
            StreamSource::<Beat<D>>::link(&mut self.data_out[i + 5], &mut self.traversals[i].data_out);
            StreamSource::<SlotResponse>::link(&mut self.response[i + 5], &mut self.traversals[i].response);
        }
    }
}
