//! The simulated operators of the fleet: they create operations, roll out firmware and acknowledge alarms.

use std::sync::Arc;

use platform_model::naming::naming;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::chance::Chance;
use super::device::FIRMWARE;
use super::plan::Kind;
use super::setup::groups;
use super::unit::after;
use super::wire::Wire;
use super::world::{TENANT, World, now, timestamp};
use crate::client::failure::{Code, Failure};

/// The mean seconds between two operations, and between two acknowledged alarms.
const OPERATION: f64 = 14.0;
const ACKNOWLEDGEMENT: f64 = 30.0;
/// The seconds until the first firmware roll-out, and between two of them.
const FIRST_ROLL_OUT: f64 = 15.0;
const ROLL_OUT: f64 = 900.0;
/// The seconds between two devices of a roll-out.
const RAMP: f64 = 2.0;
/// The seconds between two checks that the tenant still exists.
const CHECK: f64 = 10.0;

/// Simulates the operators until the tenant or its user is gone, and returns that failure.
pub(super) async fn work(world: Arc<World>, mut wire: Wire) -> Failure {
    let mut chance = world.chance(usize::MAX >> 2);
    let mut next = [after(5.0), after(ACKNOWLEDGEMENT), after(FIRST_ROLL_OUT), after(CHECK)];
    let mut release = 0;
    loop {
        let (index, due) = earliest(&next);
        sleep_until(due).await;
        let (pause, done) = match index {
            0 => (chance.wait(OPERATION).max(1.0), create_operation(&world, &mut wire, &mut chance).await),
            1 => (chance.wait(ACKNOWLEDGEMENT).max(1.0), acknowledge(&mut wire, &mut chance).await),
            2 => {
                release += 1;
                (ROLL_OUT, roll_out(&world, &mut wire, release).await)
            }
            _ => (CHECK, wire.read("/tenant/currentTenant").await.map(drop)),
        };
        next[index] = after(pause);
        match done {
            Err(failure) if failure.code() == Code::Denied => return is_gone(failure),
            Err(failure) => world.note(&failure),
            Ok(()) => {}
        }
    }
}

fn is_gone(failure: Failure) -> Failure {
    failure.hint(format!(
        "the tenant {TENANT} was deleted or suspended, or the password of its user was changed"
    ))
}

fn earliest(next: &[Instant]) -> (usize, Instant) {
    let earliest = next.iter().copied().enumerate().min_by_key(|(_, due)| *due);
    earliest.expect("there is always something to do")
}

async fn create_operation(world: &World, wire: &mut Wire, chance: &mut Chance) -> Result<(), Failure> {
    let plan = chance.pick(&world.fleet);
    let Some(id) = world.id(plan.number) else { return Ok(()) };
    let fragment = |name| naming().fragment(name);
    // Meters do not support the operation that sends a log.
    let (description, name, content) = match chance.number() % 10 {
        0..=3 => ("Restart", "Restart", json!({})),
        4..=6 => {
            let seconds = *chance.pick(&[10, 20, 30]);
            (
                "Measure at another interval",
                "Configuration",
                json!({"config": format!("interval = {seconds}\nalarms = on")}),
            )
        }
        _ if plan.kind.speaks_csv() => ("Restart", "Restart", json!({})),
        _ => (
            "Send the log",
            "LogfileRequest",
            json!({"logFile": "system", "dateFrom": timestamp(now() - 3600.0),
            "dateTo": timestamp(now()), "searchText": "", "maximumLines": 100}),
        ),
    };
    let body = json!({"deviceId": id, "description": description, fragment(name): content});
    wire.create("/devicecontrol/operations", body).await.map(drop)
}

async fn acknowledge(wire: &mut Wire, chance: &mut Chance) -> Result<(), Failure> {
    let open = wire.read("/alarm/alarms?status=ACTIVE&pageSize=30").await?;
    let open = open["alarms"].as_array().cloned().unwrap_or_default();
    // Alarms raised by the module are not acknowledged, because the module clears active alarms only.
    let open: Vec<&Value> = open.iter().filter(|alarm| alarm["type"] != "demo_TooWarm").collect();
    if open.is_empty() {
        return Ok(());
    }
    let path = format!("/alarm/alarms/{}", chance.pick(&open)["id"].as_str().unwrap_or_default());
    match wire.change(&path, json!({"status": "ACKNOWLEDGED"})).await {
        // The device has cleared the alarm in the meantime.
        Err(failure) if failure.code() == Code::Conflict => Ok(()),
        done => done,
    }
}

/// Rolls out new firmware to the devices of a group, one after the other.
async fn roll_out(world: &World, wire: &mut Wire, release: usize) -> Result<(), Failure> {
    let groups = groups(wire).await?;
    let wanted: Vec<_> = world
        .fleet
        .iter()
        .filter(|plan| matches!(plan.kind, Kind::Pump | Kind::Meter))
        .filter_map(|plan| plan.group.rsplit('/').next())
        .collect();
    let mut candidates =
        groups.iter().filter(|(_, name)| wanted.contains(&name.as_str())).collect::<Vec<_>>();
    candidates.sort_by_key(|(_, name)| wanted.iter().position(|group| group == name));
    if candidates.is_empty() {
        return Ok(());
    }
    let (id, name) = candidates[(release - 1) % candidates.len()];
    let version = format!("4.{}.{}", release / 10 + 1, release % 10);
    let body = json!({
        "groupId": id,
        "startDate": timestamp(now() + 1.0),
        "creationRamp": RAMP,
        "operationPrototype": {
            "description": format!("{FIRMWARE} {version} for {name}"),
            naming().fragment("Firmware"): {"name": FIRMWARE, "version": version, "url": ""},
        },
    });
    wire.create("/devicecontrol/bulkoperations", body).await.map(drop)
}
