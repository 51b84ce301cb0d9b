//! A tenant who may call and is hostile: it has tasks of another tenant of the called card, with the addresses of that one,
//! with keys of either, with changed bytes. The other tenant calls beside it, and its memory and answers are as the
//! models say; what the stranger gets has nothing of the other's.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use stroma_abi::desc::Parameters;
use stroma_abi::regs::map::counters;
use stroma_abi::wire::RpcStatus;
use stroma_tests::calls::{ANSWER, Calls};
use stroma_tests::effort::{seeds, share};
use stroma_tests::pair::LIMIT;
use stroma_top::Profile;
use stroma_verbs::{
    Access, CompletionQueue, KernelLimits, MemoryRegion, QueuePair, QueuePairKind, Status, WorkCompletion,
};
use stroma_verilate::SplitMix64;

use crate::copy::Copy;
use crate::faults::round;
use crate::tasks::{Field, MEMORY, Task, VALUES};

/// Rounds of both tenants, and calls of each in a round.
const ROUNDS: usize = 48;
const AT_ONCE: usize = 6;
/// Bytes for a request of the stranger, and for its answer.
const ROOM: usize = ANSWER;
/// Cycles that an invocation may take: some of the stranger's would walk for ever.
const LIMIT_OF_KERNELS: u32 = 60_000;

/// Where the other tenant has what the stranger must not get.
const SECRET: Range<usize> = VALUES..VALUES + 0x8000;

/// The secret, by eight bytes, but for those that the stranger has in its own memory.
fn secrets(calls: &Calls, own: &[u8]) -> HashSet<[u8; 8]> {
    let secret = calls.bytes(1, SECRET.start, SECRET.len());
    let mut secrets: HashSet<[u8; 8]> =
        secret.windows(8).filter_map(|window| window.try_into().ok()).collect();
    for window in own.windows(8) {
        secrets.remove(window);
    }
    assert!(secrets.len() > SECRET.len() / 2, "the stranger has the secret");
    secrets
}

/// The stranger's objects, at both ends.
struct Stranger<'a> {
    calls: &'a Calls,
    ends: [QueuePair; 2],
    completions: Arc<CompletionQueue>,
    /// Requests and answers.
    room: MemoryRegion,
    /// Its memory at the called end: what the other tenant has in its own, pointers included, but for the values.
    memory: MemoryRegion,
    secrets: HashSet<[u8; 8]>,
    /// Calls that ended well, that a kernel refused, that had no access, that the card refused.
    ends_of_calls: [usize; 4],
}

impl<'a> Stranger<'a> {
    fn new(calls: &'a Calls) -> Self {
        let [near, far] = &calls.pair.ends;
        let completions = near.device.completion_queue(64).expect("a completion queue");
        let domain = far.device.protection_domain().expect("a domain");
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::RPC;
        let memory = domain.allocate(MEMORY, rights).expect("memory");
        let mut content = calls.bytes(1, 0, MEMORY);
        content[SECRET].fill(0);
        memory.write(0, &content).expect("inside the memory");
        let make = |builder: stroma_verbs::QueuePairBuilder| {
            let builder = builder.kind(QueuePairKind::Reliable).result_bytes(ANSWER);
            builder.send_units(256).build().expect("a queue pair")
        };
        let ends = [make(near.domain.queue_pair(&completions)), make(domain.queue_pair(&far.completions))];
        let room = near.domain.allocate(2 * AT_ONCE * ROOM, Access::LOCAL_WRITE).expect("memory");
        let mut stranger = Self {
            calls,
            ends,
            completions,
            room,
            memory,
            secrets: secrets(calls, &content),
            ends_of_calls: [0; 4],
        };
        stranger.connect();
        stranger
    }

    fn connect(&mut self) {
        self.calls.pair.join(self.ends.each_ref(), |_, connection| {
            connection.rights = connection.rights | Access::RPC;
            (connection.path_mtu, connection.timeout) = (1, 8);
        });
    }

    /// Another tenant's task, as this one would have it.
    fn spoil(&self, task: &Task, rng: &mut SplitMix64) -> Task {
        let mut parameters = task.parameters.as_bytes().to_vec();
        let mut payload = task.payload.clone();
        if rng.below(4) > 0 {
            self.move_in(&mut parameters);
            self.move_in(&mut payload);
        }
        for _ in 0..rng.below(4) / 2 {
            change(&mut parameters, rng);
            change(&mut payload, rng);
        }
        if rng.below(8) == 0 {
            payload.truncate(payload.len() / 2);
        }
        let mut target = task.target;
        if rng.below(8) == 0 {
            target.operation = u16::try_from(rng.below(9)).expect("small");
        }
        if rng.below(4) == 0 {
            target.response_max = [0, 1, 8, 65_536][usize::try_from(rng.below(4)).expect("small")];
        }
        let parameters = Parameters::new(&parameters).expect("as many words as before");
        Task { target, parameters, payload }
    }

    /// Addresses and keys of the other tenant become those of this one's own copy.
    fn move_in(&self, bytes: &mut [u8]) {
        let (theirs, ours) = (self.calls.at(0), self.memory.address(0).expect("inside the memory"));
        for at in (0..bytes.len().saturating_sub(3)).step_by(4) {
            if let Some(word) = bytes[at..].first_chunk_mut::<8>() {
                let offset = u64::from_le_bytes(*word).wrapping_sub(theirs);
                if offset < MEMORY as u64 {
                    *word = (ours + offset).to_le_bytes();
                }
            }
            let key = bytes[at..].first_chunk_mut::<4>().expect("four bytes are left");
            if *key == self.calls.key().to_le_bytes() {
                *key = self.memory.rkey().to_le_bytes();
            }
        }
    }

    /// Posts some calls; how many.
    fn post(&self, tasks: &[Task], rng: &mut SplitMix64) -> usize {
        let mut batch = self.ends[0].start();
        let piece = |at: usize, bytes: usize| self.room.piece(at, bytes).expect("inside the memory");
        for (index, task) in tasks.iter().enumerate() {
            let (request, answer) = (2 * index * ROOM, (2 * index + 1) * ROOM);
            let own = self.memory.rkey();
            let key = match rng.below(8) {
                0 => self.calls.key(),
                1 => [0, rng.next_u32()][usize::from(rng.below(2) == 0)],
                _ => own,
            };
            let bytes = [task.parameters.as_bytes(), &task.payload].concat();
            self.room.write(request, &bytes).expect("inside the memory");
            let result = piece(answer, task.target.response_max as usize);
            batch = batch.wr_id(index as u64).signaled();
            batch = if task.payload.is_empty() {
                batch.rpc(result, &task.target, key, task.parameters)
            } else {
                batch.rpc_write(result, &task.target, key, &[piece(request, bytes.len())])
            };
        }
        batch.post().expect("room in the queue");
        tasks.len()
    }

    /// Waits for so many calls, the oldest first.
    fn finish(&mut self, count: usize, story: &str) {
        let mut has_failed = false;
        for wr_id in 0..count as u64 {
            let found = self.complete(story);
            assert_eq!(found.wr_id, wr_id, "{story}: {found:?}");
            assert_eq!(has_failed, found.status == Status::Flushed, "{story}: {found:?}");
            has_failed |= found.status != Status::Success;
            let kind = match found.rpc {
                Some(0) => 0,
                Some(status) if status >= RpcStatus::KERNEL => 1,
                Some(_) => 2,
                None => 3,
            };
            self.ends_of_calls[kind] += 1;
            let at = usize::try_from(2 * wr_id + 1).expect("small") * ROOM;
            let mut answer = vec![0; found.length as usize];
            self.room.read(at, &mut answer).expect("inside the memory");
            let leak = answer.windows(8).position(|window| self.secrets.contains(window));
            assert!(leak.is_none(), "{story}: byte {leak:?} of {found:?} is the other tenant's");
        }
        if has_failed {
            self.ends.iter().for_each(|end| end.reset().expect("a reset"));
            self.connect();
        }
    }

    fn complete(&self, story: &str) -> WorkCompletion {
        let last = self.calls.pair.now() + LIMIT;
        let mut found = [WorkCompletion::default()];
        while self.completions.poll(&mut found).expect("entries with a sense") == 0 {
            assert!(self.calls.pair.now() < last, "{story}: a call of the stranger is never over");
        }
        found[0]
    }
}

/// Changes a word: to one of the ends of its range, a little, or to any.
fn change(bytes: &mut [u8], rng: &mut SplitMix64) {
    if bytes.is_empty() {
        return;
    }
    let at = usize::try_from(rng.below(bytes.len() as u64)).expect("small");
    match rng.below(4) {
        0 => bytes[at] = 0,
        1 => bytes[at] = 0xff,
        2 => bytes[at] ^= 1 << rng.below(8),
        _ => bytes[at] = rng.next_u64().to_le_bytes()[0],
    }
}

fn beside(profile: Profile, seed: u64) {
    let calls = Calls::new(profile, MEMORY, |connection| connection.timeout = 8);
    let limits = calls.pair.ends[1].device.kernel_limits().expect("registers");
    let limits = KernelLimits { limit: LIMIT_OF_KERNELS, ..limits };
    calls.pair.ends[1].device.set_kernel_limits(limits).expect("registers");
    let (mut field, mut rng) = (Field::new(&calls), SplitMix64::new(seed));
    let mut copy = Copy::of(&calls, MEMORY);
    let mut stranger = Stranger::new(&calls);
    round(&calls, &mut copy, &[Field::first()], &mut rng);
    for number in 0..share(ROUNDS) {
        let story = format!("{profile:?}, seed {seed:#x}, round {number}");
        // What the stranger has seen of the other's calls.
        let mut other = field.clone();
        let stolen: Vec<Task> =
            (0..AT_ONCE).map(|_| stranger.spoil(&other.task(&mut rng), &mut rng)).collect();
        let posted = stranger.post(&stolen, &mut rng);
        let tasks: Vec<Task> = (0..AT_ONCE).map(|_| field.task(&mut rng)).collect();
        round(&calls, &mut copy, &tasks, &mut rng);
        stranger.finish(posted, &story);
    }
    copy.check(&calls);
    let story = format!("{profile:?}, seed {seed:#x}");
    assert!(
        stranger.ends_of_calls[..3].iter().all(|count| *count > 3),
        "{story}: {:?}",
        stranger.ends_of_calls
    );
    assert_eq!(calls.pair.ends[1].count(&counters::DMA_ERRORS), 0, "{story}");
    let faults = calls.pair.shared.world().card(1).iommu().faults().len();
    assert_eq!(faults, 0, "{story}: nothing else was touched");
}

#[test]
fn a_stranger_with_the_right_to_call_neither_reads_nor_changes_nor_holds_up_another_tenant_10g() {
    for seed in seeds(&[0xc1, 0xc2]) {
        beside(Profile::TenGig, *seed);
    }
}

#[test]
fn a_stranger_with_the_right_to_call_neither_reads_nor_changes_nor_holds_up_another_tenant_100g() {
    for seed in seeds(&[0xc3, 0xc4]) {
        beside(Profile::HundredGig, *seed);
    }
}
