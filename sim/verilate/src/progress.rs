//! How far the build of a card is, on standard error: a bar on a terminal, a line each quarter in a log.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// Steps after which a log gets a line.
const QUARTERS: u64 = 4;

/// Work in units of text, of which some is done.
pub(crate) struct Progress {
    what: String,
    total: u64,
    started: Instant,
    done: Mutex<u64>,
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(what: String, total: u64) -> Self {
        let bar = ProgressBar::new(total);
        let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent} %, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what.clone());
        bar.enable_steady_tick(Duration::from_secs(1));
        if bar.is_hidden() {
            stroma_local::tell(&format!("{what} ..."));
        }
        Self { what, total: total.max(1), started: Instant::now(), done: Mutex::new(0), bar }
    }

    /// So much more is done.
    pub(crate) fn add(&self, units: u64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *done;
        *done += units;
        self.bar.inc(units);
        if let Some(line) = self.bar.is_hidden().then(|| line(self, before, *done)).flatten() {
            stroma_local::tell(&line);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What a log gets when work goes from `before` to `done`: nothing within a quarter.
fn line(progress: &Progress, before: u64, done: u64) -> Option<String> {
    let Progress { what, total, started, .. } = progress;
    let quarter = |units: u64| units * QUARTERS / total;
    if quarter(before) == quarter(done) || done >= *total {
        return None;
    }
    let left = HumanDuration(remaining(started.elapsed(), done, *total));
    Some(format!("{what}: {} %, {left} left", done * 100 / total))
}

/// What remains takes as long, unit by unit, as what is done.
fn remaining(elapsed: Duration, done: u64, total: u64) -> Duration {
    let milliseconds = elapsed.as_millis() * u128::from(total.saturating_sub(done)) / u128::from(done.max(1));
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_in_proportion_to_the_remaining_work() {
        let minute = Duration::from_mins(1);
        assert_eq!(remaining(minute, 1, 4), 3 * minute);
        assert_eq!(remaining(minute, 4, 4), Duration::ZERO);
        assert_eq!(remaining(minute, 5, 4), Duration::ZERO);
        assert_eq!(remaining(minute, 0, 4), 4 * minute);
    }

    #[test]
    fn a_log_gets_a_line_when_a_quarter_is_done_and_none_at_the_end() {
        let progress = Progress::new("building a card".into(), 100);
        let shows = |before, done| line(&progress, before, done).map(|line| line[..21].to_owned());
        assert_eq!(shows(0, 24), None);
        assert_eq!(shows(24, 25), Some("building a card: 25 %".into()));
        assert_eq!(shows(30, 80), Some("building a card: 80 %".into()));
        assert_eq!(shows(80, 99), None);
        assert_eq!(shows(80, 100), None);
    }
}
