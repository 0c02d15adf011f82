//! Progress on standard error; nothing is drawn when that is not a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of one phase; vanishes when the phase is over.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar that counts things.
    pub(crate) fn count(phase: &'static str, length: usize) -> Self {
        let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos}/{len} {elapsed}");
        let bar = ProgressBar::new(length as u64).with_message(phase);
        Self(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// One more is done.
    pub(crate) fn advance(&self) {
        self.0.inc(1);
    }

    /// The phase is over.
    pub(crate) fn finish(self) {
        self.0.finish_and_clear();
    }

    /// Lets a phase of known duration pass, showing its seconds.
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
