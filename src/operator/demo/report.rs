//! The messages that a device sends by itself: measurements, alarms, events, positions.

use platform_model::naming::naming;
use serde_json::json;
use tokio::time::Instant;

use super::device::Device;
use super::shape::{self, Reading};
use super::trouble::{Signal, Trouble};
use super::unit::TroubleChange;
use super::world::{now, timestamp};
use crate::client::failure::{Code, Failure};

impl Device {
    /// Sends the current measurements of the device and its rooms.
    pub(super) async fn measure(&mut self) -> Result<(), Failure> {
        let at = now();
        if self.plan.kind.speaks_csv() {
            let row = csv_measurement(self.plan.kind.object_type(), &self.units[0].readings(at));
            return self.send_rows(row).await;
        }
        let measurements = self
            .units
            .iter()
            .map(|unit| shape::measurement(unit.kind, &unit.id, &timestamp(at), &unit.readings(at)));
        let body = json!({"measurements": measurements.collect::<Vec<_>>()});
        self.wire.create("/measurement/measurements", body).await.map(drop)
    }

    /// Begins and ends faults, and repeats the alarms of those that last.
    pub(super) async fn pass_through_troubles(&mut self, now: Instant) -> Result<(), Failure> {
        for index in 0..self.units.len() {
            let Some(turn) = self.units[index].turn(now, &mut self.chance) else { continue };
            let Some(trouble) = self.units[index].trouble.as_ref().map(|lasting| lasting.trouble) else {
                continue;
            };
            let told = match (turn, trouble.signal()) {
                (TroubleChange::Begins | TroubleChange::Repeats, Some(signal)) => {
                    self.raise(index, &signal).await
                }
                (TroubleChange::Ends, Some(signal)) => self.clear(index, &signal).await,
                (TroubleChange::Begins, None) => {
                    self.tell_event(index, "demo_Door", "The door was opened").await
                }
                (TroubleChange::Ends, None) => {
                    self.tell_event(index, "demo_Door", "The door was closed").await
                }
                (TroubleChange::Repeats, None) => Ok(()),
            };
            match (&told, turn) {
                // The end is reported later, so that an alarm does not stay open for ever after a restart of the
                // server.
                (Err(failure), TroubleChange::Ends) if failure.code() == Code::Unavailable => {
                    self.units[index].postpone()
                }
                (_, TroubleChange::Ends) => self.units[index].trouble = None,
                _ => {}
            }
            // A measurement is sent together with the alarm, so that the chart shows the fault at once.
            told?;
            if turn == TroubleChange::Begins {
                self.measure().await?;
            }
        }
        Ok(())
    }

    async fn raise(&mut self, index: usize, signal: &Signal) -> Result<(), Failure> {
        let Signal { alarm, severity, text } = signal;
        if self.plan.kind.speaks_csv() {
            let row = match *severity {
                "CRITICAL" => 301,
                "MAJOR" => 302,
                "MINOR" => 303,
                _ => 304,
            };
            return self.send_rows(format!("{row},{alarm},{text}")).await;
        }
        let body = json!({"source": {"id": self.units[index].id}, "type": alarm, "severity": severity, "text": text,
            "time": timestamp(now()), "status": "ACTIVE"});
        let raised = self.wire.create("/alarm/alarms", body).await?;
        if let Some(lasting) = &mut self.units[index].trouble {
            // A device in maintenance raises no alarm.
            lasting.alarm = raised["id"].as_str().map(Into::into);
        }
        Ok(())
    }

    async fn clear(&mut self, index: usize, signal: &Signal) -> Result<(), Failure> {
        if self.plan.kind.speaks_csv() {
            return self.send_rows(format!("306,{}", signal.alarm)).await;
        }
        let alarm = self.units[index].trouble.as_ref().and_then(|lasting| lasting.alarm.clone());
        let Some(alarm) = alarm else { return Ok(()) };
        match self.wire.change(&format!("/alarm/alarms/{alarm}"), json!({"status": "CLEARED"})).await {
            // A user has deleted the alarm.
            Err(failure) if failure.code() == Code::NotFound => Ok(()),
            changed => changed,
        }
    }

    /// Sends an event of the device or of a room.
    pub(super) async fn tell_event(&mut self, index: usize, kind: &str, text: &str) -> Result<(), Failure> {
        if self.plan.kind.speaks_csv() {
            return self.send_rows(format!("400,{kind},{text}")).await;
        }
        let body = json!({"source": {"id": self.units[index].id}, "type": kind, "text": text,
            "time": timestamp(now())});
        self.wire.create("/event/events", body).await.map(drop)
    }

    /// Sends the position of a truck: as an event, for its track, and to its managed object.
    pub(super) async fn tell_place(&mut self) -> Result<(), Failure> {
        let unit = &self.units[0];
        let trouble: Option<Trouble> = unit.trouble.as_ref().map(|lasting| lasting.trouble);
        let (latitude, longitude) = shape::position(unit.shape, now(), trouble);
        let place = json!({"lat": latitude, "lng": longitude});
        let position = naming().fragment("Position");
        let body = json!({"source": {"id": unit.id}, "type": naming().fragment("LocationUpdate"),
            "text": format!("At {latitude:.3}, {longitude:.3}"), "time": timestamp(now()), &position: place});
        let path = format!("/inventory/managedObjects/{}", unit.id);
        self.wire.create("/event/events", body).await?;
        self.wire.change(&path, json!({ position: place })).await
    }

    /// Sends rows. Their response has a line only for a row that failed.
    pub(super) async fn send_rows(&mut self, rows: String) -> Result<(), Failure> {
        let lines = self.wire.rows("/s", rows).await?;
        match lines.lines().next() {
            None => Ok(()),
            Some(line) => {
                Err(Failure::new(Code::Failed, format!("a row of {} was refused: {line}", self.plan.name)))
            }
        }
    }
}

/// Returns the CSV row of a measurement with several series.
fn csv_measurement(kind: &str, readings: &[Reading]) -> String {
    let series = readings
        .iter()
        .map(|Reading { fragment, series, value, unit }| format!(",{fragment},{series},{value},{unit}"));
    format!("201,{kind},{}", series.collect::<String>())
}

/// Quotes a value of a CSV row.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_of_a_measurement_leaves_the_time_to_the_server() {
        let reading = Reading { fragment: "f", series: "s", value: 1.5, unit: "V" };
        assert_eq!(csv_measurement("t", &[reading.clone(), reading]), "201,t,,f,s,1.5,V,f,s,1.5,V");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
