//! `bulk`: one bulk operation over a group. It must create exactly one operation for each device, spread
//! evenly over the time of its ramp; agents that hold polls meanwhile must each receive their own once.

mod agents;
mod bulk_operation;
mod gaps;
mod group;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use self::agents::{AgentRecord, Agents};
use self::bulk_operation::{BulkOperation, BulkProgress};
use self::gaps::Gaps;
use self::group::Group;
use super::Bench;
use crate::cli::Bulk;
use crate::error::Error;
use crate::ledger::run::Run;
use crate::protocol::operations::Operation;
use crate::protocol::operations::ledger::OperationLedger;
use crate::report::{Fact, Report};

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Bulk) -> Result<Report, Error> {
    let group = Group::make(&bench.target, settings).await?;
    let run = Arc::new(Run::new(group.agents));
    let notes = Arc::new(AgentRecord::new(&run, OperationLedger::new(group.agent_of_each())));
    let agents = open(bench, settings, &group, &notes).await?;

    let window = bench.open_window();
    let mut bulk_operation = BulkOperation::schedule(&bench.target, &group.id, settings.ramp).await?;
    let standing = bulk_operation.completed(settings).await?;
    if agents.is_some() {
        notes.all_done(group.devices.len(), Duration::from_secs(bench.common.drain)).await;
    }
    let (seconds, cpu) = bench.close_window(&window);
    let made = bulk_operation.operations().await?;
    let gaps = Gaps::of(made.iter().map(creation_time).collect::<Result<_, _>>()?);
    let mut facts = facts(&group.devices, &made, standing);
    facts.extend([gaps.fact(settings.ramp, settings.tolerance), gaps.haste(settings.ramp)]);
    let mut delays = vec![gaps.delay()];
    if agents.is_some() {
        facts.extend(carried_out(&mut bulk_operation, &notes, &made, group.devices.len()).await?);
        delays.extend(notes.ledger.lock().delays(&(0..u64::MAX)));
    }
    let clients = agents.map(Agents::close);
    let ended = clients.as_ref().is_some_and(|clients| clients.ended > 0);
    let clean = !ended && facts.iter().all(|fact| fact.holds);
    let devices_left =
        if bench.common.keep { 0 } else { bulk_operation.remove().await + group.remove(&bench.target).await };
    let report = bench.report("bulk", settings);
    Ok(Report { seconds, clean, cpu: Some(cpu), clients, facts, delays, devices_left, ..report })
}

/// Connects the agents, if they hold polls.
async fn open(
    bench: &Bench,
    settings: &Bulk,
    group: &Group,
    notes: &Arc<AgentRecord>,
) -> Result<Option<Agents>, Error> {
    if !settings.hold_polls {
        return Ok(None);
    }
    Agents::open(notes, group.seats(&bench.target), bench.common.connecting).await.map(Some)
}

/// Checks that each agent received its own operation once, and executed it.
async fn carried_out(
    bulk_operation: &mut BulkOperation,
    notes: &AgentRecord,
    made: &[Operation],
    devices: usize,
) -> Result<Vec<Fact>, Error> {
    made.iter().for_each(|operation| notes.ledger.lock().listed(operation));
    let progress = bulk_operation.look().await?.progress;
    let mut facts = vec![Fact::number("progress: successful", progress.successful, devices)];
    facts.extend(notes.ledger.lock().facts(devices..=devices, &(0..u64::MAX)));
    Ok(facts)
}

/// Checks that each device has one operation and no other device has one.
fn facts(devices: &[String], made: &[Operation], standing: Option<BulkProgress>) -> Vec<Fact> {
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
        Fact::number("progress: by status", progress.made(), count),
        Fact::number("progress: failed", progress.failed, 0),
        Fact::number("devices served", served.intersection(&own).count(), count),
        Fact::number("others served", served.difference(&own).count(), 0),
        Fact::number("served twice", made.len() - served.len(), 0),
    ]
}

/// Returns the creation time in microseconds.
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

    /// Returns the faults of these operations for a group of a and b.
    fn wrong(made: &[(&str, &str)], standing: Option<&str>) -> Vec<&'static str> {
        let devices = ["a", "b"].map(str::to_owned);
        let made: Vec<_> = made.iter().map(|(id, device)| operation(id, device)).collect();
        let standing = standing.map(|text| serde_json::from_str(text).unwrap());
        let facts = facts(&devices, &made, standing);
        facts.into_iter().filter(|fact| !fact.holds).map(|fact| fact.what).collect()
    }

    #[test]
    fn one_operation_for_each_device_is_clean_and_anything_else_is_reported() {
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
