//! Progress on standard error: a bar on a terminal, a line every five seconds elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

/// The time between two lines if standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// The bar of one phase; it disappears at the end of the phase.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// When the phase began or the last line was printed.
    last_line: Mutex<Instant>,
    /// The unit of its numbers with a blank before it; empty for things that are counted.
    unit: &'static str,
}

impl Progress {
    /// Creates a bar that counts.
    pub(crate) fn count(phase: &'static str, length: usize) -> Self {
        let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos}/{len} {elapsed}");
        let bar = ProgressBar::new(length as u64).with_message(phase);
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, last_line: Mutex::new(Instant::now()), unit: "" }
    }

    /// Advances the bar by one.
    pub(crate) fn advance(&self) {
        self.bar.inc(1);
        if self.bar.is_hidden()
            && let Some(line) = self.due_line(Instant::now())
        {
            eprintln!("{line}");
        }
    }

    /// Returns the line to print at this time, if the last one was long enough ago.
    fn due_line(&self, now: Instant) -> Option<String> {
        let mut last_line = self.last_line.lock();
        if now.saturating_duration_since(*last_line) < LINE_INTERVAL {
            return None;
        }
        *last_line = now;
        Some(format!(
            "{}: {} of {}{}",
            self.bar.message(),
            self.bar.position(),
            self.bar.length().unwrap_or_default(),
            self.unit
        ))
    }

    /// Ends the phase.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }

    /// Waits for the end of a phase of known duration, showing its seconds.
    pub(crate) async fn pass(phase: &'static str, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        let progress = Self { unit: " s", ..Self::count(phase, left.as_secs() as usize) };
        let until = tokio::time::Instant::from_std(until);
        while tokio::time::Instant::now() < until {
            let next = tokio::time::Instant::now() + Duration::from_secs(1);
            tokio::time::sleep_until(next.min(until)).await;
            progress.advance();
        }
        progress.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_due_every_five_seconds() {
        let progress = Progress::count("opening polls", 7);
        progress.advance();
        let started = *progress.last_line.lock();
        let after = |seconds| progress.due_line(started + Duration::from_secs(seconds));
        assert_eq!(after(4), None);
        assert_eq!(after(5).as_deref(), Some("opening polls: 1 of 7"));
        assert_eq!(after(9), None);
        assert_eq!(after(10).as_deref(), Some("opening polls: 1 of 7"));
    }
}
