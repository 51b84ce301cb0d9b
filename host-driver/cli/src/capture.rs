//! Frames of a card's port, live: `stroma capture stroma0 -w - | wireshark -k -i -`.

mod sink;

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stroma_control::{Client, Request};
use stroma_sim::pcap::{Live, News};

use crate::card::Target;
use sink::Sink;

/// What a shell says of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Records the frames of a card's port, while its client works.
///
/// A line a frame, or pcapng with -w. It goes on until it is interrupted, unless -c or --seconds say when it is enough. Times are simulated ones. Frames that come faster than
/// they are taken are lost, and counted; the cards do not wait.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    card: Target,
    /// Writes pcapng to a file; - for standard output.
    #[arg(short, long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Ends after so many frames.
    #[arg(short, long, value_name = "COUNT")]
    count: Option<u64>,
    /// Ends after so many seconds of the wall clock.
    #[arg(long, value_name = "S", value_parser = crate::seconds)]
    seconds: Option<Duration>,
}

/// Records until it is enough.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (folder, card) = arguments.card.of_fabric()?.context(
        "frames are recorded at cards of a fabric; those of a board are seen at its switch, or by a queue pair of the kind Raw",
    )?;
    let stream = Client::connect(&folder)?.follow(&Request::Capture { card })?;
    let end = End(stream.get_ref().try_clone().context("a second hand for the connection")?);
    end.with_signals()?;
    if let Some(seconds) = arguments.seconds {
        end.after(seconds)?;
    }
    let mut sink = Sink::open(arguments.write.as_deref(), &format!("stroma{card}"))?;
    let mut live = Live::new(stream, &stroma_control::control(&folder))?;
    let (mut frames, mut lost) = (0, 0);
    while let Some(news) = live.next()? {
        match news {
            News::Lost(count) => lost = count,
            News::Frame(_) if arguments.count.is_some_and(|count| frames >= count) => {}
            News::Frame(frame) => {
                if !sink.take(&frame)? {
                    // Whoever read them has had enough.
                    break;
                }
                frames += 1;
                if arguments.count == Some(frames) {
                    end.now();
                }
            }
        }
    }
    sink.finish()?;
    stroma_local::tell(&match lost {
        0 => format!("{frames} frames"),
        _ => format!("{frames} frames; {lost} more were lost, because they were not taken in time"),
    });
    Ok(())
}

/// The end of a recording: once our side of the connection is closed, the fabric sends what it has, and closes its own.
struct End(UnixStream);

impl End {
    fn now(&self) {
        // The fabric may have gone first.
        let _ = self.0.shutdown(Shutdown::Write);
    }

    fn copy(&self) -> anyhow::Result<Self> {
        Ok(Self(self.0.try_clone().context("one more hand for the connection")?))
    }

    fn after(&self, time: Duration) -> anyhow::Result<()> {
        let end = self.copy()?;
        thread::spawn(move || {
            thread::sleep(time);
            end.now();
        });
        Ok(())
    }

    /// When the user interrupts; when he does so twice, at once.
    fn with_signals(&self) -> anyhow::Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("listening to signals")?;
        let end = self.copy()?;
        thread::spawn(move || {
            let mut signals = signals.forever();
            signals.next();
            end.now();
            signals.next();
            std::process::exit(INTERRUPTED);
        });
        Ok(())
    }
}
