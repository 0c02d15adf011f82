//! The data of the last day that a new demo starts with, so that its charts are not empty. It is stored without
//! notifications.

use std::sync::Arc;

use serde_json::{Value, json};

use super::plan::{Kind, Plan};
use super::shape::{measurement, readings};
use super::wire::Wire;
use super::world::{World, now, timestamp};
use crate::client::failure::Failure;

const HOUR: f64 = 3600.0;
/// The seconds between two values in the last hour, and in the day before it.
const FINE: f64 = 60.0;
const COARSE: f64 = 600.0;
/// The number of measurements in one request.
const BATCH: usize = 500;
/// The most devices for which past data is stored; more would delay the start and add nothing to see.
const MOST: usize = 400;

/// Stores the data of the last day, beginning with the first devices of the fleet.
///
/// # Errors
/// The server rejects the measurements.
pub(super) async fn tell(world: Arc<World>, mut wire: Wire) -> Result<(), Failure> {
    let until = now();
    let from = match newest(&world, &mut wire).await? {
        Some(newest) => newest.max(until - 24.0 * HOUR),
        None => until - 24.0 * HOUR,
    };
    let moments = moments(from, until);
    let mut batch = Vec::with_capacity(BATCH);
    for plan in world.fleet.iter().take(MOST) {
        let Some(id) = world.id(plan.number) else { continue };
        for at in &moments {
            let values = readings(plan.kind, world.shape(plan.number), *at, None);
            batch.push(measurement(plan.kind, id, &timestamp(*at), &values));
            if batch.len() == BATCH {
                store(&mut wire, &mut batch).await?;
            }
        }
    }
    store(&mut wire, &mut batch).await?;
    tell_alarms(&world, &mut wire, from, until).await
}

async fn store(wire: &mut Wire, batch: &mut Vec<Value>) -> Result<(), Failure> {
    if batch.is_empty() {
        return Ok(());
    }
    let body = json!({"measurements": std::mem::take(batch)});
    wire.store_quietly("/measurement/measurements", &body).await
}

/// Returns the time of the newest measurement of the first device, if an earlier run of this demo stored one.
async fn newest(world: &World, wire: &mut Wire) -> Result<Option<f64>, Failure> {
    let Some(id) = world.id(0) else { return Ok(None) };
    let path = format!(
        "/measurement/measurements?source={id}&dateFrom=2000-01-01&dateTo={}&revert=true&pageSize=1",
        timestamp(now() - FINE)
    );
    let page = wire.read(&path).await?;
    let time = page["measurements"][0]["time"].as_str();
    let format = &time::format_description::well_known::Rfc3339;
    let time = time.and_then(|time| time::OffsetDateTime::parse(time, format).ok());
    Ok(time.map(|time| time.unix_timestamp() as f64))
}

/// Returns the times of past measurements from `from` to before `until`: more of them in the last hour.
fn moments(from: f64, until: f64) -> Vec<f64> {
    let mut moments = Vec::new();
    let mut at = from + FINE;
    while at < until - FINE {
        moments.push(at.round());
        at += if at < until - HOUR { COARSE } else { FINE };
    }
    moments
}

/// Stores alarms that were raised and cleared during the last day.
async fn tell_alarms(world: &World, wire: &mut Wire, from: f64, until: f64) -> Result<(), Failure> {
    let mut chance = world.chance(usize::MAX >> 1);
    let with_alarms: Vec<&Plan> = world.fleet.iter().filter(|plan| plan.kind != Kind::Room).collect();
    let number = ((until - from) / HOUR).round() as usize;
    for _ in 0..number {
        let plan = *chance.pick(&with_alarms);
        let (trouble, at) = (chance.pick(plan.kind.troubles()), chance.between(from, until - 120.0));
        let (Some(signal), Some(id)) = (trouble.signal(), world.id(plan.number)) else { continue };
        let alarm = json!({"source": {"id": id}, "type": signal.alarm, "severity": signal.severity, "text": signal.text,
            "time": timestamp(at), "status": "CLEARED"});
        wire.store_quietly("/alarm/alarms", &alarm).await?;
        let event = json!({"source": {"id": id}, "type": "demo_Service", "text": "The technician was here",
            "time": timestamp(at + 60.0)});
        wire.store_quietly("/event/events", &event).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_is_fine_at_its_end_and_has_no_future() {
        let moments = moments(0.0, 24.0 * HOUR);
        assert!(moments.windows(2).all(|pair| pair[0] < pair[1]) && moments.len() < 220, "{}", moments.len());
        let last = moments.last().unwrap();
        assert!((24.0 * HOUR - 180.0..24.0 * HOUR).contains(last), "{last}");
        let fine = moments.iter().filter(|at| **at >= 23.0 * HOUR).count();
        assert!((55..=60).contains(&fine), "{fine}");
        assert!(moments_of_a_short_break().is_empty());
    }

    fn moments_of_a_short_break() -> Vec<f64> {
        moments(100.0, 130.0)
    }
}
