//! Operations: a device carries them out one after the other.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use platform_model::naming::naming;

use super::device::Device;
use super::order::{Order, Task};
use super::report::quoted;
use super::world::{now, timestamp};
use crate::client::failure::{Code, Failure};

/// An operation in progress.
pub(super) struct Duty {
    order: Order,
    pub(super) ends: Instant,
    failure: Option<&'static str>,
}

/// The pause before a status report that did not reach the server is repeated.
const AGAIN: Duration = Duration::from_secs(3);

impl Device {
    /// Adds an operation to the queue. An operation may arrive twice, by notification and by query; the second copy is
    /// ignored.
    pub(super) fn queue(&mut self, order: Order) {
        if order.id.as_ref().is_none_or(|id| self.world.begin(id)) {
            self.waiting.push_back(order);
        }
    }

    /// Begins the oldest queued operation.
    pub(super) async fn begin_next(&mut self) -> Result<(), Failure> {
        let Some(order) = self.waiting.pop_front() else { return Ok(()) };
        if let Err(failure) = self.report(&order, "EXECUTING", None).await {
            if failure.code() == Code::Unavailable {
                self.waiting.push_front(order);
            } else if let Some(id) = &order.id {
                // A user has cancelled it.
                self.world.end(id);
            }
            return Err(failure);
        }
        let outcome = order.task.outcome(&mut self.chance);
        // A restarting device has no connection.
        if order.task == Task::Restart && outcome.failure.is_none() {
            self.wire.server().hang_up();
            self.online.send_replace(false);
        }
        self.duty = Some(Duty { order, ends: Instant::now() + outcome.takes, failure: outcome.failure });
        Ok(())
    }

    /// Ends the operation in progress and reports its result.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        let Some(Duty { order, failure, .. }) = self.duty.take() else { return Ok(()) };
        self.online.send_replace(true);
        let told = match failure {
            Some(reason) => self.report(&order, "FAILED", Some(reason)).await,
            None => match self.bring_about(&order).await {
                Ok(()) => self.report(&order, "SUCCESSFUL", None).await,
                failed => failed,
            },
        };
        match told {
            Err(unavailable) if unavailable.code() == Code::Unavailable => {
                self.duty = Some(Duty { order, ends: Instant::now() + AGAIN, failure });
                Err(unavailable)
            }
            told => {
                if let Some(id) = &order.id {
                    self.world.end(id);
                }
                told
            }
        }
    }

    async fn report(&mut self, order: &Order, status: &str, reason: Option<&str>) -> Result<(), Failure> {
        match &order.id {
            Some(id) => {
                let body = match reason {
                    Some(reason) => json!({"status": status, "failureReason": reason}),
                    None => json!({ "status": status }),
                };
                self.wire.change(&format!("/devicecontrol/operations/{id}"), body).await
            }
            None => {
                let fragment = order.task.fragment();
                let row = match (status, reason) {
                    ("EXECUTING", _) => format!("501,{fragment}"),
                    (_, Some(reason)) => format!("502,{fragment},{}", quoted(reason)),
                    _ => format!("503,{fragment}"),
                };
                self.send_rows(row).await
            }
        }
    }

    /// Applies the effects of a successful operation, such as a new firmware version.
    async fn bring_about(&mut self, order: &Order) -> Result<(), Failure> {
        let own = self.units[0].id.clone();
        let id = order.device.as_ref().unwrap_or(&own);
        let index = self.units.iter().position(|unit| unit.id == *id).unwrap_or(0);
        let is_csv = self.plan.kind.speaks_csv();
        match &order.task {
            Task::Restart => self.tell_event(index, "demo_Restart", "It was restarted and is ready").await,
            Task::Configuration(text) if is_csv => self.send_rows(format!("113,{}", quoted(text))).await,
            Task::Configuration(text) => self.set(id, "Configuration", json!({ "config": text })).await,
            Task::Firmware { name, version } if is_csv => {
                self.send_rows(format!("115,{name},{version}")).await
            }
            Task::Firmware { name, version } => {
                self.set(id, "Firmware", json!({"name": name, "version": version})).await
            }
            Task::Logs => self.send_log(id).await,
            Task::Unknown => Ok(()),
        }
    }

    async fn set(&mut self, id: &str, name: &str, value: Value) -> Result<(), Failure> {
        let body = json!({ naming().fragment(name): value });
        self.wire.change(&format!("/inventory/managedObjects/{id}"), body).await
    }

    /// Sends the log of the device as the file of an event.
    async fn send_log(&mut self, id: &str) -> Result<(), Failure> {
        let event = json!({"source": {"id": id}, "type": naming().fragment("Logfile"), "text": "Log of the last \
            minutes",
            "time": timestamp(now())});
        let event = self.wire.create("/event/events", event).await?;
        let lines: String = (0..20)
            .map(|back| {
                let at = timestamp(now() - f64::from(20 - back) * 15.0);
                format!(
                    "{at} measured {}\n",
                    self.units[0].readings(now() - f64::from(20 - back) * 15.0)[0].value
                )
            })
            .collect();
        let path = format!("/event/events/{}/binaries", event["id"].as_str().unwrap_or_default());
        self.wire.put_text(&path, &lines).await
    }
}
