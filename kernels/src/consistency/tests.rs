//! The kernel against its model.

mod cases;
mod cycles;

use std::ops::{Deref, DerefMut};

use stroma_abi::kernel::consistency::{Consistency, OBJECT_MAX};
use stroma_kernel_client::consistency::{request, seal};
use stroma_kernel_models::consistency;
use stroma_kernel_rig::Rig;
use stroma_verilate::effort::{is_full, one_width};

use super::ConsistencyKernel;

/// Lengths without the CRC, around words, beats, reads, and what of them the CRC takes.
const SIZES: [usize; 24] = [
    8, 9, 15, 16, 17, 55, 56, 57, 63, 64, 65, 120, 121, 128, 1000, 4080, 4088, 4089, 4096, 4097, 8184,
    12_345, 16_375, 16_376,
];

const AT: u64 = 0x1_0ff3;

/// The kernel on its rig, with an object in memory.
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

fn narrow() -> Bed<64> {
    Bed(Rig::new("consistency", ConsistencyKernel::<64, 11>::default, consistency::run))
}

fn wide() -> Bed<512> {
    Bed(Rig::new("consistency", ConsistencyKernel::<512, 8>::default, consistency::run))
}

impl<const D: usize> Bed<D> {
    /// A sealed object with a content of so many bytes.
    fn object(&mut self, size: usize) -> Vec<u8> {
        let mut object: Vec<u8> = (0..size).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect();
        seal(&mut object).expect("a length");
        object
    }

    /// The same with one bit wrong.
    fn spoilt(&mut self, object: &[u8]) -> Vec<u8> {
        let bit = usize::try_from(self.rng.below(object.len() as u64 * 8)).expect("small");
        let mut object = object.to_vec();
        object[bit / 8] ^= 1 << (bit % 8);
        object
    }

    fn ask(&mut self, task: &Consistency) {
        let invocation = self.invocation(&task.to_bytes(), OBJECT_MAX);
        self.call(invocation);
    }

    /// Asks, waits, and gives the status.
    fn answer(&mut self, task: &Consistency) -> u32 {
        self.ask(task);
        self.settle();
        *self.told.last().expect("an answer")
    }
}

/// Asks for the object at [`AT`].
fn task(size: usize, attempts: u16, pause: u16) -> Consistency {
    request(AT, size, attempts, pause).expect("a length")
}

#[test]
fn agrees_with_the_model() {
    cases::random_objects(&mut narrow());
    cases::random_objects(&mut wide());
}

#[test]
fn survives_stalls() {
    one_width(|| cases::stalls(&mut wide()), || cases::stalls(&mut narrow()));
}

#[test]
fn every_size_of_object_comes_whole() {
    cases::sizes(&mut narrow());
    cases::sizes(&mut wide());
}

#[test]
fn every_bit_of_object_and_crc_is_checked() {
    cases::flips(&mut narrow());
    cases::flips(&mut wide());
}

#[test]
fn an_object_is_read_until_it_fits_and_no_oftener_than_allowed() {
    cases::attempts(&mut narrow());
    cases::attempts(&mut wide());
}

#[test]
fn a_bad_address_ends_with_its_status_at_every_piece_of_every_attempt() {
    cases::bad_addresses(&mut narrow());
    cases::bad_addresses(&mut wide());
}

#[test]
fn bad_parameters_are_refused_before_anything_is_read() {
    cases::bad_parameters(&mut narrow());
    cases::bad_parameters(&mut wide());
}

#[test]
fn recovers_from_reset() {
    one_width(|| cases::resets(&mut narrow()), || cases::resets(&mut wide()));
}

#[test]
fn pauses_end_the_attempts_when_they_take_too_long_together() {
    let mut rig = wide();
    rig.latency = (1, 2);
    let cases = [(0x8000, 3, 3), (0xffff, u16::MAX, 17), (0x8000, u16::MAX, 32)];
    // The last ends for the same reason as the one before it, and takes a million cycles too.
    for (pause, attempts, reads) in cases.into_iter().take(if is_full() { 3 } else { 2 }) {
        let before = rig.moves.reads.len();
        rig.ask(&task(8, attempts, pause));
        // Longer than the rig waits for anything to move.
        rig.run(u64::from(pause) * (reads as u64 - 1));
        rig.settle();
        assert_eq!(rig.told.last(), Some(&0x100));
        assert_eq!(rig.moves.reads.len() - before, reads, "{pause:#x}");
    }
}

#[test]
fn the_largest_number_of_attempts_is_kept() {
    let mut rig = wide();
    rig.latency = (1, 2);
    // More than a byte holds, or as many as there may be.
    let attempts = if is_full() { u16::MAX } else { 0x1ff };
    assert_eq!(rig.answer(&task(8, attempts, 0)), 0x100);
    assert_eq!(rig.moves.reads.len(), usize::from(attempts));
}
