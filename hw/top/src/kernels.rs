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

/// Which of them a card is built with: all, or those that were asked for. The slots of the others are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen([Option<&'static Entry>; KERNELS]);

/// A kernel that there is not.
#[derive(Debug, thiserror::Error)]
#[error("no kernel is called `{name}`; there are {}", CATALOGUE.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownKernel {
    /// What was asked for.
    pub name: String,
}

impl Chosen {
    /// Every kernel.
    #[must_use]
    pub fn all() -> Self {
        Self(slots().map(Some))
    }

    /// Those of these names.
    ///
    /// # Errors
    /// When one of them is no kernel's.
    pub fn named<S: AsRef<str>>(names: &[S]) -> Result<Self, UnknownKernel> {
        let is_known = |name: &&S| CATALOGUE.iter().any(|entry| entry.name == name.as_ref());
        match names.iter().find(|name| !is_known(name)) {
            Some(name) => Err(UnknownKernel { name: name.as_ref().to_owned() }),
            None => Ok(Self(
                slots().map(|entry| names.iter().any(|name| name.as_ref() == entry.name).then_some(entry)),
            )),
        }
    }

    /// A name for the choice, of letters, digits and underscores: a bit for each slot, the first lowest.
    #[must_use]
    pub fn name(&self) -> String {
        let bits = self.0.iter().rev().fold(0, |bits, entry| bits << 1 | u32::from(entry.is_some()));
        format!("k{bits:x}")
    }

    /// Op-codes, by slot.
    #[must_use]
    pub fn operations(&self) -> [Option<u16>; KERNELS] {
        self.0.map(|entry| entry.map(|entry| entry.operation))
    }

    /// What the card tells of its kernels, by slot.
    #[must_use]
    pub fn catalogue(&self) -> Vec<Option<Kernel>> {
        let of = |entry: &Entry| {
            let Entry { operation, version, parameter_layout, .. } = *entry;
            Kernel { operation, version, parameter_layout }
        };
        self.0.iter().map(|entry| entry.map(of)).collect()
    }

    /// Is the block in this place of a card a kernel that was not asked for?
    pub(crate) fn leaves_out(&self, place: &str) -> bool {
        let Some(field) = place.strip_prefix("kernels.") else { return false };
        // The field of a kernel has its name, or the plural of it where there are several.
        let is_number = |text: &str| text.parse::<usize>().is_ok();
        let is_end = |rest: &str| rest.is_empty() || rest.strip_prefix("s$").is_some_and(is_number);
        let is_field = |name: &str| field.strip_prefix(name).is_some_and(is_end);
        let is_left = |(slot, entry): (usize, &Entry)| self.0[slot].is_none() && is_field(entry.name);
        slots().into_iter().enumerate().any(is_left)
    }
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
        // It keeps a sketch, which outlives somebody's work that is ended.
        self.hyperloglog.reset.next = self.reset.val();
        self.hyperloglog.restart.next = self.kernel_reset.val().get_bit(2);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Profile;

    /// Modules of a text, but for primitives and the like, which have no name of a kernel in theirs.
    fn kernels_in(text: &str) -> Vec<&'static str> {
        let is_there = |name: &&str| {
            text.contains(&format!("module {name} (")) || text.contains(&format!("module {name}s ("))
        };
        CATALOGUE.iter().map(|entry| entry.name).filter(is_there).collect()
    }

    #[test]
    fn a_card_has_the_kernels_that_were_chosen_and_empty_slots_for_the_others() {
        let all = Profile::TenGig.emit().unwrap();
        assert_eq!(kernels_in(&all.text).len(), CATALOGUE.len());
        for names in [&["get"][..], &["traversal", "prism"], &[]] {
            let chosen = Chosen::named(names).unwrap();
            let rtl = Profile::TenGig.emit_with(&chosen).unwrap();
            let found = kernels_in(&rtl.text);
            assert!(found.len() == names.len() && names.iter().all(|name| found.contains(name)), "{found:?}");
            assert_eq!(rtl.ports, all.ports);
            for (slot, entry) in slots().into_iter().enumerate() {
                let is_there = names.contains(&entry.name);
                assert_eq!(
                    chosen.operations()[slot],
                    is_there.then_some(entry.operation),
                    "{names:?} {slot}"
                );
                assert_eq!(chosen.catalogue()[slot].is_some(), is_there, "{names:?} {slot}");
            }
        }
    }

    #[test]
    fn choices_that_differ_have_names_that_differ() {
        let kinds: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        let choice = |bits: usize| -> Vec<&str> {
            (0..kinds.len()).filter(|at| bits >> at & 1 == 1).map(|at| kinds[at]).collect()
        };
        let names = (0..1 << kinds.len()).map(|bits| Chosen::named(&choice(bits)).unwrap().name());
        let names: BTreeSet<String> = names.collect();
        assert_eq!(names.len(), 1 << kinds.len(), "{names:?}");
        let is_plain =
            |name: &String| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        assert!(names.iter().all(is_plain), "{names:?}");
        // One choice has one name, however it is told.
        assert_eq!(Chosen::named(&kinds).unwrap().name(), Chosen::all().name());
        assert_eq!(
            Chosen::named(&["prism", "get"]).unwrap().name(),
            Chosen::named(&["get", "prism"]).unwrap().name()
        );
    }

    #[test]
    fn the_field_of_another_block_is_no_kernel() {
        let none = Chosen::named::<&str>(&[]).unwrap();
        for place in ["kernels.get", "kernels.traversals$1"] {
            assert!(none.leaves_out(place) && !Chosen::all().leaves_out(place), "{place}");
        }
        for place in ["kernels", "kernels.getter", "kernels.get.walk", "host.get", "kernels.traversals$x"] {
            assert!(!none.leaves_out(place), "{place}");
        }
    }

    #[test]
    fn a_kernel_that_there_is_not_is_told_with_those_that_there_are() {
        let error = Chosen::named(&["get", "gte"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "no kernel is called `gte`; there are consistency, get, hyperloglog, prism, shuffle, traversal"
        );
    }
}
