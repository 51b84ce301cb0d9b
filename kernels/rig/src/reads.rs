//! Reads of a kernel: taken, held against the contract of the slot, and answered late with what memory held when they came.

use std::collections::VecDeque;

use stroma_abi::desc::SlotCommand as Head;
use stroma_hw::slot::{Ending, SlotData, SlotRead, TRANSFER_MAX, slot_data};
use stroma_hw::testing::{collect, push};
use stroma_kernel_models::{Failure, Memory};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Host;

pub(super) struct Reads<const D: usize> {
    read: SinkId,
    read_data: SourceId,
    /// Data of reads, when they are due, and of which ticket.
    answers: VecDeque<(u64, u64, Vec<SlotData<D>>)>,
    /// Beats on their way to the kernel: of which ticket, and is it the last of its read?
    under_way: VecDeque<(u64, bool)>,
}

impl<const D: usize> Reads<D> {
    /// None if the kernel has no such streams.
    pub(super) fn new(bench: &mut Bench) -> Option<Self> {
        let (read, read_data) = (bench.sink("read").ok()?, bench.source("read_data").ok()?);
        Some(Self { read, read_data, answers: VecDeque::new(), under_way: VecDeque::new() })
    }

    pub(super) fn reset(&mut self, bench: &mut Bench) {
        bench[self.read].take();
        self.answers.clear();
        self.under_way.clear();
    }

    pub(super) fn pause(&mut self, bench: &mut Bench, read: Pause, read_data: Pause) {
        bench[self.read].pause(read);
        bench[self.read_data].pause(read_data);
    }

    pub(super) fn sink(&self) -> SinkId {
        self.read
    }

    /// Is a read of that invocation open?
    pub(super) fn has(&self, ticket: u64) -> bool {
        let answers = self.answers.iter().map(|(_, of, _)| of);
        answers.chain(self.under_way.iter().map(|(of, _)| of)).any(|of| *of == ticket)
    }

    /// Beats that the kernel has taken.
    pub(super) fn sent(&self, bench: &Bench) -> u64 {
        bench[self.read_data].sent()
    }

    /// The kernel took a beat: was it the last of its read?
    pub(super) fn note_beat(&mut self) -> bool {
        let (_, is_last) = self.under_way.pop_front().expect("a beat was queued");
        is_last
    }

    /// After a cycle: how many reads moved. `head` knows the open invocation of a ticket, and `latency` how long a read takes.
    pub(super) fn step(
        &mut self,
        bench: &mut Bench,
        host: &mut Host,
        rng: &mut SplitMix64,
        head: impl Fn(u64) -> Option<Head>,
        has_own_keys: bool,
        latency: impl Fn(&mut SplitMix64) -> u64,
    ) -> usize {
        let now = bench.cycle() - 1;
        let reads = collect::<SlotRead>(bench, self.read);
        for read in &reads {
            let head =
                head(read.ticket.into()).unwrap_or_else(|| panic!("nobody has the ticket of {read:?}"));
            assert!(has_own_keys || read.key == u64::from(head.key), "key of a read");
            let len = read.len.index();
            assert!((1..=TRANSFER_MAX).contains(&len), "a read of {len} bytes");
            let key = u32::try_from(u64::from(read.key)).expect("32 bits");
            let beats = match host.read(key, read.va.into(), len) {
                Ok(bytes) => slot_data(&bytes, Ending::Good),
                Err(failure) => {
                    let len = 1 + rng.below(len as u64);
                    let noise: Vec<u8> = (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
                    let ending = if failure == Failure::Refused { Ending::Refused } else { Ending::Failed };
                    slot_data(&noise, ending)
                }
            };
            self.answers.push_back((now + latency(rng), read.ticket.into(), beats));
        }
        while self.answers.front().is_some_and(|(due, _, _)| *due <= now) {
            let (_, ticket, beats) = self.answers.pop_front().expect("it is there");
            self.under_way.extend(beats.iter().map(|beat| (ticket, beat.eop)));
            push(bench, self.read_data, &beats);
        }
        reads.len()
    }
}
