//! The figures that a threshold may name, their meaning, and their places in the reports of a phase.

use serde_json::Value;

use super::sample::{Sample, slope};
use crate::ledger::latency::quantile_of;
use crate::traffic::schedule::quantity::Unit;

/// The place of a figure in the reports of the loads.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// A percentile; of several loads, the worst one.
    Latency(&'static [&'static str]),
    /// The sum of these numbers over all loads.
    Sum(&'static [&'static str]),
    /// The number of posts whose response status begins with this digit, over all loads.
    Responses(char),
    /// The sum of these numbers, and of a member of the steps of loads with rising rates.
    Steps(&'static [&'static str], &'static str),
    /// The largest of the samples of each second.
    Largest(&'static str),
    /// The mean of the samples.
    Mean(&'static str),
    /// The growth of the samples per hour.
    Slope(&'static str),
}

/// A figure.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) meaning: &'static str,
    place: Place,
}

/// A percentile of a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Percentile {
    /// A part of all values, above 0 and below 1, that do not exceed it.
    Part(f64),
    /// The largest value.
    Largest,
}

/// All figures, in the order in which `explain` lists them.
pub(super) const FIGURES: [Figure; 37] = [
    figure(
        "notified",
        Unit::Time,
        Place::Latency(&["/deliveries/latency"]),
        "The time from the due time of a post until the client received its notification. It is written with a \
         percentile: `p99 of notified` is the time that 99 of 100 notifications do not exceed. If several loads \
         measure it, the slowest counts.",
    ),
    figure(
        "posts",
        Unit::Time,
        Place::Latency(&["/posts/latency"]),
        "The time from the due time of a post until its response. It starts at the due time and not when the post is \
         sent, so a server that stalls cannot hide the posts that had to wait. It is written with a percentile: `p99 \
         of posts`.",
    ),
    figure(
        "sessions back",
        Unit::Time,
        Place::Latency(&["/delays/sessions back after"]),
        "The time that clients were without a session after a fault of a server. It is written with a percentile: \
         `max of sessions back`.",
    ),
    figure(
        "round trip",
        Unit::Time,
        Place::Latency(&["/delays/round trip"]),
        "The time from the due time of an operation until the server accepted its status SUCCESSFUL. It includes the \
         time that agents need. It is written with a percentile: `p99 of round trip`.",
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
        "reads",
        Unit::Time,
        Place::Latency(&["/queries/latency"]),
        "The time from the due time of a read of a group until its response was complete; a further page counts from \
        the \
         end of the one before. It is written with a percentile: `p99 of reads`.",
    ),
    figure(
        "reads per second",
        Unit::Rate,
        Place::Sum(&["/queries/per_second"]),
        "Reads of groups with a response 200, on average over the phase.",
    ),
    figure(
        "failed reads",
        Unit::Count,
        Place::Sum(&["/queries/failed"]),
        "Reads of groups without a response 200, for any reason.",
    ),
    figure(
        "consumed",
        Unit::Time,
        Place::Latency(&["/consumed/latency"]),
        "The time from the response to a post until a named consumer received its notification. It includes the time \
         in which the reader was away. It is written with a percentile: `p99 of consumed`.",
    ),
    figure(
        "consumed per second",
        Unit::Rate,
        Place::Sum(&["/consumed/per_second"]),
        "Notifications of accepted posts that named consumers received in a second, on average over the phase; the sum \
         of all consumers.",
    ),
    figure(
        "repeated",
        Unit::Count,
        Place::Sum(&["/consumed/repeated"]),
        "Further deliveries of positions that a named consumer had received before. They are no faults, because it may \
         not have acknowledged them; counted in the last phase.",
    ),
    figure(
        "holes",
        Unit::Count,
        Place::Sum(&["/consumed/holes", "/consumed/unread"]),
        "Positions that a named consumer of all changes did not receive before later ones, or until the end.",
    ),
    figure(
        "gaps",
        Unit::Count,
        Place::Sum(&["/consumed/gaps"]),
        "Gaps that the server reported to a named consumer (`recovered: false`).",
    ),
    figure(
        "lost",
        Unit::Count,
        Place::Sum(&[
            "/ledger/lost",
            "/sessions/lost",
            "/sessions/lost_unacknowledged",
            "/consumed/lost",
            "/consumed/lost_unacknowledged",
        ]),
        "Notifications or rows of accepted posts that an entitled client or a named consumer never received, although \
         its session continued and no gap was reported.",
    ),
    figure(
        "doubled",
        Unit::Count,
        Place::Sum(&["/ledger/doubled", "/sessions/doubled", "/consumed/doubled"]),
        "Notifications or rows that a client received twice.",
    ),
    figure(
        "reordered",
        Unit::Count,
        Place::Sum(&["/ledger/reordered", "/sessions/reordered", "/consumed/reordered"]),
        "Notifications that a client received after a later one of the same device.",
    ),
    figure(
        "unexpected",
        Unit::Count,
        Place::Sum(&["/ledger/unexpected", "/sessions/unexpected", "/consumed/unexpected"]),
        "Notifications or rows that were never posted, or that the server had rejected.",
    ),
    figure(
        "told",
        Unit::Count,
        Place::Sum(&["/sessions/told", "/consumed/told"]),
        "Notifications that a client did not receive, and knows that it may have missed, because its session ended \
         or it had none.",
    ),
    figure(
        "not stored",
        Unit::Count,
        Place::Sum(&["/sessions/not_stored", "/ledger/not_stored"]),
        "Posts that the server had accepted and that were not found in its database at the end.",
    ),
    figure("torn", Unit::Count, Place::Sum(&["/ledger/torn"]), "Collections of which only a part arrived."),
    figure(
        "ended",
        Unit::Count,
        Place::Sum(&["/clients/ended", "/sessions/ended"]),
        "Sessions of clients that ended, so that the client had to open a new one.",
    ),
    figure(
        "reconnects",
        Unit::Count,
        Place::Sum(&["/clients/reconnects", "/sessions/moves"]),
        "The number of times that a client continued its session over a new connection.",
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
        Place::Steps(&["/posts/failed"], "failed"),
        "Posts that were sent and not accepted, for any reason.",
    ),
    figure(
        "late",
        Unit::Count,
        Place::Steps(&["/kept/late"], "late"),
        "Posts that were sent more than 10 ms after they were due, because their connections were still waiting for \
         a response. Measured by groups, and by `measurements` at a fixed or rising rate.",
    ),
    figure(
        "unsent",
        Unit::Count,
        Place::Steps(&["/kept/unsent"], "unsent"),
        "Posts that were not sent at all, because their connections were waiting for a response for 30 s (groups) or \
         5 s (`measurements` at a fixed or rising rate) after they were due.",
    ),
    figure(
        "server memory",
        Unit::Memory,
        Place::Largest("server_memory"),
        "The largest memory of the server process in the phase (PSS: its own memory and its share of what it \
         shares), read once a second; the sum of several servers. Known if the server runs on this machine.",
    ),
    figure(
        "server memory growth",
        Unit::Growth,
        Place::Slope("server_memory"),
        "The growth of the server's memory per hour, by the slope of a line through its memory in the phase (the \
         median of the slopes between all pairs of seconds, so that a single peak does not count).",
    ),
    figure(
        "memory per client",
        Unit::Memory,
        Place::Sum(&["/memory/per_poll"]),
        "The growth of the server's memory while all clients connected, for each of them. Measured in the first phase, \
         with at least 1000 clients, if the server had used less than five seconds of CPU before: otherwise it would \
         use \
         memory again that it already had.",
    ),
    figure(
        "server CPU",
        Unit::Percent,
        Place::Mean("server_cpu_percent"),
        "The CPU of the server process in percent of one core, on average over the phase; the sum of several \
         servers. Known if the server runs on this machine.",
    ),
    figure(
        "open files",
        Unit::Count,
        Place::Largest("server_files"),
        "The largest number of files and sockets that the server had open.",
    ),
    figure(
        "open files growth",
        Unit::PerHour,
        Place::Slope("server_files"),
        "The growth of the number of open files and sockets per hour, by the slope as for memory.",
    ),
    figure(
        "PostgreSQL memory",
        Unit::Memory,
        Place::Largest("postgres_memory"),
        "The largest memory of all processes of PostgreSQL (PSS), read every ten seconds. Known if the server runs \
         its private PostgreSQL on this machine.",
    ),
    figure(
        "PostgreSQL CPU",
        Unit::Percent,
        Place::Mean("postgres_cpu_percent"),
        "The CPU of all processes of PostgreSQL in percent of one core, on average over the phase. Known as its \
         memory.",
    ),
    figure(
        "database growth",
        Unit::Growth,
        Place::Slope("database_size"),
        "The growth of the database per hour, by the slope of its size. Known if the run starts the servers.",
    ),
];

const fn figure(name: &'static str, unit: Unit, place: Place, meaning: &'static str) -> Figure {
    Figure { name, unit, meaning, place }
}

/// Returns the figure with this name.
///
/// # Errors
/// An unknown name; the error lists the known ones.
pub(super) fn named(name: &str) -> Result<&'static Figure, String> {
    let named = FIGURES.iter().find(|figure| figure.name.eq_ignore_ascii_case(name));
    named.ok_or_else(|| {
        format!("{name:?} is not a figure; there are {}", FIGURES.map(|figure| figure.name).join(", "))
    })
}

/// Reads a percentile such as `p99` or `p97.5`.
///
/// # Errors
/// Another text; the error lists what is allowed.
pub(super) fn percentile(name: &str) -> Result<Percentile, String> {
    let percent = name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
    match percent.filter(|percent| *percent > 0.0 && *percent < 100.0) {
        _ if name == "max" => Ok(Percentile::Largest),
        Some(percent) => Ok(Percentile::Part(percent / 100.0)),
        None => {
            Err(format!("{name:?} is not a percentile; write p50, p97.5 or any other below p100, or max"))
        }
    }
}

impl Figure {
    /// Returns whether a threshold has to name this figure with a percentile.
    pub(super) fn has_quantiles(&self) -> bool {
        matches!(self.place, Place::Latency(_))
    }

    /// Returns the value in a phase in the base unit (milliseconds, bytes, percent), or `None` if no load measured it.
    /// Figures of latencies need a percentile.
    pub(super) fn value(
        &self,
        asked: Option<Percentile>,
        reports: &[Value],
        samples: &[Sample],
    ) -> Option<f64> {
        let all = |pointers: &[&str]| -> Vec<f64> {
            let of = |report| pointers.iter().filter_map(move |pointer| number(report, pointer));
            reports.iter().flat_map(of).collect()
        };
        match self.place {
            Place::Latency(places) => reports
                .iter()
                .flat_map(|report| places.iter().filter_map(move |place| latency(report, place, asked?)))
                .reduce(f64::max),
            Place::Sum(pointers) => all(pointers).into_iter().reduce(|sum, value| sum + value),
            Place::Responses(digit) => {
                let counted =
                    reports.iter().filter_map(|report| report.pointer("/posts/by_status")?.as_object());
                let of_class = |by_status: &serde_json::Map<String, Value>| -> f64 {
                    let class = by_status.iter().filter(|(status, _)| status.starts_with(digit));
                    // The sum of an empty iterator of floating-point numbers would be -0.
                    class.filter_map(|(_, count)| count.as_u64()).sum::<u64>() as f64
                };
                counted.map(of_class).reduce(|sum, value| sum + value)
            }
            Place::Steps(pointers, member) => {
                let steps = reports.iter().filter_map(|report| report.get("steps")?.as_array()).flatten();
                let of_steps = steps.filter_map(|step| step.get(member)?.as_f64());
                all(pointers).into_iter().chain(of_steps).reduce(|sum, value| sum + value)
            }
            Place::Largest(name) => samples.iter().filter_map(|sample| sample.value(name)).reduce(f64::max),
            Place::Mean(name) => {
                let known: Vec<f64> = samples.iter().filter_map(|sample| sample.value(name)).collect();
                (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
            }
            Place::Slope(name) => slope(samples, name).map(|per_second| per_second * 3600.0),
        }
    }
}

fn number(report: &Value, pointer: &str) -> Option<f64> {
    report.pointer(pointer)?.as_f64()
}

/// Returns a percentile of a latency, or `None` without samples; `/delays/…` selects a duration by its kind.
fn latency(report: &Value, place: &str, asked: Percentile) -> Option<f64> {
    let latency = match place.strip_prefix("/delays/") {
        Some(kind) => {
            report.get("delays")?.as_array()?.iter().find(|delay| delay["kind"] == kind)?.get("latency")?
        }
        None => report.pointer(place)?,
    };
    let has_samples = latency["samples"].as_u64()? > 0;
    has_samples.then_some(())?;
    match asked {
        Percentile::Largest => latency["max_ms"].as_f64(),
        Percentile::Part(part) => quantile_of(latency["histogram_us"].as_str()?, part),
    }
}
