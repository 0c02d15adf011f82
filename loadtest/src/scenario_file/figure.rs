//! The figures that a threshold may name, what they mean, and where they are in the reports of a phase.

use serde_json::Value;

use super::outcome::Sample;
use crate::error::Error;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A number.
    Count,
    /// A number per second.
    Rate,
    /// Milliseconds.
    Time,
    /// Bytes.
    Memory,
    /// Percent of a core.
    Percent,
}

/// How a figure is found in the reports of the loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Percentiles; the worst of all loads.
    Latency(&'static [&'static str]),
    /// The sum of these numbers over all loads.
    Sum(&'static [&'static str]),
    /// The posts whose response begins with this, over all loads.
    Responses(char),
    /// The sum of a member of the steps of a load at rising rates.
    Steps(&'static str),
    /// The largest memory of the server, which is read each second.
    Memory,
    /// The mean CPU of the server, which is read each second.
    Cpu,
}

/// A figure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) meaning: &'static str,
    place: Place,
}

/// The percentiles: how a threshold names them, and how a report does.
const QUANTILES: [(&str, &str); 6] = [
    ("p50", "p50_ms"),
    ("p90", "p90_ms"),
    ("p95", "p95_ms"),
    ("p99", "p99_ms"),
    ("p99.9", "p999_ms"),
    ("max", "max_ms"),
];

/// All figures, in the order in which they are explained.
pub(super) const FIGURES: [Figure; 19] = [
    figure(
        "notified",
        Unit::Time,
        Place::Latency(&[
            "/deliveries/latency",
            "/delays/told at the same server",
            "/delays/told at another server",
        ]),
        "How long a notification took, from the time at which its post was due until the client had it. Written with a percentile: `p99 of notified` is the time that 99 of 100 notifications kept within. If several loads measure it, the slowest counts.",
    ),
    figure(
        "posts",
        Unit::Time,
        Place::Latency(&["/posts/latency"]),
        "How long a post took, from the time at which it was due until its response. It counts from the due time and not from the sending, so a server that stalls cannot hide the posts that had to wait. Written with a percentile: `p99 of posts`.",
    ),
    figure(
        "sessions back",
        Unit::Time,
        Place::Latency(&["/delays/sessions back after"]),
        "How long clients were without a session after something was done to a server of `cluster`. Written with a percentile: `max of sessions back`.",
    ),
    figure(
        "notified per second",
        Unit::Rate,
        Place::Sum(&["/deliveries/per_second"]),
        "Notifications that clients received in a second, on average over the measured time; the sum of all loads.",
    ),
    figure(
        "posts per second",
        Unit::Rate,
        Place::Sum(&["/posts/per_second"]),
        "Posts that the server accepted in a second, on average over the measured time; the sum of all loads.",
    ),
    figure(
        "lost",
        Unit::Count,
        Place::Sum(&["/ledger/lost", "/sessions/lost", "/sessions/lost_unacknowledged"]),
        "Notifications or rows that the server had acknowledged, and that a client who had a right to them never received, without being told.",
    ),
    figure(
        "doubled",
        Unit::Count,
        Place::Sum(&["/ledger/doubled", "/sessions/doubled"]),
        "Notifications or rows that a client received twice.",
    ),
    figure(
        "reordered",
        Unit::Count,
        Place::Sum(&["/ledger/reordered", "/sessions/reordered"]),
        "Notifications that a client received after a later one of the same device.",
    ),
    figure(
        "unexpected",
        Unit::Count,
        Place::Sum(&["/ledger/unexpected", "/sessions/unexpected"]),
        "Notifications or rows that were never posted, or that the server had rejected.",
    ),
    figure("torn", Unit::Count, Place::Sum(&["/ledger/torn"]), "Collections of which only a part arrived."),
    figure(
        "ended",
        Unit::Count,
        Place::Sum(&["/clients/ended", "/sessions/ended"]),
        "Sessions of clients that ended, so that the client had to begin anew.",
    ),
    figure(
        "reconnects",
        Unit::Count,
        Place::Sum(&["/clients/reconnects", "/sessions/moves"]),
        "Times that a client went on with its session over a new connection.",
    ),
    figure(
        "5xx",
        Unit::Count,
        Place::Responses('5'),
        "Posts whose response had a status from 500 to 599: the server failed.",
    ),
    figure(
        "4xx",
        Unit::Count,
        Place::Responses('4'),
        "Posts whose response had a status from 400 to 499: the server rejected them.",
    ),
    figure(
        "failed",
        Unit::Count,
        Place::Steps("failed"),
        "Posts that were sent and not accepted, whatever the reason. Measured by `measurements` at a fixed or rising rate, which does not tell 4xx from 5xx.",
    ),
    figure(
        "late",
        Unit::Count,
        Place::Steps("late"),
        "Posts that were sent more than 10 ms after they were due, because every connection was still waiting for a response. Measured by `measurements` at a fixed or rising rate.",
    ),
    figure(
        "unsent",
        Unit::Count,
        Place::Steps("unsent"),
        "Posts that were not sent within 5 s after they were due. Measured by `measurements` at a fixed or rising rate.",
    ),
    figure(
        "server memory",
        Unit::Memory,
        Place::Memory,
        "The largest memory of the server process in the phase (PSS: its own memory and its share of what it shares), read once a second. Known if the server runs on this machine.",
    ),
    figure(
        "server CPU",
        Unit::Percent,
        Place::Cpu,
        "The CPU of the server process in percent of one core, on average over the phase. Known if the server runs on this machine.",
    ),
];

const fn figure(name: &'static str, unit: Unit, place: Place, meaning: &'static str) -> Figure {
    Figure { name, unit, meaning, place }
}

/// Returns the figure with this name.
///
/// # Errors
/// There is no such figure; the error names those that there are.
pub(super) fn named(name: &str) -> Result<&'static Figure, String> {
    let named = FIGURES.iter().find(|figure| figure.name.eq_ignore_ascii_case(name));
    named.ok_or_else(|| {
        format!("{name:?} is not a figure; there are {}", FIGURES.map(|figure| figure.name).join(", "))
    })
}

/// Returns the member of a report for a percentile such as `p99`.
pub(super) fn quantile(name: &str) -> Option<&'static str> {
    QUANTILES.iter().find(|(known, _)| *known == name).map(|(_, member)| *member)
}

/// Returns the names of all percentiles.
pub(super) fn quantiles() -> String {
    QUANTILES.map(|(name, _)| name).join(", ")
}

/// Explains a figure, or all of them if no word is given.
///
/// # Errors
/// There is no such figure.
pub(crate) fn explain(words: &[String]) -> Result<String, Error> {
    let in_words = |figure: &Figure| format!("{}\n    {}\n", figure.name, figure.meaning);
    match words.join(" ").as_str() {
        "" => Ok(FIGURES.iter().map(in_words).collect()),
        name => named(name).map(in_words).map_err(Error::Refused),
    }
}

impl Figure {
    /// Returns whether a threshold names it with a percentile.
    pub(super) fn has_quantiles(&self) -> bool {
        matches!(self.place, Place::Latency(_))
    }

    /// Returns the value in a phase: in the unit's base (milliseconds, bytes, percent), or nothing if no load measured
    /// it. `quantile` is the member of a report for figures with percentiles.
    pub(super) fn value(&self, quantile: &str, reports: &[Value], samples: &[Sample]) -> Option<f64> {
        let all = |pointers: &[&str]| -> Vec<f64> {
            let of = |report| pointers.iter().filter_map(move |pointer| number(report, pointer));
            reports.iter().flat_map(of).collect()
        };
        match self.place {
            Place::Latency(places) => reports
                .iter()
                .flat_map(|report| places.iter().filter_map(move |place| percentile(report, place, quantile)))
                .reduce(f64::max),
            Place::Sum(pointers) => all(pointers).into_iter().reduce(|sum, value| sum + value),
            Place::Responses(digit) => {
                let counted =
                    reports.iter().filter_map(|report| report.pointer("/posts/by_status")?.as_object());
                let of_class = |by_status: &serde_json::Map<String, Value>| -> f64 {
                    let class = by_status.iter().filter(|(status, _)| status.starts_with(digit));
                    // A sum of no floating-point numbers would be -0.
                    class.filter_map(|(_, count)| count.as_u64()).sum::<u64>() as f64
                };
                counted.map(of_class).reduce(|sum, value| sum + value)
            }
            Place::Steps(member) => {
                let steps = reports.iter().filter_map(|report| report.get("steps")?.as_array()).flatten();
                steps.filter_map(|step| step.get(member)?.as_f64()).reduce(|sum, value| sum + value)
            }
            Place::Memory => {
                samples.iter().filter_map(|sample| sample.server_memory).max().map(|bytes| bytes as f64)
            }
            Place::Cpu => {
                let known: Vec<f64> = samples.iter().filter_map(|sample| sample.server_cpu_percent).collect();
                (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
            }
        }
    }
}

fn number(report: &Value, pointer: &str) -> Option<f64> {
    report.pointer(pointer)?.as_f64()
}

/// Returns a percentile of a latency; `/delays/…` names one of the durations by its kind. Without samples there is none.
fn percentile(report: &Value, place: &str, quantile: &str) -> Option<f64> {
    let latency = match place.strip_prefix("/delays/") {
        Some(kind) => {
            report.get("delays")?.as_array()?.iter().find(|delay| delay["kind"] == kind)?.get("latency")?
        }
        None => report.pointer(place)?,
    };
    (latency["samples"].as_u64()? > 0).then(|| latency[quantile].as_f64()).flatten()
}
