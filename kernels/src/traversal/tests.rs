//! The kernel against its model.

mod cases;
mod scene;

use stroma_abi::kernel::traversal::{Traversal, VALUE_MAX};
use stroma_kernel_models::traversal;
use stroma_kernel_rig::Rig;
use stroma_verilate::effort::one_width;

use super::TraversalKernel;

/// Sizes around beats and reads.
const SIZES: [u32; 12] = [0, 1, 8, 63, 64, 65, 511, 4095, 4096, 4097, 12_345, VALUE_MAX];

fn rig<const D: usize>() -> Rig<D> {
    Rig::new("traversal", TraversalKernel::<D>::default, traversal::run)
}

/// A list of three elements of four words at odd addresses: key, next, value, another value. Keys are 10, 20, 30.
const AT: [u64; 3] = [0x1_0003, 0x2_0ffd, 0x3_0010];
const VALUES: [u64; 3] = [0x10_0001, 0x20_0ff0, 0x30_0000];

fn list() -> Traversal {
    Traversal {
        root: AT[0],
        sought: 30,
        mask: u64::MAX,
        value_length: 100,
        hop_limit: 3,
        key_words: 1,
        element_words: 4,
        next_at: 1,
        value_at: 2,
        ..Traversal::default()
    }
}

/// What is asked of the kernel here.
trait Lists {
    /// Stores the list.
    fn fill(&mut self);
    fn ask(&mut self, task: &Traversal);
    /// Asks, waits, and gives the status.
    fn answer(&mut self, task: &Traversal) -> u32;
}

impl<const D: usize> Lists for Rig<D> {
    fn fill(&mut self) {
        for (at, key) in [10, 20, 30].into_iter().enumerate() {
            let next = AT.get(at + 1).copied().unwrap_or(0);
            self.host.store(AT[at], &[key, next, VALUES[at], 0x77_0000]);
        }
    }

    fn ask(&mut self, task: &Traversal) {
        let invocation = self.invocation(&task.to_bytes(), VALUE_MAX);
        self.call(invocation);
    }

    fn answer(&mut self, task: &Traversal) -> u32 {
        self.ask(task);
        self.settle();
        *self.told.last().expect("an answer")
    }
}

#[test]
fn agrees_with_the_model() {
    cases::random_scenes(&mut rig::<64>());
    cases::random_scenes(&mut rig::<512>());
}

#[test]
fn survives_stalls() {
    one_width(|| cases::stalls(&mut rig::<512>()), || cases::stalls(&mut rig::<64>()));
}

#[test]
fn every_size_of_value_comes_whole() {
    cases::sizes(&mut rig::<64>());
    cases::sizes(&mut rig::<512>());
}

#[test]
fn every_predicate_judges_under_every_mask() {
    cases::predicates(&mut rig::<64>());
    cases::predicates(&mut rig::<512>());
}

#[test]
fn a_bad_address_ends_with_its_status_at_every_stage() {
    one_width(|| cases::bad_addresses(&mut rig::<512>()), || cases::bad_addresses(&mut rig::<64>()));
}

#[test]
fn bad_parameters_are_refused_before_anything_is_read() {
    cases::bad_parameters(&mut rig::<64>());
    cases::bad_parameters(&mut rig::<512>());
}

#[test]
fn circles_end_with_the_limit() {
    cases::circles(&mut rig::<64>());
    cases::circles(&mut rig::<512>());
}

#[test]
fn recovers_from_reset() {
    one_width(|| cases::resets(&mut rig::<64>()), || cases::resets(&mut rig::<512>()));
}

#[test]
fn the_largest_limit_of_hops_is_kept() {
    let mut rig = rig::<512>();
    rig.latency = (1, 2);
    rig.host.store(AT[0], &[10, AT[0], VALUES[0], 0]);
    assert_eq!(rig.answer(&Traversal { hop_limit: u16::MAX, ..list() }), 3);
    assert_eq!(rig.moves.reads.len(), usize::from(u16::MAX));
}

/// Cycles from each to the next.
fn gaps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_hop_takes_five_cycles_beside_its_read() {
    let mut rig = rig::<512>();
    rig.reset(1);
    rig.fill();
    rig.answer(&Traversal { value_length: 20_000, ..list() });
    let moves = &rig.moves;
    assert_eq!(moves.reads[0] - moves.commands[0], 3, "to the first element");
    assert_eq!(moves.reads[1] - moves.read_ends[0], 5, "to the second");
    assert_eq!(moves.reads[2] - moves.read_ends[1], 5, "to the third");
    assert_eq!(moves.reads[3] - moves.read_ends[2], 6, "to the value");
    assert_eq!(gaps(&moves.reads[3..]), [1; 4], "its reads follow each other");
    assert_eq!(moves.beats_out[0] - moves.beats_in[3], 1, "through the kernel");
    assert_eq!(gaps(&moves.beats_out), vec![1; 20_000_usize.div_ceil(64) - 1], "a beat in each cycle");
    assert_eq!(moves.responses[0] - moves.beats_out.last().expect("beats"), 3, "to the answer");
}

#[test]
fn a_command_is_taken_a_cycle_after_the_answer_to_the_one_before_it() {
    let mut rig = rig::<512>();
    rig.reset(1);
    rig.fill();
    for _ in 0..16 {
        rig.ask(&Traversal { sought: 10, value_length: 0, ..list() });
    }
    rig.settle();
    let moves = &rig.moves;
    for at in 1..16 {
        assert_eq!(moves.commands[at] - moves.responses[at - 1], 1, "the next is taken");
        assert_eq!(moves.reads[at] - moves.commands[at], 3, "and begins");
        assert_eq!(moves.responses[at] - moves.read_ends[at], 4, "from the element to the answer");
    }
    let before = rig.moves.responses.len();
    rig.ask(&Traversal { hop_limit: 0, ..list() });
    rig.settle();
    assert_eq!(rig.moves.responses[before] - rig.moves.commands[before], 2, "refused");
}
