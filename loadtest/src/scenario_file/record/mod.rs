//! `loadtest record`: writes a scenario file with the arrivals, the mix and the sizes of a tenant, from the
//! statistics of
//! the server and from its log of requests. It contains no content: no ids, names, texts or values.

mod file;
mod log;
mod statistics;

use std::fs;

use time::Date;
use time::format_description::well_known::Iso8601;

use self::log::Log;
use self::statistics::Statistics;
use crate::cli::{Common, Record};
use crate::error::Error;
use crate::report;

/// The number of kinds of requests.
const KINDS: usize = 6;

/// A kind of request that a scenario file can repeat, with the method and the path of the log and its key in a file.
const REQUESTS: [(Kind, &str, &str, &str); KINDS] = [
    (Kind::Alarms, "POST", "/alarm/alarms", "alarms"),
    (Kind::Events, "POST", "/event/events", "events"),
    (Kind::Measurements, "POST", "/measurement/measurements", "measurements"),
    (Kind::ReadAlarms, "GET", "/alarm/alarms", "reads"),
    (Kind::ReadEvents, "GET", "/event/events", "reads"),
    (Kind::ReadMeasurements, "GET", "/measurement/measurements", "reads"),
];

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Alarms,
    Events,
    Measurements,
    ReadAlarms,
    ReadEvents,
    ReadMeasurements,
}

/// The requests of each kind in a part of the recorded time.
type Counts = [u64; KINDS];

/// Everything that was recorded of a tenant.
#[derive(Debug)]
struct Recorded {
    /// The requests of each part of the recorded time.
    parts: Vec<Counts>,
    /// The seconds of each part.
    part_seconds: f64,
    statistics: Statistics,
    /// The devices whose users have lines in the log.
    active_devices: usize,
    /// Whether the log says that it left lines out.
    is_partial: bool,
}

/// Records a tenant and writes the scenario file.
///
/// # Errors
/// The target does not respond to the user, a file cannot be read or written, or there is nothing to record.
pub(crate) async fn record(settings: &Record, common: &Common) -> Result<bool, Error> {
    let target = common.target_and_server()?.0;
    target.check().await?;
    let tenant = target.tenant().await?;
    let statistics = Statistics::read(&target, day(settings)?).await?;
    let mut log = Log::new(&tenant);
    for file in &settings.log {
        let refused = |error| Error::Refused(format!("--log {}: {error}", file.display()));
        fs::read(file).map(|text| log.add(&String::from_utf8_lossy(&text))).map_err(refused)?;
    }
    let recorded = Recorded::of(&log, statistics, settings)?;
    let text = file::text(&recorded, settings);
    match &settings.out {
        Some(out) => {
            let refused = |error| Error::Refused(format!("--out {}: {error}", out.display()));
            fs::write(out, text).map_err(refused)?;
        }
        None => report::print(&text),
    }
    Ok(true)
}

/// Returns the day whose statistics are read, which is today if none is named.
fn day(settings: &Record) -> Result<Date, Error> {
    let Some(text) = &settings.day else { return Ok(time::OffsetDateTime::now_utc().date()) };
    let refused = || Error::Refused(format!("--day {text}: allowed is a date such as 2026-11-27"));
    Date::parse(text, &Iso8601::DATE).map_err(|_| refused())
}

impl Recorded {
    /// Combines the log and the statistics. Without any lines of the tenant, the statistics of the day are one part.
    ///
    /// # Errors
    /// Neither of them has a request that a file can repeat.
    fn of(log: &Log, statistics: Statistics, settings: &Record) -> Result<Self, Error> {
        let (parts, part_seconds) = match log.parts(settings.phases as usize) {
            Some(parts) => parts,
            None => (vec![statistics.counts()], statistics.seconds),
        };
        if parts.iter().flatten().all(|count| *count == 0) {
            return Err(Error::Refused(
                "nothing was recorded: the statistics of this day have no alarms, events or measurements, and the \
                log has \
                 no such requests of this tenant (the server must run with --request-log all)"
                    .to_owned(),
            ));
        }
        let (active_devices, is_partial) = (log.devices(), log.is_partial());
        Ok(Self { parts, part_seconds, statistics, active_devices, is_partial })
    }
}
