//! The middle of a run: neither its start, when pipelines fill, nor its end, when queue pairs run dry, counts.

use stroma_sim::host::attach::Event;
use stroma_top::Profile;

use super::number;

/// A write of payload that a card sent to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) cycle: u64,
    pub(crate) bytes: u64,
    pub(crate) queue_pair: usize,
}

/// What arrived between the first and the last quarter of the payload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Of each queue pair.
    pub(crate) bytes: Vec<u64>,
}

impl Window {
    /// From the write with which a quarter of all bytes has arrived to that with which three quarters have.
    pub(crate) fn new(arrivals: &[Arrival], queue_pairs: usize) -> Self {
        let total: u64 = arrivals.iter().map(|arrival| arrival.bytes).sum();
        let mut sum = 0;
        let mut reaches = |share: u64| {
            let at = arrivals.iter().position(|arrival| {
                sum += arrival.bytes;
                sum * 4 >= total * share
            });
            sum = 0;
            at.expect("all of it has arrived")
        };
        let (first, last) = (reaches(1), reaches(3));
        let mut bytes = vec![0; queue_pairs];
        for arrival in &arrivals[first + 1..=last] {
            bytes[arrival.queue_pair] += arrival.bytes;
        }
        Self { start: arrivals[first].cycle, end: arrivals[last].cycle, bytes }
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.end - self.start
    }

    fn seconds(&self, profile: Profile) -> f64 {
        number(self.cycles()) / (f64::from(profile.clock_khz()) * 1000.0)
    }

    /// Gb/s of payload.
    pub(crate) fn goodput(&self, profile: Profile) -> f64 {
        number(self.bytes.iter().sum()) * 8.0 / self.seconds(profile) / 1e9
    }

    /// Millions of messages of so many bytes a second.
    pub(crate) fn rate(&self, size: usize, profile: Profile) -> f64 {
        number(self.bytes.iter().sum()) / number(size as u64) / self.seconds(profile) / 1e6
    }

    /// What the queue pair with the least had, as a part of what the one with the most had.
    pub(crate) fn fairness(&self) -> f64 {
        let least = self.bytes.iter().min().expect("a queue pair");
        let most = self.bytes.iter().max().expect("a queue pair");
        number(*least) / number(*most)
    }

    /// Reads of a host that were in flight on average, if each took so many cycles: at least so many were.
    pub(crate) fn reads_in_flight(&self, trace: &[(u64, Event)], cycles: u64) -> f64 {
        let is_inside = |(cycle, event): &&(u64, Event)| {
            (self.start..self.end).contains(cycle) && matches!(event, Event::Read { .. })
        };
        number(trace.iter().filter(is_inside).count() as u64 * cycles) / number(self.cycles())
    }

    /// For a figure's entry.
    pub(crate) fn text(&self, size: usize) -> String {
        let bytes: u64 = self.bytes.iter().sum();
        format!("window: {} cycles, {} messages", self.cycles(), bytes / size as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One write of 64 bytes every ten cycles, after a slow start and before a slow end.
    fn steady() -> Vec<Arrival> {
        let cycles = (0..25)
            .map(|at| at * 1000)
            .chain((0..50).map(|at| 24_010 + at * 10))
            .chain((0..25).map(|at| 30_000 + at * 1000));
        cycles.enumerate().map(|(at, cycle)| Arrival { cycle, bytes: 64, queue_pair: at % 3 }).collect()
    }

    #[test]
    fn start_and_end_of_a_run_do_not_count() {
        let window = Window::new(&steady(), 3);
        assert_eq!((window.start, window.end), (24_000, 24_500));
        assert_eq!(window.bytes.iter().sum::<u64>(), 50 * 64);
        // 50 messages in 500 cycles of 4 ns.
        let close = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-9, "{value}, not {wanted}");
        close(window.rate(64, Profile::HundredGig), 25.0);
        close(window.goodput(Profile::HundredGig), 12.8);
        // 50 messages to three: 17, 17, 16.
        close(window.fairness(), 16.0 / 17.0);
    }

    #[test]
    fn reads_in_flight_are_those_of_the_window() {
        let window = Window { start: 100, end: 200, bytes: vec![1] };
        let read = Event::Read { address: 0, beats: 1 };
        let trace = [(99, read), (100, read), (150, read), (160, Event::Left), (200, read)];
        // Two reads of 50 cycles in 100.
        assert!((window.reads_in_flight(&trace, 50) - 1.0).abs() < 1e-9);
    }
}
