//! The kernel against its model.

mod cases;
mod cycles;
mod hostile;
mod scene;

use std::cell::RefCell;

use stroma_abi::kernel::prism::{
    Chain, Comparison, FreeList, Kind, LINE, Operands, Operation, Outcome as End, Report, Stage,
};
use stroma_kernel_models::{Invocation, Outcome, prism};
use stroma_kernel_rig::{Host, Rig};
use stroma_verilate::effort::one_width;

use super::PrismKernel;

thread_local! {
    /// What the model has answered since it was last asked.
    static ANSWERS: RefCell<Vec<Outcome>> = const { RefCell::new(Vec::new()) };
}

fn twin(invocation: &Invocation, host: &mut Host) -> Outcome {
    let outcome = prism::run(invocation, host);
    ANSWERS.with_borrow_mut(|answers| answers.push(outcome.clone()));
    outcome
}

/// The reports of all answers since this was last called; the kernel gave the same.
fn reports() -> Vec<[Report; 4]> {
    let answers = ANSWERS.with_borrow_mut(std::mem::take);
    let report = |answer: &Outcome, at: usize| Report::parse(&answer.data[at * Report::LEN..]);
    let four = |answer: Outcome| std::array::from_fn(|at| report(&answer, at).expect("a report"));
    answers.into_iter().filter(|answer| answer.status == 0).map(four).collect()
}

fn outcomes(reports: &[Report; 4]) -> [u8; 4] {
    reports.map(|report| report.outcome)
}

fn rig<const D: usize, const LOG: usize>() -> Rig<D> {
    let mut rig = Rig::with_writes("prism", PrismKernel::<D, LOG>::default, twin);
    rig.has_own_keys = true;
    rig
}

/// An operation, and its data.
type Item = (Operation, Vec<u8>);

const TARGET: u64 = 0x1_0003;
const POINTER: u64 = 0x2_0ffa;
const LIST: u64 = 0x3_0010;
const RING: u64 = 0x4_0ffc;
const BUFFERS: u64 = 0x5_0001;
const ASIDE: u64 = 0x6_0ffd;

fn read(address: u64, length: u32) -> Item {
    (Operation { kind: Kind::Read as u8, address, length, ..Operation::default() }, Vec::new())
}

fn write(address: u64, data: &[u8]) -> Item {
    let length = u32::try_from(data.len()).expect("small");
    (Operation { kind: Kind::Write as u8, address, length, ..Operation::default() }, data.to_vec())
}

fn swap(address: u64, length: u32, comparison: Comparison, operands: &Operands) -> Item {
    let operation = Operation {
        kind: Kind::CompareAndSwap as u8,
        comparison: comparison as u8,
        address,
        length,
        ..Operation::default()
    };
    (operation, operands.to_bytes().to_vec())
}

fn allocate(address: u64, data: &[u8]) -> Item {
    let (operation, data) = write(address, data);
    (Operation { kind: Kind::Allocate as u8, ..operation }, data)
}

fn with(item: Item, change: impl FnOnce(&mut Operation)) -> Item {
    let (mut operation, data) = item;
    change(&mut operation);
    (operation, data)
}

/// Operands that hold against anything: all bits are swapped.
fn always(swap: u64) -> Operands {
    let swap = std::array::from_fn(|at| swap.to_le_bytes()[at % 8]);
    Operands { swap, swap_mask: [0xff; 32], ..Operands::default() }
}

/// What is asked of the kernel here.
trait Chains {
    /// A list of 16 places at [`LIST`], with `free` buffers of 5000 bytes behind `head`.
    fn free_buffers(&mut self, head: u64, free: u64);
    /// Under the memory's key; data stand behind the operations, each in its lines.
    fn chain_of(&mut self, items: &[Item]) -> Invocation;
    fn ask_chain(&mut self, items: &[Item]);
    /// Asks, waits, and gives the reports.
    fn run_chain(&mut self, items: &[Item]) -> [Report; 4];
    fn word_at(&self, va: u64) -> u64;
}

impl<const D: usize> Chains for Rig<D> {
    fn free_buffers(&mut self, head: u64, free: u64) {
        let tail = head.wrapping_add(free);
        let list = FreeList { head, tail, ring: RING, buffer_length: 5000, places_log: 4 };
        self.host.put(LIST, &list.to_bytes());
        let buffers: Vec<u64> = (0..16).map(|at| BUFFERS + (at << 13)).collect();
        self.host.store(RING, &buffers);
    }

    fn chain_of(&mut self, items: &[Item]) -> Invocation {
        let key = self.host.key;
        let (mut operations, mut data) = (Vec::new(), Vec::new());
        for (operation, own) in items {
            let line = items.len() + data.len() / LINE;
            let data_line = u8::try_from(line).expect("within the payload");
            operations.extend(Operation { key, aside_key: key, data_line, ..*operation }.to_bytes());
            data.extend(own);
            data.resize(data.len().next_multiple_of(LINE), 0x5a);
        }
        operations.extend(data);
        let count = u8::try_from(items.len()).expect("few");
        let mut invocation = self.streamed(&Chain { count }.to_bytes(), operations, 1 << 16);
        // The key of the command does not count.
        invocation.command.key = self.rng.next_u32();
        invocation
    }

    fn ask_chain(&mut self, items: &[Item]) {
        let invocation = self.chain_of(items);
        self.call(invocation);
    }

    fn run_chain(&mut self, items: &[Item]) -> [Report; 4] {
        reports();
        self.ask_chain(items);
        self.settle();
        *reports().last().expect("an answer")
    }

    fn word_at(&self, va: u64) -> u64 {
        u64::from_le_bytes(self.host.bytes(va, 8).try_into().expect("eight bytes"))
    }
}

#[test]
fn agrees_with_the_model() {
    scene::random(&mut rig::<64, 12>());
    scene::random(&mut rig::<512, 9>());
}

#[test]
fn survives_stalls() {
    one_width(|| scene::stalls(&mut rig::<512, 9>()), || scene::stalls(&mut rig::<64, 12>()));
}

#[test]
fn every_size_is_read_written_and_appended_whole() {
    cases::sizes(&mut rig::<64, 12>());
    cases::sizes(&mut rig::<512, 9>());
}

#[test]
fn swaps_of_every_width_compare_and_replace_under_masks() {
    cases::swaps(&mut rig::<64, 12>());
    cases::swaps(&mut rig::<512, 9>());
}

#[test]
fn four_of_the_longest_reads_fill_one_answer() {
    cases::longest(&mut rig::<64, 12>());
    cases::longest(&mut rig::<512, 9>());
}

#[test]
fn each_call_allocates_exactly_once() {
    cases::allocations(&mut rig::<64, 12>());
    cases::allocations(&mut rig::<512, 9>());
}

#[test]
fn swaps_of_many_callers_count_every_one() {
    cases::counters(&mut rig::<64, 12>());
    cases::counters(&mut rig::<512, 9>());
}

#[test]
fn a_value_is_appended_and_published_in_one_request() {
    cases::publication(&mut rig::<64, 12>());
    cases::publication(&mut rig::<512, 9>());
}

#[test]
fn a_bad_address_ends_the_chain_with_its_stage() {
    hostile::bad_addresses(&mut rig::<64, 12>());
    hostile::bad_addresses(&mut rig::<512, 9>());
}

#[test]
fn each_dma_is_under_its_own_key() {
    hostile::keys(&mut rig::<64, 12>());
    hostile::keys(&mut rig::<512, 9>());
}

#[test]
fn bad_requests_are_refused_before_anything_is_touched() {
    hostile::bad_requests(&mut rig::<64, 12>());
    hostile::bad_requests(&mut rig::<512, 9>());
}

#[test]
fn recovers_from_reset() {
    one_width(|| hostile::resets(&mut rig::<64, 12>()), || hostile::resets(&mut rig::<512, 9>()));
}
