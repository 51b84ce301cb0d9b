//! Stories that hold on every card: a fake, a simulated or a real one. Each takes a card that nobody else uses, and
//! panics when the card or the driver does not keep its promise.
//!
//! `stroma_verbs::scenarios!(expression)` makes a test of each; the expression gives a fresh `Arc<dyn Backend>`.

#![expect(
    clippy::missing_panics_doc,
    reason = "a story panics when a promise is not kept; the opening says so"
)]

mod errors;
mod events;
mod memory;
mod requests;
mod threads;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use stroma_device::Backend;

use crate::{
    Access, CompletionQueue, Device, MemoryRegion, ProtectionDomain, QueuePair, Status, WorkCompletion,
};

/// The longest that a story waits for one thing. A simulated card on a busy machine is slow.
const PATIENCE: Duration = Duration::from_mins(2);
/// A card that has nothing to say is listened to for so long.
const SILENCE: Duration = Duration::from_millis(30);

macro_rules! stories {
    ($dollar:tt $($module:ident: $($name:ident)*;)*) => {
        $(pub use $module::{$($name),*};)*

        /// Every story, by name.
        pub const ALL: &[(&str, fn(Arc<dyn Backend>))] = &[$($((stringify!($name), $name)),*),*];

        /// Makes a test of each story, on a card of its own.
        #[macro_export]
        macro_rules! scenarios {
            ($dollar backend:expr) => {
                $($(#[test]
                fn $name() {
                    $dollar crate::scenarios::$name($dollar backend);
                })*)*
            };
        }
    };
}

stories! { $
    requests:
        a_nop_completes_with_its_number
        gather_and_scatter_move_pieces_in_order
        inline_data_is_taken_when_it_is_posted
        rings_wrap_and_phases_flip
        a_full_queue_refuses_until_its_completions_are_polled
        requests_of_a_batch_complete_in_order
        unsignaled_requests_complete_with_the_next_signaled_one
        a_push_does_what_a_doorbell_does
        a_reset_queue_pair_begins_anew;
    memory:
        page_lists_of_every_size_find_the_same_bytes
        a_region_of_some_bytes_opens_no_others
        a_dead_key_opens_nothing
        a_region_registered_again_keeps_its_key
        memory_comes_back_whole
        queues_on_different_pages_work_side_by_side;
    errors:
        a_wrong_key_fails_and_flushes_what_is_behind
        rights_and_domains_are_kept
        wrong_changes_of_state_are_refused_and_change_nothing
        posting_needs_a_state_that_takes_requests
        a_queue_pair_that_ends_takes_its_completions_along
        an_overflowing_completion_queue_is_told;
    events:
        a_channel_wakes_a_sleeper
        a_completion_before_the_request_for_an_event_is_told
        a_completion_before_the_request_for_new_ones_is_not_told
        solicited_events_leave_successes_alone
        moderated_events_wait_for_company_or_for_their_time
        two_channels_hear_their_own_queues
        many_events_go_round_the_event_queue;
    threads:
        four_threads_share_a_queue_pair
        four_threads_have_queue_pairs_of_their_own
        four_threads_make_and_end_objects;
}

/// A device with one of everything.
struct Bench {
    device: Arc<Device>,
    domain: Arc<ProtectionDomain>,
    memory: MemoryRegion,
    completions: Arc<CompletionQueue>,
    queue_pair: QueuePair,
}

impl Bench {
    /// Queues of at least so many units and entries, and 64 KiB of memory; the queue pair is ready to send.
    fn new(backend: Arc<dyn Backend>, units: usize, entries: usize) -> Self {
        let device = Device::builder().timeout(PATIENCE).open(backend).unwrap();
        let domain = device.protection_domain().unwrap();
        let memory = domain.allocate(1 << 16, Access::LOCAL_WRITE).unwrap();
        let completions = device.completion_queue(entries).unwrap();
        let queue_pair = domain.queue_pair(&completions).send_units(units).build().unwrap();
        queue_pair.activate().unwrap();
        Self { device, domain, memory, completions, queue_pair }
    }

    /// The next completion.
    fn complete(&self) -> WorkCompletion {
        collect(&self.completions, 1)[0]
    }

    /// Posts a NOP, and waits for it.
    fn round_trip(&self) {
        self.queue_pair.start().wr_id(0xabcd).signaled().nop().post().unwrap();
        let found = self.complete();
        assert_eq!((found.wr_id, found.status), (0xabcd, Status::Success));
    }

    fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read(offset, &mut bytes).unwrap();
        bytes
    }
}

/// Waits for `count` completions.
fn collect(completions: &CompletionQueue, count: usize) -> Vec<WorkCompletion> {
    let start = Instant::now();
    let mut found = Vec::new();
    while found.len() < count {
        let mut room = [WorkCompletion::default(); 8];
        let wanted = room.len().min(count - found.len());
        let new = completions.poll(&mut room[..wanted]).unwrap();
        found.extend_from_slice(&room[..new]);
        assert!(start.elapsed() < PATIENCE, "{} of {count} completions came", found.len());
    }
    found
}

/// A completion queue that has nothing.
fn assert_empty(completions: &CompletionQueue) {
    let mut room = [WorkCompletion::default()];
    for _ in 0..64 {
        assert_eq!(completions.poll(&mut room).unwrap(), 0, "{room:?}");
    }
}

/// Numbers that look random and are the same each time: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("64 bits count everything");
        usize::try_from(self.next() % limit).expect("less than the limit")
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
