//! The kernel against its model.

mod cases;
mod parts;
mod scene;
mod timing;

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use stroma_abi::kernel::hyperloglog::{Action, HyperLogLog};
use stroma_kernel_models::{Invocation, Outcome, hyperloglog};
use stroma_kernel_rig::{Host, Rig};
use stroma_verilate::effort::one_width;

use super::HyperLogLogKernel;

/// Name of the sketch, unless something else is said.
const NAME: u64 = 0x0123_4567_89ab_cdef;
/// Bytes of all registers.
const ALL: u32 = 1 << 16;

thread_local! {
    /// The model of this test's kernel: it remembers, and the rig knows of functions only.
    static MODEL: RefCell<hyperloglog::Kernel> = RefCell::default();
}

fn model(invocation: &Invocation, host: &mut Host) -> Outcome {
    MODEL.with_borrow_mut(|kernel| kernel.run(invocation, host))
}

fn narrow() -> Bed<64> {
    Bed(Rig::with_writes("hyperloglog", HyperLogLogKernel::<64, 128, 1>::default, model))
}

fn wide() -> Bed<512> {
    Bed(Rig::with_writes("hyperloglog", HyperLogLogKernel::<512, 512, 4>::default, model))
}

fn of(action: Action) -> HyperLogLog {
    HyperLogLog { sketch: NAME, action: action as u8, item: 8, address: 0x1_0000, ..HyperLogLog::default() }
}

/// The rig with the kernel on it.
struct Bed<const D: usize>(Rig<D>);

impl<const D: usize> Deref for Bed<D> {
    type Target = Rig<D>;

    fn deref(&self) -> &Rig<D> {
        &self.0
    }
}

impl<const D: usize> DerefMut for Bed<D> {
    fn deref_mut(&mut self) -> &mut Rig<D> {
        &mut self.0
    }
}

impl<const D: usize> Bed<D> {
    /// Resets kernel and model: there is no sketch.
    fn restart(&mut self, seed: u64) {
        self.reset(seed);
        MODEL.take();
    }

    fn ask(&mut self, task: &HyperLogLog, payload: Vec<u8>) {
        let invocation = self.streamed(&task.to_bytes(), payload, ALL);
        self.call(invocation);
    }

    /// Asks, waits, and gives the status.
    fn answer(&mut self, task: &HyperLogLog, payload: Vec<u8>) -> u32 {
        self.ask(task, payload);
        self.settle();
        *self.told.last().expect("an answer")
    }

    /// As [`Bed::restart`], with an empty sketch, and moves counted from here.
    fn begin(&mut self, seed: u64) {
        self.restart(seed);
        assert_eq!(self.answer(&of(Action::Clear), Vec::new()), 0);
        self.moves = stroma_kernel_rig::Moves::default();
        self.told.clear();
    }

    fn noise(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect()
    }
}

#[test]
fn agrees_with_the_model() {
    cases::random_scenes(&mut narrow());
    cases::random_scenes(&mut wide());
}

#[test]
fn survives_stalls() {
    one_width(|| cases::stalls(&mut wide()), || cases::stalls(&mut narrow()));
}

#[test]
fn every_length_is_stored_and_counted_at_every_alignment() {
    cases::lengths(&mut narrow());
    cases::lengths(&mut wide());
}

#[test]
fn items_that_meet_in_a_register_in_every_cycle_are_all_counted() {
    cases::meetings(&mut narrow());
    cases::meetings(&mut wide());
}

#[test]
fn a_write_that_fails_gives_the_status_and_items_are_counted() {
    one_width(|| cases::bad_addresses(&mut wide()), || cases::bad_addresses(&mut narrow()));
}

#[test]
fn bad_parameters_are_refused_and_their_payload_is_taken() {
    cases::bad_parameters(&mut narrow());
    cases::bad_parameters(&mut wide());
}

#[test]
fn only_who_knows_the_name_has_the_sketch() {
    cases::names(&mut narrow());
    cases::names(&mut wide());
}

#[test]
fn a_sketch_is_one_domains_until_that_gives_it_up() {
    cases::domains(&mut narrow());
    cases::domains(&mut wide());
}

#[test]
fn a_sketch_outlives_work_that_is_ended_and_half_cleared_it_is_nobodys() {
    one_width(|| cases::restarts(&mut narrow()), || cases::restarts(&mut wide()));
}

#[test]
fn recovers_from_reset() {
    one_width(|| cases::resets(&mut narrow()), || cases::resets(&mut wide()));
}
