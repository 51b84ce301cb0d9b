//! Tasks that take turns in one thread, so that a run is the same to the cycle each time.
//!
//! A task is a future. It waits for completions, which an [`Inbox`] sorts by queue pair, or for a time. When all wait, time passes.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stroma_verbs::{CompletionQueue, WorkCompletion};

use crate::{Error, Result};

/// Time, and how it passes.
pub trait Time {
    /// Now, in cycles.
    fn now(&self) -> u64;
    /// Lets time pass until a card has written something to memory, `cycles` at most.
    fn pass(&self, cycles: u64);
}

/// A time to which tasks can set alarms.
pub struct Clock {
    time: Box<dyn Time>,
    alarms: RefCell<BTreeSet<u64>>,
}

impl Clock {
    /// A clock that shows this time.
    #[must_use]
    pub fn new(time: Box<dyn Time>) -> Rc<Self> {
        Rc::new(Self { time, alarms: RefCell::default() })
    }

    /// Now, in cycles.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.time.now()
    }

    /// Waits for so many cycles.
    pub async fn sleep(&self, cycles: u64) {
        let end = self.now() + cycles;
        self.alarms.borrow_mut().insert(end);
        poll_fn(|_| if self.now() >= end { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Passes on to the next alarm, or until a card stirs.
    fn pass(&self) {
        /// Most cycles between two looks at completion queues.
        const TURN: u64 = 4096;
        let now = self.now();
        let mut alarms = self.alarms.borrow_mut();
        alarms.retain(|alarm| *alarm > now);
        let cycles = alarms.first().map_or(TURN, |alarm| (alarm - now).min(TURN));
        self.time.pass(cycles);
    }
}

/// Completions of one queue, kept until who waits for them takes them.
pub struct Inbox {
    queue: Arc<CompletionQueue>,
    found: RefCell<VecDeque<WorkCompletion>>,
}

impl Inbox {
    /// An inbox whose queue nobody else looks at.
    #[must_use]
    pub fn new(queue: &Arc<CompletionQueue>) -> Rc<Self> {
        Rc::new(Self { queue: Arc::clone(queue), found: RefCell::default() })
    }

    /// The queue.
    #[must_use]
    pub const fn queue(&self) -> &Arc<CompletionQueue> {
        &self.queue
    }

    /// Takes in what there is; how much that was.
    fn look(&self) -> Result<usize> {
        let mut room = [WorkCompletion::default(); 16];
        let count = self.queue.poll(&mut room)?;
        self.found.borrow_mut().extend(&room[..count]);
        Ok(count)
    }

    /// The oldest completion that is wanted.
    async fn first(&self, is_wanted: impl Fn(&WorkCompletion) -> bool) -> WorkCompletion {
        poll_fn(|_| {
            let mut found = self.found.borrow_mut();
            let place = found.iter().position(&is_wanted);
            place.and_then(|place| found.remove(place)).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// The next completion of a queue pair's requests, or of its receives.
    pub(crate) async fn next(&self, queue_pair: u32, is_receive: bool) -> WorkCompletion {
        self.first(|found| found.queue_pair == queue_pair && found.is_receive == is_receive).await
    }

    /// The next receive that has completed, whosever it is.
    pub(crate) async fn arrival(&self) -> WorkCompletion {
        self.first(|found| found.is_receive).await
    }

    /// Forgets completions of a queue pair's requests.
    pub(crate) fn forget(&self, queue_pair: u32) {
        self.found.borrow_mut().retain(|found| found.queue_pair != queue_pair || found.is_receive);
    }
}

/// Something to be done.
pub type Task<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// Gives each task a turn; those that are done go.
fn turn(tasks: &mut Vec<Task<'_>>) -> Result<()> {
    let mut context = Context::from_waker(Waker::noop());
    let mut left = Vec::with_capacity(tasks.len());
    for mut task in tasks.drain(..) {
        match task.as_mut().poll(&mut context) {
            Poll::Pending => left.push(task),
            Poll::Ready(ended) => ended?,
        }
    }
    tasks.append(&mut left);
    Ok(())
}

/// Carries tasks out in turn, until all of `tasks` are done. Those `beside` them go on as long.
///
/// # Errors
/// The first that a task ends with; what a queue tells of its card; [`Error::Stuck`] after `limit` cycles.
pub fn run(
    clock: &Clock,
    inboxes: &[Rc<Inbox>],
    mut tasks: Vec<Task<'_>>,
    mut beside: Vec<Task<'_>>,
    limit: u64,
) -> Result<()> {
    let end = clock.now() + limit;
    loop {
        turn(&mut tasks)?;
        if tasks.is_empty() {
            return Ok(());
        }
        turn(&mut beside)?;
        let mut found = 0;
        for inbox in inboxes {
            found += inbox.look()?;
        }
        if found == 0 {
            if clock.now() >= end {
                return Err(Error::Stuck { left: tasks.len(), cycles: limit });
            }
            clock.pass();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Counted;

    #[test]
    fn tasks_wake_in_the_order_of_their_alarms() {
        let clock = Clock::new(Box::new(Counted::default()));
        let woken = RefCell::new(Vec::new());
        let sleeper = |cycles: u64| -> Task<'_> {
            let (clock, woken) = (&clock, &woken);
            Box::pin(async move {
                for _ in 0..2 {
                    clock.sleep(cycles).await;
                    woken.borrow_mut().push((clock.now(), cycles));
                }
                Ok(())
            })
        };
        run(&clock, &[], vec![sleeper(70), sleeper(30), sleeper(10_000)], vec![sleeper(50_000)], 30_000)
            .unwrap();
        assert_eq!(
            *woken.borrow(),
            [(30, 30), (60, 30), (70, 70), (140, 70), (10_000, 10_000), (20_000, 10_000)]
        );
    }

    #[test]
    fn who_waits_for_ever_is_told_of() {
        let clock = Clock::new(Box::new(Counted::default()));
        let task: Task<'_> = Box::pin(std::future::pending());
        let error = run(&clock, &[], vec![task], Vec::new(), 5000).unwrap_err();
        assert!(matches!(error, Error::Stuck { left: 1, cycles: 5000 }), "{error}");
    }
}
