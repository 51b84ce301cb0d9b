//! Frames of a port, on their way to somebody who may be slow.

use std::io::{self, BufWriter, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stroma_sim::Listener;
use stroma_sim::pcap::{self, Captured, Direction, Writer};

/// Frames that wait for a reader; the next is lost to him.
const WAITING: usize = 8192;
/// Between two looks whether the reader has had enough.
const LOOK: Duration = Duration::from_millis(50);

/// The end in the simulation.
pub(super) struct Ear {
    frames: SyncSender<Captured>,
    lost: Arc<AtomicU64>,
}

/// The end of who follows.
pub(super) struct Heard {
    frames: Receiver<Captured>,
    lost: Arc<AtomicU64>,
}

/// Both ends.
pub(super) fn channel() -> (Ear, Heard) {
    let (sender, receiver) = sync_channel(WAITING);
    let lost = Arc::new(AtomicU64::new(0));
    (Ear { frames: sender, lost: Arc::clone(&lost) }, Heard { frames: receiver, lost })
}

impl Listener for Ear {
    fn frame(&mut self, time: Duration, direction: Direction, bad: bool, bytes: &[u8]) -> bool {
        let frame = Captured { time, bytes: bytes.to_vec(), direction: Some(direction), bad };
        match self.frames.try_send(frame) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

/// A stream in which frames go out, and what it was told last.
struct Out<'a> {
    writer: Writer<BufWriter<&'a UnixStream>>,
    time: Duration,
    lost: u64,
}

impl Out<'_> {
    fn write(&mut self, frame: &Captured) -> Result<(), pcap::Error> {
        self.time = frame.time;
        self.writer.record(frame.time, frame.direction.unwrap_or(Direction::In), frame.bad, &frame.bytes)
    }

    /// Tells how many were lost, if that is news, and sends all on.
    fn settle(&mut self, lost: &AtomicU64) -> Result<(), pcap::Error> {
        let lost = lost.load(Ordering::Relaxed);
        if lost != self.lost {
            self.lost = lost;
            self.writer.lost(self.time, lost)?;
        }
        self.writer.flush()
    }
}

impl Heard {
    /// Writes frames to a stream until the other end has closed his side, or nobody simulates any more.
    pub(super) fn follow(&self, stream: &UnixStream, interface: &str) -> io::Result<()> {
        // He may be as slow as he likes: nobody but this thread waits for him.
        stream.set_write_timeout(None)?;
        self.run(stream, interface).map_err(io::Error::other)?;
        stream.shutdown(Shutdown::Both)
    }

    fn run(&self, stream: &UnixStream, interface: &str) -> Result<(), pcap::Error> {
        let writer = Writer::over(BufWriter::new(stream), interface)?;
        let mut out = Out { writer, time: Duration::ZERO, lost: 0 };
        out.writer.flush()?;
        while !has_closed(stream) {
            match self.frames.recv_timeout(LOOK) {
                Ok(frame) => out.write(&frame)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.drain(&mut out)?;
        }
        self.drain(&mut out)
    }

    /// All that have come by now, and no more: they may come faster than they go.
    fn drain(&self, out: &mut Out<'_>) -> Result<(), pcap::Error> {
        for frame in self.frames.try_iter().take(WAITING) {
            out.write(&frame)?;
        }
        out.settle(&self.lost)
    }
}

/// Will nothing more come from the other end? Whatever it says is thrown away.
fn has_closed(mut stream: &UnixStream) -> bool {
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&none)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => false,
        Ok(_) => !matches!(stream.read(&mut [0; 256]), Ok(1..)),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stroma_sim::pcap::{Live, News};

    use super::*;

    fn hear(ear: &mut Ear, count: u64) {
        for number in 0..count {
            assert!(ear.frame(Duration::from_nanos(number), Direction::Out, false, &[7; 60]));
        }
    }

    #[test]
    fn a_reader_that_is_too_slow_loses_frames_and_is_told_how_many() {
        const MORE: u64 = 100_000;
        let (near, far) = UnixStream::pair().unwrap();
        let (mut ear, heard) = channel();
        let following = std::thread::spawn(move || heard.follow(&far, "stroma0"));
        // Nobody reads: what does not fit is lost, and nobody waits.
        hear(&mut ear, MORE);
        near.shutdown(Shutdown::Write).unwrap();
        let mut live = Live::new(&near, Path::new("stream")).unwrap();
        let (mut frames, mut lost) = (0, 0);
        while let Some(news) = live.next().unwrap() {
            match news {
                News::Frame(_) => frames += 1,
                News::Lost(count) => lost = count,
            }
        }
        assert!(lost > 0, "{frames} frames fitted");
        assert_eq!(frames + lost, MORE);
        following.join().unwrap().unwrap();
        assert!(!ear.frame(Duration::ZERO, Direction::In, false, &[]), "nobody listens any more");
    }

    #[test]
    fn a_reader_that_has_gone_is_noticed_without_a_frame() {
        let (near, far) = UnixStream::pair().unwrap();
        let (_ear, heard) = channel();
        drop(near);
        // It may break off in the beginning.
        let _ = heard.follow(&far, "stroma0");
    }

    #[test]
    fn a_reader_hears_of_the_end_of_the_simulation() {
        let (near, far) = UnixStream::pair().unwrap();
        let (mut ear, heard) = channel();
        hear(&mut ear, 3);
        drop(ear);
        heard.follow(&far, "stroma0").unwrap();
        let mut live = Live::new(&near, Path::new("stream")).unwrap();
        let frames = std::iter::from_fn(|| live.next().unwrap()).count();
        assert_eq!(frames, 3);
    }
}
