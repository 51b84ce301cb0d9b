//! Sleeping until there is something.

use std::{sync::Arc, thread, time::Duration};

use stroma_device::Backend;

use super::{Bench, PATIENCE, SILENCE, collect};
use crate::{CompletionChannel, CompletionQueue, Error, QueuePair, Status};

/// A channel, a completion queue on it, and a queue pair that is ready to send.
fn listener(bench: &Bench) -> (Arc<CompletionChannel>, Arc<CompletionQueue>, QueuePair) {
    let channel = bench.device.completion_channel();
    let completions = bench.device.build_completion_queue(16).channel(&channel).build().unwrap();
    let queue_pair = bench.domain.queue_pair(&completions).build().unwrap();
    queue_pair.activate().unwrap();
    (channel, completions, queue_pair)
}

fn nop(queue_pair: &QueuePair) {
    queue_pair.start().signaled().nop().post().unwrap();
}

fn assert_told(channel: &CompletionChannel, completions: &Arc<CompletionQueue>) {
    let told = channel.wait(PATIENCE).unwrap().expect("the queue has something");
    assert!(Arc::ptr_eq(&told, completions));
}

/// One event for each request for one.
pub fn a_channel_wakes_a_sleeper(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let (channel, completions, queue_pair) = listener(&bench);
    for _ in 0..3 {
        completions.request_notify(false).unwrap();
        assert!(channel.wait(SILENCE).unwrap().is_none(), "nothing was posted");
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| assert_told(&channel, &completions));
            nop(&queue_pair);
            sleeper.join().unwrap();
        });
        collect(&completions, 1);
        nop(&queue_pair);
        collect(&completions, 1);
        assert!(channel.wait(SILENCE).unwrap().is_none(), "nobody asked for a second event");
    }
}

/// Who asks too late is told at once.
pub fn a_completion_before_the_request_for_an_event_is_told(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let (channel, completions, queue_pair) = listener(&bench);
    nop(&queue_pair);
    nop(&queue_pair);
    collect(&completions, 1);
    completions.request_notify(false).unwrap();
    assert_told(&channel, &completions);
    collect(&completions, 1);

    // Completions that the driver holds, because another queue pair ended, count as well.
    let doomed = bench.domain.queue_pair(&completions).build().unwrap();
    nop(&queue_pair);
    (0..64).for_each(|_| bench.device.card().backend().idle());
    drop(doomed);
    completions.request_notify(false).unwrap();
    assert_told(&channel, &completions);
    collect(&completions, 1);
}

/// Who asks for those that are yet to come is told of them alone.
pub fn a_completion_before_the_request_for_new_ones_is_not_told(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let (channel, completions, queue_pair) = listener(&bench);
    completions.request_notify(false).unwrap();
    nop(&queue_pair);
    assert_told(&channel, &completions);
    completions.request_notify_of_new(false).unwrap();
    assert!(channel.wait(SILENCE).unwrap().is_none(), "it was there before");
    nop(&queue_pair);
    assert_told(&channel, &completions);
    collect(&completions, 2);
}

/// Successes give no event when only solicited ones were asked for; failures do.
pub fn solicited_events_leave_successes_alone(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let (channel, completions, queue_pair) = listener(&bench);
    completions.request_notify(true).unwrap();
    nop(&queue_pair);
    collect(&completions, 1);
    assert!(channel.wait(SILENCE).unwrap().is_none());
    queue_pair.start().inline_gather(&[1], 0, 0xdead_beef).post().unwrap();
    assert_told(&channel, &completions);
    assert_eq!(collect(&completions, 1)[0].status, Status::LocalProtection);
}

/// An event comes with the last of the count, or when the period is over.
pub fn moderated_events_wait_for_company_or_for_their_time(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let (channel, completions, queue_pair) = listener(&bench);
    completions.moderate(3, Duration::ZERO).unwrap();
    completions.request_notify(false).unwrap();
    nop(&queue_pair);
    nop(&queue_pair);
    assert!(channel.wait(SILENCE).unwrap().is_none(), "two are not three");
    nop(&queue_pair);
    assert_told(&channel, &completions);
    collect(&completions, 3);

    completions.moderate(3, Duration::from_nanos(19_001)).unwrap();
    let shown = completions.query().unwrap();
    assert_eq!((shown.count, shown.period), (3, 20));
    completions.request_notify(false).unwrap();
    nop(&queue_pair);
    assert_told(&channel, &completions);
    collect(&completions, 1);

    let refused = completions.moderate(1, Duration::from_micros(65_536));
    assert!(
        matches!(refused, Err(Error::TooWide { field: "period", value: 65_536, bits: 16 })),
        "{refused:?}"
    );
    assert_eq!(completions.query().unwrap().count, 3, "nothing has changed");
    completions.moderate(0, Duration::from_micros(65_535)).unwrap();
    completions.request_notify(false).unwrap();
    nop(&queue_pair);
    assert_told(&channel, &completions);
    collect(&completions, 1);
}

/// Two threads sleep; each is woken by its own queue alone.
pub fn two_channels_hear_their_own_queues(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let (first, second) = (listener(&bench), listener(&bench));
    for _ in 0..8 {
        first.1.request_notify(false).unwrap();
        second.1.request_notify(false).unwrap();
        thread::scope(|scope| {
            for (channel, completions, _) in [&first, &second] {
                scope.spawn(|| assert_told(channel, completions));
            }
            nop(&second.2);
            nop(&first.2);
        });
        for (channel, completions, _) in [&first, &second] {
            collect(completions, 1);
            assert!(channel.poll().unwrap().is_none());
        }
    }
}

/// More events than the queue has entries on a small card, and more than one lap.
pub fn many_events_go_round_the_event_queue(backend: Arc<dyn Backend>) {
    let bench = Bench::new(backend, 16, 16);
    let (channel, completions, queue_pair) = listener(&bench);
    for _ in 0..200 {
        completions.request_notify(false).unwrap();
        nop(&queue_pair);
        assert_told(&channel, &completions);
        collect(&completions, 1);
    }
}
