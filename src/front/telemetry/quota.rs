//! Limits the log lines of each place in the code, so that events that anybody can cause do not fill a disk.
//!
//! Every place has its own quota per minute, so a flood of one kind of line hides no other kind. Omitted lines are
//! counted in a metric and reported in a log line. Debug lines have no quota, because the operator enables them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata};
use tracing_subscriber::layer::{Context, Filter};

/// The maximum number of lines of one place in one window.
const LINES: u64 = 60;
/// The same for the log of requests, which the operator has chosen.
const REQUESTS: u64 = 6000;
/// The duration of a window.
const WINDOW: Duration = Duration::from_secs(60);

/// The metric of the lines that were omitted because their place had reached its quota.
pub(super) const LEFT_OUT: &str = "platform_log_lines_left_out_total";

/// The number of lines that every place has logged in its window.
#[derive(Debug, Default)]
pub(super) struct Quotas(Mutex<HashMap<Identifier, LogSite>>);

#[derive(Debug)]
struct LogSite {
    name: String,
    since: Instant,
    lines: u64,
    most: u64,
}

impl LogSite {
    fn left_out(&self) -> u64 {
        self.lines.saturating_sub(self.most)
    }
}

impl Quotas {
    /// Returns whether this place may write another line.
    fn admit(&self, metadata: &'static Metadata<'static>) -> bool {
        if *metadata.level() > Level::INFO {
            return true;
        }
        let mut places = self.0.lock();
        let place = places.entry(metadata.callsite()).or_insert_with(|| {
            let (file, line) = (metadata.file().unwrap_or_default(), metadata.line().unwrap_or_default());
            let most = if metadata.target() == "platform::requests" { REQUESTS } else { LINES };
            LogSite {
                most,
                name: format!("{} {file}:{line}", metadata.target()),
                since: Instant::now(),
                lines: 0,
            }
        });
        place.lines += 1;
        place.lines <= place.most
    }

    /// Starts new windows, and logs how many lines were omitted in the previous ones.
    pub(super) fn renew(&self) {
        self.renew_older_than(WINDOW);
    }

    fn renew_older_than(&self, window: Duration) {
        let mut over = Vec::new();
        self.0.lock().retain(|_, place| {
            let goes_on = place.since.elapsed() < window;
            if !goes_on && place.left_out() > 0 {
                over.push((place.name.clone(), place.left_out()));
            }
            goes_on
        });
        for (place, left_out) in over {
            tracing::warn!(
                place,
                left_out,
                "log lines were omitted, because their place in the code exceeded its limit per minute"
            );
        }
    }
}

impl<S> Filter<S> for &'static Quotas {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let admitted = self.admit(event.metadata());
        if !admitted {
            metrics::counter!(LEFT_OUT).increment(1);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn with(&self, word: &str) -> usize {
            let text = self.0.lock();
            String::from_utf8_lossy(&text).lines().filter(|line| line.contains(word)).count()
        }
    }

    #[test]
    fn flood_of_one_place_is_cut_off_and_hides_no_other() {
        let (quotas, lines): (&'static Quotas, _) = (Box::leak(Box::default()), Lines::default());
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || writer.clone());
        let layer = layer.with_filter(quotas);
        let _default = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));

        for _ in 0..1000 {
            tracing::error!("flood");
            tracing::debug!("asked for");
        }
        tracing::error!("another");

        assert_eq!((lines.with("flood"), lines.with("asked for"), lines.with("another")), (60, 1000, 1));
        quotas.renew_older_than(Duration::ZERO);
        assert_eq!(
            (lines.with("left_out=940"), lines.with("left_out")),
            (1, 1),
            "the other place is not named"
        );
        tracing::error!("another");
        assert_eq!(lines.with("another"), 2);
    }
}
