//! `availability`: many devices must send a message every minute and do; some of them stop and resume.
//! Exactly those must be reported, in time and once, and each report cleared once.

mod device_user;
mod heartbeat;
mod vigil;
mod watcher;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use self::device_user::DeviceUser;
use self::heartbeat::Heartbeat;
use self::vigil::Vigil;
use super::Bench;
use crate::cli::Availability;
use crate::devices;
use crate::error::Error;
use crate::ledger::run::Run;
use crate::progress::Progress;
use crate::report::{Fact, Report};
use crate::target::pages::{PAGE_SIZE, each_page};

/// The type of the alarm (R-04).
const ALARM_TYPE: &str = "plat_UnavailabilityAlarm";
/// The longest time after the interval until the alarm is raised (R-04: checked at least every 60 s).
const CHECKED_EVERY: Duration = Duration::from_secs(60);
/// The additional time for a notification.
const DELIVERY: Duration = Duration::from_secs(1);
/// The time in which unexpected reports may arrive.
const LATE_REPORTS: Duration = Duration::from_secs(20);
/// The longest time until all reports are cleared, after the last device sent a message.
const CLEARING_LIMIT: Duration = Duration::from_secs(30);

/// The silent devices, spread evenly among the others.
#[derive(Debug, Clone, Copy)]
struct Silence {
    devices: usize,
    silent: usize,
}

impl Silence {
    /// Returns whether a device falls silent.
    fn holds(self, device: usize) -> bool {
        (device + 1) * self.silent / self.devices > device * self.silent / self.devices
    }
}

/// The shared record of all parts of the scenario.
#[derive(Debug)]
struct AvailabilityRecord {
    run: Arc<Run>,
    vigil: Mutex<Vigil>,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Availability) -> Result<Report, Error> {
    let silence = Silence {
        devices: settings.devices as usize,
        silent: settings.silent.min(settings.devices) as usize,
    };
    let (interval, every) =
        (Duration::from_secs(60 * u64::from(settings.interval)), Duration::from_secs(settings.every));
    let started_at = OffsetDateTime::now_utc();
    let user = DeviceUser::create(&bench.target).await?;
    let body = format!(
        r#"{{"name":"Load test device","type":"loadtest_Device","plat_IsDevice":{{}},"plat_RequiredAvailability":{{"responseInterval":{}}}}}"#,
        settings.interval
    );
    let ids = Arc::new(devices::create_as(user.target(), silence.devices, &body).await?);
    let notes = Arc::new(AvailabilityRecord {
        run: Arc::new(Run::new(ids.len())),
        vigil: Mutex::new(Vigil::new(ids.len())),
    });
    let watcher = watcher::open(&bench.target, &ids, &notes).await?;

    let window = bench.open_window();
    let heartbeat = Heartbeat::start(user.target(), &ids, &notes, silence, settings.sends.kind(), every);
    Progress::pass("all devices speak", Instant::now() + every + every / 2).await;
    heartbeat.silence();
    let all_reported = interval + CHECKED_EVERY + LATE_REPORTS;
    Progress::pass("some are silent", Instant::now() + all_reported).await;
    let mut facts = shown(bench, &ids, silence).await?;
    heartbeat.speak_again();
    Progress::pass("all speak again", Instant::now() + every).await;
    let cleared = async {
        while notes.vigil.lock().progress().1 < silence.silent {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(CLEARING_LIMIT, cleared).await.ok();
    Progress::pass("late reports", Instant::now() + LATE_REPORTS).await;
    let responses = heartbeat.stop().await;
    let (seconds, cpu) = bench.close_window(&window);

    let micros = |duration: Duration| duration.as_micros() as u64;
    let (earliest, latest) = (micros(interval), micros(interval + CHECKED_EVERY + DELIVERY));
    // The server receives a message before its response arrives, so a silence slightly shorter than the interval is
    // correct.
    let earliest = earliest.saturating_sub(micros(DELIVERY));
    facts.extend(notes.vigil.lock().facts(|device| silence.holds(device), earliest, latest));
    facts.extend(listed(bench, &ids, silence, started_at).await?);
    facts.push(Fact::number("messages without a 201", responses.failures() as usize, 0));
    facts.push(Fact::number("watchers that ended", usize::from(watcher.is_finished()), 0));
    watcher.abort();
    let delays = notes.vigil.lock().delays();
    let clean = facts.iter().all(|fact| fact.holds);
    let devices_left = bench.remove_devices(Arc::unwrap_or_clone(ids)).await;
    if !bench.common.keep {
        user.remove(&bench.target).await?;
    }
    let cpu = Some(cpu);
    Ok(Report { seconds, clean, facts, delays, cpu, devices_left, ..bench.report("availability", settings) })
}

/// Checks what two of the devices show about themselves while some are silent (R-01).
async fn shown(bench: &Bench, ids: &[String], silence: Silence) -> Result<Vec<Fact>, Error> {
    let mut connection = bench.target.connect().await?;
    let mut facts = Vec::new();
    let kinds =
        [("a silent device shows", true, "UNAVAILABLE"), ("another device shows", false, "AVAILABLE")];
    for (what, is_silent, expected) in kinds {
        let Some(device) = (0..ids.len()).find(|device| silence.holds(*device) == is_silent) else {
            continue;
        };
        let request = bench.target.get(&format!("/inventory/managedObjects/{}", ids[device]));
        let object: Value = connection.json(200, "reading a device", &request).await?;
        let found = object["plat_Availability"]["status"].as_str().unwrap_or("nothing").to_owned();
        facts.push(Fact { what, holds: found == expected, found, expected: expected.to_owned() });
    }
    Ok(facts)
}

/// Checks the list of alarms at the end, independently of notifications.
async fn listed(
    bench: &Bench,
    ids: &[String],
    silence: Silence,
    since: OffsetDateTime,
) -> Result<Vec<Fact>, Error> {
    let silent: std::collections::HashSet<&str> =
        (0..ids.len()).filter(|device| silence.holds(*device)).map(|device| ids[device].as_str()).collect();
    let mut connection = bench.target.connect().await?;
    // The time of the alarm may be that of the last message.
    let since = (since - time::Duration::minutes(5)).replace_nanosecond(0).unwrap_or(since);
    let since = since.format(&Rfc3339).unwrap_or_default();
    let first = format!("/alarm/alarms?type={ALARM_TYPE}&dateFrom={since}&pageSize={PAGE_SIZE}");
    let (mut cleared, mut open) = (0, 0);
    each_page(&bench.target, &mut connection, first, |body| {
        let page: Value = serde_json::from_slice(body).map_err(std::io::Error::from)?;
        let alarms = page["alarms"].as_array().into_iter().flatten();
        for alarm in
            alarms.filter(|alarm| alarm["source"]["id"].as_str().is_some_and(|id| silent.contains(id)))
        {
            if alarm["status"] == "CLEARED" && alarm["count"] == 1 { cleared += 1 } else { open += 1 }
        }
        Ok(())
    })
    .await?;
    Ok(vec![
        Fact::number("alarms listed, cleared", cleared, silence.silent),
        Fact::number("alarms listed and still open", open, 0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_silent_devices_is_the_requested_one() {
        for (devices, silent) in [(10_000, 1000), (10, 3), (7, 7), (5, 0)] {
            let silence = Silence { devices, silent };
            assert_eq!((0..devices).filter(|device| silence.holds(*device)).count(), silent);
        }
    }
}
