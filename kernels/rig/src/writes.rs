//! Writes of a kernel: taken, held against the contract of the slot, carried out late, and told.

use std::collections::VecDeque;

use stroma_abi::desc::SlotCommand as Head;
use stroma_hw::slot::{Ending, SlotDone, SlotWrite, TRANSFER_MAX};
use stroma_hw::stream::{Beat, beats, bytes};
use stroma_hw::testing::{collect, push};
use stroma_kernel_models::{Failure, Memory};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Host;

/// A write whose data have all come.
struct Whole {
    due: u64,
    write: SlotWrite,
    bytes: Vec<u8>,
}

/// Takes the data of a write after the write itself, and changes memory when it tells of it: a kernel that counts on more is
/// found out.
pub(super) struct Writes<const D: usize> {
    write: SinkId,
    write_data: SinkId,
    write_done: SourceId,
    /// When the streams pause, beside the times in which nothing can be taken.
    pauses: [Pause; 2],
    is_held: [bool; 2],
    /// Without all of their data.
    asked: VecDeque<SlotWrite>,
    packet: Vec<Beat<D>>,
    whole: VecDeque<Whole>,
    /// Tickets of those that are told of, but not yet taken note of.
    told: VecDeque<u64>,
}

/// What moved in a cycle: the sizes of writes, and beats of data.
#[derive(Default)]
pub(super) struct Moved {
    pub(super) sizes: Vec<usize>,
    pub(super) beats: usize,
}

impl<const D: usize> Writes<D> {
    pub(super) fn new(bench: &mut Bench) -> Self {
        let [write, write_data] =
            ["write", "write_data"].map(|name| bench.sink(name).expect("the stream exists"));
        Self {
            write,
            write_data,
            write_done: bench.source("write_done").expect("the stream exists"),
            pauses: [Pause::None, Pause::None],
            is_held: [false; 2],
            asked: VecDeque::new(),
            packet: Vec::new(),
            whole: VecDeque::new(),
            told: VecDeque::new(),
        }
    }

    pub(super) fn reset(&mut self, bench: &mut Bench) {
        bench[self.write].take();
        bench[self.write_data].take();
        self.asked.clear();
        self.packet.clear();
        self.whole.clear();
        self.told.clear();
    }

    pub(super) fn pause(&mut self, bench: &mut Bench, write: Pause, write_data: Pause, write_done: Pause) {
        bench[self.write_done].pause(write_done);
        bench[self.write].pause(write.clone());
        bench[self.write_data].pause(write_data.clone());
        self.pauses = [write, write_data];
        self.is_held = [false; 2];
    }

    pub(super) fn sinks(&self) -> [SinkId; 2] {
        [self.write, self.write_data]
    }

    /// Before a cycle: no more than `outstanding` writes are open, and data wait for their write.
    pub(super) fn hold(&mut self, bench: &mut Bench, outstanding: usize) {
        let open = self.asked.len() + self.whole.len() + self.told.len();
        let holds = [open >= outstanding, self.asked.is_empty()];
        for (at, sink) in [self.write, self.write_data].into_iter().enumerate() {
            if holds[at] != self.is_held[at] {
                bench[sink].pause(if holds[at] { Pause::Always } else { self.pauses[at].clone() });
            }
        }
        self.is_held = holds;
    }

    /// Is a write of that invocation open?
    pub(super) fn has(&self, ticket: u64) -> bool {
        let asked = self.asked.iter().chain(self.whole.iter().map(|whole| &whole.write));
        asked.map(|write| u64::from(write.ticket)).chain(self.told.iter().copied()).any(|one| one == ticket)
    }

    /// Writes that the kernel has taken note of.
    pub(super) fn sent(&self, bench: &Bench) -> u64 {
        bench[self.write_done].sent()
    }

    /// The kernel took note of a write.
    pub(super) fn note_done(&mut self) {
        self.told.pop_front().expect("it was queued");
    }

    /// After a cycle. `head` knows the open invocation of a ticket, and `latency` how long a write takes.
    pub(super) fn step(
        &mut self,
        bench: &mut Bench,
        host: &mut Host,
        rng: &mut SplitMix64,
        head: impl Fn(u64) -> Option<Head>,
        has_own_keys: bool,
        latency: impl Fn(&mut SplitMix64) -> u64,
    ) -> Moved {
        let now = bench.cycle() - 1;
        let mut moved = Moved::default();
        for write in collect::<SlotWrite>(bench, self.write) {
            let head =
                head(write.ticket.into()).unwrap_or_else(|| panic!("nobody has the ticket of {write:?}"));
            assert!(has_own_keys || write.key == u64::from(head.key), "key of a write");
            let len = write.len.index();
            assert!((1..=TRANSFER_MAX).contains(&len), "a write of {len} bytes");
            moved.sizes.push(len);
            self.asked.push_back(write);
        }
        for beat in collect::<Beat<D>>(bench, self.write_data) {
            moved.beats += 1;
            self.packet.push(beat);
            if beat.eop {
                let packet = std::mem::take(&mut self.packet);
                let bytes = bytes(&packet);
                assert_eq!(packet, beats::<D>(&bytes), "beats of a write");
                let write = self.asked.pop_front().expect("data wait for their write");
                assert_eq!(bytes.len(), write.len.index(), "bytes of a write");
                self.whole.push_back(Whole { due: now + latency(rng), write, bytes });
            }
        }
        while self.whole.front().is_some_and(|whole| whole.due <= now) {
            let Whole { write, bytes, .. } = self.whole.pop_front().expect("it is there");
            let key = u32::try_from(u64::from(write.key)).expect("32 bits");
            let ending = match host.write(key, write.va.into(), &bytes) {
                Ok(()) => Ending::Good,
                Err(Failure::Refused) => Ending::Refused,
                Err(Failure::Host) => Ending::Failed,
            };
            self.told.push_back(write.ticket.into());
            push(bench, self.write_done, &[SlotDone { err: (ending as u64).into() }]);
        }
        moved
    }
}
