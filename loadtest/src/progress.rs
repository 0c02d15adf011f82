//! Progress on standard error; nothing is shown unless that is a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The bar of one phase; it disappears at the end of the phase.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Creates a bar that counts.
    pub(crate) fn count(phase: &'static str, length: usize) -> Self {
        let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos}/{len} {elapsed}");
        let bar = ProgressBar::new(length as u64).with_message(phase);
        Self(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// Advances the bar by one.
    pub(crate) fn advance(&self) {
        self.0.inc(1);
    }

    /// Ends the phase.
    pub(crate) fn finish(self) {
        self.0.finish_and_clear();
    }

    /// Waits for the end of a phase of known duration, showing its seconds.
    pub(crate) async fn pass(phase: &'static str, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        let progress = Self::count(phase, left.as_secs() as usize);
        let until = tokio::time::Instant::from_std(until);
        while tokio::time::Instant::now() < until {
            let next = tokio::time::Instant::now() + Duration::from_secs(1);
            tokio::time::sleep_until(next.min(until)).await;
            progress.advance();
        }
        progress.finish();
    }
}
