//! The event descriptors of a client's interrupts, and who writes to them.
//!
//! Whether a write to an event descriptor waits while its count is full, a flag says that both ends share, and the client may change
//! flag and count at any moment: also between a look at them and the write. So the simulation of all cards never writes to one. A
//! thread of each client's own does; when it waits, the interrupts of this client wait with it.

mod rings;

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use stroma_abi::regs::map::VECTORS;

use rings::Rings;

/// What the system calls an event descriptor.
const KIND: &str = "anon_inode:[eventfd]";
/// Between two looks whether a thread that waited has ended.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// An event descriptor of a client.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// Takes a client's descriptor.
    ///
    /// # Errors
    /// When it is no event descriptor.
    pub(crate) fn new(descriptor: OwnedFd) -> Result<Self, Errno> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
        if link.map_err(|_| Errno::BADF)?.as_os_str() != KIND {
            return Err(Errno::INVAL);
        }
        Ok(Self(descriptor))
    }

    /// Tells of so many interrupts. Where the count is full this waits, or fails, as the client has set it.
    fn ring(&self, count: u64) {
        let _ = write(&self.0, &count.to_ne_bytes());
    }
}

/// The interrupts of a client. Nothing here waits for it.
#[derive(Default)]
pub(crate) struct Bells {
    rings: Arc<Rings<Bell, VECTORS>>,
    /// From the first connection on.
    thread: Option<JoinHandle<()>>,
}

impl Bells {
    /// Connects interrupts, each to its descriptor or to none; one that came before is told now.
    ///
    /// # Errors
    /// When there are not as many, or there can be no thread.
    pub(crate) fn connect(&mut self, start: usize, bells: Vec<Option<Bell>>) -> Result<(), Errno> {
        if self.thread.is_none() {
            let rings = Arc::clone(&self.rings);
            let ringing = thread::Builder::new().name("interrupts".to_owned());
            let ringing = ringing.spawn(move || rings.run(Bell::ring));
            self.thread = Some(ringing.map_err(|_| Errno::AGAIN)?);
        }
        if self.rings.connect(start, bells) { Ok(()) } else { Err(Errno::INVAL) }
    }

    /// Tells of an interrupt, now or when somebody is connected to it. One that cannot be told because of all those that were not
    /// taken is one of them.
    pub(crate) fn ring(&self, vector: usize) {
        self.rings.ring(vector);
    }

    /// Forgets what was not told yet.
    pub(crate) fn forget(&self) {
        self.rings.forget();
    }
}

impl Drop for Bells {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if let Some(bell) = self.rings.end() {
            // Without a thread to release it, the other one stays until the client's process has ended.
            let _ = thread::Builder::new().name("release".to_owned()).spawn(move || release(&bell, &thread));
        }
    }
}

/// Empties a descriptor until who waits for room in it has ended. That the count is taken from a client is of no matter: it has gone.
fn release(bell: &Bell, waiting: &JoinHandle<()>) {
    while !waiting.is_finished() {
        if poll(&mut [PollFd::new(&bell.0, PollFlags::IN)], Some(&LOOK)) == Ok(1) {
            // Should somebody else have emptied it meanwhile, who waits has room now, and gives us something to read.
            let _ = read(&bell.0, &mut [0; 8]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    const FULL: u64 = u64::MAX - 1;
    const PATIENCE: Duration = Duration::from_secs(20);

    /// An event descriptor that lets its writers wait, and bells of which so many are connected to it.
    fn connected(count: usize) -> (OwnedFd, Bells) {
        let event = eventfd(0, EventfdFlags::empty()).unwrap();
        let mut bells = Bells::default();
        let shared = (0..count).map(|_| Some(Bell::new(event.try_clone().unwrap()).unwrap()));
        bells.connect(0, shared.collect()).unwrap();
        (event, bells)
    }

    /// Waits until the count is there; it is taken.
    fn taken(event: &OwnedFd) -> u64 {
        let mut count = [0; 8];
        let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(event, PollFlags::IN)], Some(&limit)), Ok(1), "nothing was told");
        read(event, &mut count).unwrap();
        u64::from_ne_bytes(count)
    }

    fn fill(event: &OwnedFd) {
        write(event, &FULL.to_ne_bytes()).unwrap();
    }

    /// Waits until the thread is writing.
    fn stuck(bells: &Bells) {
        let started = Instant::now();
        while bells.rings.writing().is_none() {
            assert!(started.elapsed() < PATIENCE, "nobody writes");
            thread::yield_now();
        }
    }

    #[test]
    fn rings_are_counted_and_a_full_count_does_not_hold_up() {
        let (event, bells) = connected(1);
        bells.ring(0);
        bells.ring(0);
        let mut count = taken(&event);
        if count == 1 {
            count += taken(&event);
        }
        assert_eq!(count, 2);
        fill(&event);
        for _ in 0..1000 {
            bells.ring(0);
        }
        stuck(&bells);
        bells.ring(0);
        assert_eq!(taken(&event), FULL);
        let mut told = 0;
        while told < 1001 {
            told += taken(&event);
        }
        assert_eq!(told, 1001, "all of them were told when there was room");
    }

    #[test]
    fn a_ring_never_waits_whoever_else_writes_to_the_descriptor() {
        const ROUNDS: usize = 1000;
        let (event, bells) = connected(1);
        let mut others = Bells::default();
        others.connect(0, vec![Some(Bell::new(event.try_clone().unwrap()).unwrap())]).unwrap();
        let start = Arc::new(Barrier::new(3));
        let (returned, returns) = channel();
        let both = [Arc::new(bells), Arc::new(others)];
        for bells in both.clone() {
            let (start, returned) = (Arc::clone(&start), returned.clone());
            thread::spawn(move || {
                for _ in 0..ROUNDS {
                    start.wait();
                    bells.ring(0);
                    returned.send(()).unwrap();
                }
            });
        }
        for _ in 0..ROUNDS {
            // Room for one, and two who look whether there is room.
            write(&event, &(FULL - 1).to_ne_bytes()).unwrap();
            start.wait();
            for _ in 0..2 {
                returns.recv_timeout(PATIENCE).expect("a ring waits");
            }
            let mut told = 0;
            while told < FULL + 1 {
                told += taken(&event);
            }
        }
    }

    #[test]
    fn a_client_that_has_gone_and_left_a_count_full_keeps_no_thread() {
        let (event, bells) = connected(2);
        fill(&event);
        bells.ring(0);
        bells.ring(1);
        stuck(&bells);
        let rings = Arc::downgrade(&bells.rings);
        drop(bells);
        let started = Instant::now();
        while rings.strong_count() > 0 {
            assert!(started.elapsed() < PATIENCE, "the thread waits for a client that has gone");
            thread::yield_now();
        }
    }

    #[test]
    fn an_interrupt_that_nobody_heard_is_told_once_to_who_is_connected_first() {
        let (event, mut bells) = connected(1);
        bells.ring(3);
        bells.ring(3);
        bells.ring(4);
        bells.connect(3, vec![Some(Bell::new(event.try_clone().unwrap()).unwrap())]).unwrap();
        assert_eq!(taken(&event), 1);
        bells.forget();
        bells.connect(4, vec![Some(Bell::new(event.try_clone().unwrap()).unwrap())]).unwrap();
        bells.ring(0);
        assert_eq!(taken(&event), 1);
        assert_eq!(bells.connect(VECTORS, vec![None]), Err(Errno::INVAL));
    }

    #[test]
    fn what_is_no_event_descriptor_is_refused() {
        let (reader, writer) = std::io::pipe().unwrap();
        for descriptor in [OwnedFd::from(reader), OwnedFd::from(writer), tempfile::tempfile().unwrap().into()]
        {
            assert_eq!(Bell::new(descriptor).unwrap_err(), Errno::INVAL);
        }
    }
}
