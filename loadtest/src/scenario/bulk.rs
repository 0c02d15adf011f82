//! `bulk`: one bulk operation over a group. It must make exactly one operation for each device, evenly spread over the time
//! its ramp asks for; agents that hold polls meanwhile must each be told of their own once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Bench;
use crate::agents::{Agent, Agents, Manner, Notes};
use crate::cli::Bulk;
use crate::connection::Connection;
use crate::devices;
use crate::error::Error;
use crate::fleet_registration::{Fleet, Rows};
use crate::gaps::Gaps;
use crate::operation_ledger::OperationLedger;
use crate::operations::{self, Operation};
use crate::progress::Progress;
use crate::random;
use crate::report::{Fact, Report};
use crate::run::Run;
use crate::target::Target;

const OBJECTS: &str = "/inventory/managedObjects";
const PATH: &str = "/devicecontrol/bulkoperations";
/// Time between two looks at the bulk operation.
const GLANCE: Duration = Duration::from_millis(500);
/// Time a bulk operation is given beyond twice its ramp.
const GRACE: Duration = Duration::from_secs(60);

/// The answer to what was made.
#[derive(Debug, Deserialize)]
struct Made {
    id: serde_json::Value,
}

/// As much of a bulk operation as is looked at.
#[derive(Debug, Deserialize)]
struct Standing {
    status: String,
    progress: Counts,
}

/// Operations of a bulk operation by where they stand.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
struct Counts {
    pending: usize,
    executing: usize,
    successful: usize,
    failed: usize,
    all: usize,
}

/// The devices of the group.
#[derive(Debug)]
struct Group {
    id: String,
    fleet: Fleet,
    /// Managed objects of the devices; agents come first.
    devices: Vec<String>,
    agents: usize,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Bulk) -> Result<Report, Error> {
    let group = Group::make(bench, settings).await?;
    let run = Arc::new(Run::new(group.agents));
    let notes = Arc::new(Notes::new(&run, OperationLedger::new(group.agent_of_each())));
    let agents = match settings.hold_polls {
        true => {
            let manner = Manner { connecting: bench.common.connecting, stays: None };
            Some(Agents::open(&notes, group.seats(&bench.target), manner).await?)
        }
        false => None,
    };

    let window = bench.open_window();
    let mut connection = bench.target.connect().await?;
    let id = schedule(bench, &mut connection, &group, settings).await?;
    let standing = completed(bench, &mut connection, &id, settings).await?;
    if agents.is_some() {
        notes.all_done(settings.devices as usize, Duration::from_secs(bench.common.drain)).await;
    }
    let (seconds, cpu) = bench.close_window(&window);
    let query = format!("bulkOperationId={id}");
    let made = operations::list(&bench.target, &mut connection, &query).await?;
    let mut facts = facts(&group.devices, &made, standing);
    let gaps = Gaps::of(made.iter().map(creation_time).collect::<Result<_, _>>()?);
    facts.push(gaps.fact(settings.ramp, settings.tolerance));
    let mut delays = vec![gaps.delay()];
    if agents.is_some() {
        made.iter().for_each(|operation| notes.listed(operation));
        let counts = look(bench, &mut connection, &id).await?.progress;
        facts.push(Fact::number("progress: successful", counts.successful, group.devices.len()));
        facts.extend(notes.ledger().facts(group.devices.len()));
        delays.extend(notes.ledger().delays(0));
    }
    let clients = agents.map(Agents::close);
    let ended = clients.as_ref().is_some_and(|clients| clients.ended > 0);
    let clean = !ended && facts.iter().all(|fact| fact.holds);
    let devices_left = group.remove(bench, &id).await;
    Ok(Report {
        seconds,
        clean,
        cpu: Some(cpu),
        clients,
        facts,
        delays,
        devices_left,
        ..bench.report("bulk", settings)
    })
}

impl Group {
    async fn make(bench: &Bench, settings: &Bulk) -> Result<Self, Error> {
        let target = &bench.target;
        let devices = settings.devices as usize;
        let agents = settings.agents.unwrap_or(settings.devices).min(settings.devices) as usize;
        let name = format!("loadtest {}", random::text(10));
        let body = json!({"name": name, "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}}).to_string();
        let mut connection = target.connect().await?;
        let id = make(&mut connection, "making the group", &target.post(OBJECTS, &body)).await?;
        let fleet = Fleet::register(target, Rows { devices, agents, group: Some(&name) }).await?;
        let devices = fleet.ids(target).await?;
        let links = (agents..devices.len()).map(|child| {
            let path = format!("{OBJECTS}/{}/childDevices", devices[child % agents]);
            target.post(&path, &json!({"managedObject": {"id": devices[child]}}).to_string())
        });
        let unlinked = devices::send_all(target, "linking devices to agents", links.collect(), 201).await;
        match unlinked {
            0 => Ok(Self { id, fleet, devices, agents }),
            _ => Err(Error::Refused(format!("{unlinked} devices could not be linked to their agents"))),
        }
    }

    fn agent_of_each(&self) -> HashMap<String, u32> {
        let agents = (0..self.agents as u32).cycle();
        self.devices.iter().cloned().zip(agents).collect()
    }

    fn seats(&self, admin: &Target) -> Vec<Agent> {
        let agent = |number: usize| Agent {
            number: number as u32,
            id: self.devices[number].clone(),
            target: self.fleet.target(admin, number),
        };
        (0..self.agents).map(agent).collect()
    }

    /// Removes everything; returns how much is left against the wish.
    async fn remove(self, bench: &Bench, bulk_operation: &str) -> usize {
        if bench.common.keep {
            return 0;
        }
        let target = &bench.target;
        let others = vec![
            target.delete(&format!("{PATH}/{bulk_operation}")),
            target.delete(&format!("{OBJECTS}/{}", self.id)),
        ];
        let left = devices::send_all(target, "removing the group", others, 204).await;
        left + self.fleet.remove(target, &self.devices).await
    }
}

/// Whether each device has one operation and nobody else has one.
fn facts(devices: &[String], made: &[Operation], standing: Option<Standing>) -> Vec<Fact> {
    let count = devices.len();
    let own: HashSet<&str> = devices.iter().map(String::as_str).collect();
    let served: HashSet<&str> = made.iter().map(|operation| operation.device_id.as_str()).collect();
    let status = standing.as_ref().map_or("not in time", |standing| &standing.status).to_owned();
    let progress = standing.map(|standing| standing.progress).unwrap_or_default();
    vec![
        Fact {
            what: "bulk operation",
            holds: status == "COMPLETED",
            found: status,
            expected: "COMPLETED".to_owned(),
        },
        Fact::number("progress: all", progress.all, count),
        Fact::number(
            "progress: by status",
            progress.pending + progress.executing + progress.successful + progress.failed,
            count,
        ),
        Fact::number("progress: failed", progress.failed, 0),
        Fact::number("devices served", served.intersection(&own).count(), count),
        Fact::number("others served", served.difference(&own).count(), 0),
        Fact::number("served twice", made.len() - served.len(), 0),
    ]
}

/// Sends what makes something; gives its id.
async fn make(connection: &mut Connection, step: &'static str, request: &[u8]) -> Result<String, Error> {
    let response = connection.call(step, request).await?;
    match serde_json::from_slice::<Made>(response.body) {
        // The id of a bulk operation is a number (C-13).
        Ok(Made { id }) if response.status == 201 => Ok(id.as_str().map_or(id.to_string(), str::to_owned)),
        _ => Err(Error::status(step, response.status, response.body)),
    }
}

/// Schedules the bulk operation, to start now; gives its id.
async fn schedule(
    bench: &Bench,
    connection: &mut Connection,
    group: &Group,
    settings: &Bulk,
) -> Result<String, Error> {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_millisecond(now.millisecond()).unwrap_or(now).format(&Rfc3339).unwrap_or_default();
    let body = json!({
        "groupId": group.id,
        "startDate": now,
        "creationRamp": settings.ramp,
        "operationPrototype": {"description": "Queued by the load test", "plat_Restart": {}},
    });
    let request = bench.target.post(PATH, &body.to_string());
    make(connection, "scheduling the bulk operation", &request).await
}

/// Waits until the bulk operation is COMPLETED; `None` when that takes more than a minute longer than twice its ramp.
async fn completed(
    bench: &Bench,
    connection: &mut Connection,
    id: &str,
    settings: &Bulk,
) -> Result<Option<Standing>, Error> {
    let ramp = Duration::from_secs_f64(settings.ramp * f64::from(settings.devices));
    let limit = Instant::now() + ramp * 2 + GRACE;
    let progress = Progress::count("making operations", settings.devices as usize);
    let mut before = 0;
    while Instant::now() < limit {
        let standing = look(bench, connection, id).await?;
        if standing.status == "COMPLETED" {
            progress.finish();
            return Ok(Some(standing));
        }
        let Counts { pending, executing, successful, failed, .. } = standing.progress;
        let made = pending + executing + successful + failed;
        (before..made).for_each(|_| progress.advance());
        before = made;
        tokio::time::sleep(GLANCE).await;
    }
    Ok(None)
}

async fn look(bench: &Bench, connection: &mut Connection, id: &str) -> Result<Standing, Error> {
    let step = "looking at the bulk operation";
    let response = connection.call(step, &bench.target.get(&format!("{PATH}/{id}"))).await?;
    match serde_json::from_slice(response.body) {
        Ok(standing) if response.status == 200 => Ok(standing),
        _ => Err(Error::status(step, response.status, response.body)),
    }
}

/// In microseconds.
fn creation_time(operation: &Operation) -> Result<i64, Error> {
    let time = OffsetDateTime::parse(&operation.creation_time, &Rfc3339);
    let time = time.map_err(|error| Error::Refused(format!("{}: {error}", operation.creation_time)))?;
    Ok((time.unix_timestamp_nanos() / 1000) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(id: &str, device: &str) -> Operation {
        let text = r#""creationTime":"2026-01-02T03:04:05.678Z","status":"PENDING""#;
        serde_json::from_str(&format!(r#"{{"id":"{id}","deviceId":"{device}",{text}}}"#)).unwrap()
    }

    /// What is wrong with these operations of a group of a and b.
    fn wrong(made: &[(&str, &str)], standing: Option<&str>) -> Vec<&'static str> {
        let devices = ["a", "b"].map(str::to_owned);
        let made: Vec<_> = made.iter().map(|(id, device)| operation(id, device)).collect();
        let standing = standing.map(|text| serde_json::from_str(text).unwrap());
        let facts = facts(&devices, &made, standing);
        facts.into_iter().filter(|fact| !fact.holds).map(|fact| fact.what).collect()
    }

    #[test]
    fn one_operation_for_each_device_is_clean_and_all_else_is_told() {
        let done = r#"{"status":"COMPLETED","progress":{"pending":1,"executing":0,"successful":1,"failed":0,"all":2}}"#;
        assert!(wrong(&[("1", "a"), ("2", "b")], Some(done)).is_empty());
        assert_eq!(wrong(&[("1", "a")], Some(done)), ["devices served"]);
        assert_eq!(wrong(&[("1", "a"), ("2", "b"), ("3", "b")], Some(done)), ["served twice"]);
        assert_eq!(wrong(&[("1", "a"), ("2", "b"), ("3", "c")], Some(done)), ["others served"]);
        let failed =
            r#"{"status":"ACTIVE","progress":{"pending":0,"executing":0,"successful":1,"failed":2,"all":3}}"#;
        assert_eq!(
            wrong(&[("1", "a"), ("2", "b")], Some(failed)),
            ["bulk operation", "progress: all", "progress: by status", "progress: failed"]
        );
        assert_eq!(
            wrong(&[("1", "a"), ("2", "b")], None),
            ["bulk operation", "progress: all", "progress: by status"]
        );
    }

    #[test]
    fn creation_times_are_read_to_the_microsecond() {
        let mut made = operation("1", "a");
        let first = creation_time(&made).unwrap();
        made.creation_time = "2026-01-02T04:04:05.679001+01:00".to_owned();
        assert_eq!(creation_time(&made).unwrap() - first, 1001);
    }
}
