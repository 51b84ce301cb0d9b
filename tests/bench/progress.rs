//! A bar that tells how far a run is, with figures appearing above it.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How far a run is. A log, which has no terminal, gets the lines alone.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A run of so many tasks.
    pub(crate) fn new(tasks: usize) -> Self {
        let bar = ProgressBar::new(tasks as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Says what is being measured.
    pub(crate) fn doing(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// One task is done.
    pub(crate) fn advance(&self) {
        self.bar.inc(1);
    }

    /// Prints above the bar.
    pub(crate) fn line(&self, text: &str) {
        self.bar.suspend(|| println!("{text}"));
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
