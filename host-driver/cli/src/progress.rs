//! How far long work is, for somebody who looks at a terminal. Without one nothing is shown.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Of so many steps.
    pub(crate) fn new(steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Of work that nobody knows the length of.
    #[cfg(feature = "sim")]
    pub(crate) fn of(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Says what is being done.
    pub(crate) fn doing(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// So many more steps are done.
    pub(crate) fn advance(&self, steps: usize) {
        self.bar.inc(steps as u64);
    }

    /// So many are done in all.
    #[cfg(feature = "sim")]
    pub(crate) fn reach(&self, steps: u64) {
        self.bar.set_position(steps);
    }

    /// Says something in between.
    pub(crate) fn suspend<T>(&self, say: impl FnOnce() -> T) -> T {
        self.bar.suspend(say)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
