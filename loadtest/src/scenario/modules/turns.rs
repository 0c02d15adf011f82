//! The same load with a module and without it, in turns: the difference is the cost of the module.

use std::time::Duration;

use super::Sending;
use super::deployed::Deployed;
use crate::error::Error;
use crate::protocol::body::Kind;
use crate::report::Fact;
use crate::scenario::open_loop::OpenLoop;
use crate::traffic::poster::Responses;

/// The time after the last response in which the module may still process events; its CPU time counts.
const TAIL: Duration = Duration::from_millis(200);

/// The names of the figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labels {
    pub(super) without: &'static str,
    pub(super) with: &'static str,
    pub(super) core: &'static str,
    pub(super) event: &'static str,
}

/// All turns of one module.
#[derive(Debug)]
pub(super) struct Turns {
    labels: Labels,
    posters: OpenLoop,
    without: Side,
    with: Side,
}

/// The results of the turns with the module, or of those without.
#[derive(Debug)]
struct Side {
    responses: Responses,
    unsent: u64,
    late: u64,
    server: Option<f64>,
}

impl Turns {
    pub(super) fn new(sending: &Sending<'_>, labels: Labels) -> Self {
        let posters = (0..sending.settings.connections).map(|_| sending.poster(Kind::Measurement)).collect();
        let posters = OpenLoop::new(&sending.run, &sending.ids, posters);
        Self { labels, posters, without: Side::new(), with: Side::new() }
    }

    /// Takes all turns; the module is deployed at the end.
    pub(super) async fn take_all(&mut self, sending: &Sending<'_>, module: &Deployed) -> Result<(), Error> {
        for turn in 1..=sending.settings.turns {
            module.set_status("NOT_DEPLOYED").await?;
            self.without.take(sending, &mut self.posters).await;
            eprintln!("turn {turn}: {} {}", self.labels.without, self.without.figures());
            module.set_status("DEPLOYED").await?;
            self.with.take(sending, &mut self.posters).await;
            eprintln!("turn {turn}: {} {}", self.labels.with, self.with.figures());
        }
        Ok(())
    }

    /// Returns the cost of the module.
    pub(super) fn costs(&self, rate: u32, most_core: Option<f64>, most_micros: Option<f64>) -> Vec<Fact> {
        let Labels { without, with, core, event } = self.labels;
        let micros = self.with.micros().zip(self.without.micros()).map(|(with, without)| with - without);
        let percent = micros.map(|micros| micros * f64::from(rate) / 10_000.0);
        vec![
            Fact::any(without, self.without.figures()),
            Fact::any(with, self.with.figures()),
            at_most(event, micros, "µs", most_micros),
            at_most(core, percent, "%", most_core),
            Fact::number("measurements not stored", self.with.failures() + self.without.failures(), 0),
        ]
    }
}

impl Side {
    fn new() -> Self {
        Self { responses: Responses::default(), unsent: 0, late: 0, server: Some(0.0) }
    }

    async fn take(&mut self, sending: &Sending<'_>, posters: &mut OpenLoop) {
        let settings = sending.settings;
        if settings.warmup > 0 {
            let warmup = posters.post(settings.rate, 0, settings.warmup).await;
            self.unsent += warmup.unsent;
        }
        let cpu_seconds = || sending.bench.server.and_then(|server| server.cpu_seconds());
        let before = cpu_seconds();
        let outcomes = posters.post(settings.rate, 0, settings.seconds).await;
        tokio::time::sleep(TAIL).await;
        let used = cpu_seconds().zip(before).map(|(after, before)| after - before);
        self.server = self.server.zip(used).map(|(all, used)| all + used);
        self.responses.add(&outcomes.responses);
        self.late += outcomes.late;
        self.unsent += outcomes.unsent;
    }

    /// Returns the server's CPU time per measurement, in microseconds.
    fn micros(&self) -> Option<f64> {
        self.server.map(|seconds| seconds * 1_000_000.0 / self.responses.latency.len().max(1) as f64)
    }

    fn failures(&self) -> usize {
        (self.responses.failures() + self.unsent) as usize
    }

    fn figures(&self) -> String {
        let at = |quantile| self.responses.latency.ms(quantile);
        let cpu = self.micros().map_or("unknown".to_owned(), |micros| format!("{micros:.2} µs"));
        let server = self.server.unwrap_or_default();
        format!(
            "server {server:.2} s, {cpu} each; POST p50 {:.2}  p99 {:.2} ms  ({} samples, {} late)",
            at(0.5),
            at(0.99),
            self.responses.latency.len(),
            self.late
        )
    }
}

/// Returns a figure with an upper limit; it does not hold when it was not measured.
fn at_most(what: &'static str, found: Option<f64>, unit: &str, most: Option<f64>) -> Fact {
    let shown = found.map_or("unknown".to_owned(), |found| format!("{found:.2} {unit}"));
    match most {
        None => Fact::any(what, shown),
        Some(most) => {
            let holds = found.is_some_and(|found| found <= most);
            Fact { what, found: shown, expected: format!("at most {most} {unit}"), holds }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(events: u64, server: Option<f64>) -> Side {
        let mut side = Side { server, ..Side::new() };
        side.responses.latency.record_n(2000, events);
        side
    }

    #[test]
    fn cost_of_modules_is_the_additional_cost_per_event() {
        let (without, with) = (side(1000, Some(0.1)), side(2000, Some(0.23)));
        let micros = with.micros().zip(without.micros()).map(|(with, without)| with - without).unwrap();
        assert!((micros - 15.0).abs() < 1e-9, "{micros}");
        let shown = with.figures();
        assert_eq!(
            shown,
            "server 0.23 s, 115.00 µs each; POST p50 2.00  p99 2.00 ms  (2000 samples, 0 late)"
        );
    }

    #[test]
    fn unmeasured_value_is_not_within_its_bound() {
        for (found, most, holds) in [
            (Some(9.99), Some(10.0), true),
            (Some(10.01), Some(10.0), false),
            (None, Some(10.0), false),
            (None, None, true),
        ] {
            assert_eq!(at_most("cost", found, "µs", most).holds, holds, "{found:?} {most:?}");
        }
    }
}
