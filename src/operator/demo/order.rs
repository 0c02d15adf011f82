//! Operations as a device receives them, in JSON and in CSV, and their simulated results.

use std::time::Duration;

use platform_model::naming::naming;
use serde_json::Value;

use super::chance::Chance;

/// The action that an operation demands of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    Restart,
    Configuration(String),
    Firmware {
        name: String,
        version: String,
    },
    Logs,
    /// The device does not support this operation.
    Unknown,
}

/// An operation that a device has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    /// The id of the operation. It is absent in rows of the CSV protocol.
    pub(super) id: Option<String>,
    /// The id of the object that the operation is for, if the message contains it.
    pub(super) device: Option<String>,
    pub(super) task: Task,
}

/// The simulated result of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) takes: Duration,
    /// The reason of a failure; `None` for success.
    pub(super) failure: Option<&'static str>,
}

impl Order {
    /// Parses an operation in JSON.
    pub(super) fn of_json(operation: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let part = |name: &str| operation.get(naming().fragment(name));
        let task = if part("Restart").is_some() {
            Task::Restart
        } else if let Some(firmware) = part("Firmware") {
            Task::Firmware { name: text(&firmware["name"]), version: text(&firmware["version"]) }
        } else if let Some(configuration) = part("Configuration") {
            Task::Configuration(text(&configuration["config"]))
        } else if part("LogfileRequest").is_some() {
            Task::Logs
        } else {
            Task::Unknown
        };
        let id = operation["id"].as_str()?.to_owned();
        Some(Self { id: Some(id), device: operation["deviceId"].as_str().map(Into::into), task })
    }

    /// Parses a row; returns `None` if the row is not an operation. A held poll may begin with spaces, which the
    /// server sends while nothing happens (B-21).
    pub(super) fn of_row(row: &str) -> Option<Self> {
        let mut values = row.trim_start_matches(' ').splitn(3, ',');
        let (kind, _serial) = (values.next()?, values.next()?);
        let rest = values.next().unwrap_or_default();
        let rest = rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(rest);
        let task = match kind {
            "510" => Task::Restart,
            "511" | "513" => Task::Configuration(rest.replace("\"\"", "\"")),
            "515" => {
                let mut values = rest.split(',');
                let mut next = || values.next().unwrap_or_default().to_owned();
                Task::Firmware { name: next(), version: next() }
            }
            _ => return None,
        };
        Some(Self { id: None, device: None, task })
    }
}

impl Task {
    /// Returns the fragment with which CSV rows report on this operation.
    pub(super) fn fragment(&self) -> String {
        naming().fragment(match self {
            Self::Restart => "Restart",
            Self::Configuration(_) => "Configuration",
            Self::Firmware { .. } => "Firmware",
            Self::Logs => "LogfileRequest",
            Self::Unknown => "Command",
        })
    }

    /// Chooses a random result: usually success within seconds, sometimes a slow success, sometimes a failure.
    pub(super) fn outcome(&self, chance: &mut Chance) -> Outcome {
        let slow = chance.happens(0.15);
        let (least, most, reasons): (f64, f64, &[&str]) = match self {
            Self::Restart => (5.0, 12.0, &["A valve was open; the restart was not safe"]),
            Self::Configuration(_) => (1.0, 4.0, &["Line 3: unknown key", "The memory is full"]),
            Self::Firmware { .. } => (
                8.0,
                20.0,
                &[
                    "The checksum of the image is wrong",
                    "The download ended after 61 %",
                    "The battery is too low for an update",
                ],
            ),
            Self::Logs => (1.0, 5.0, &["There is no log of that name"]),
            Self::Unknown => {
                return Outcome {
                    takes: Duration::from_secs(1),
                    failure: Some("It does not know this operation"),
                };
            }
        };
        let takes = chance.between(least, most) * if slow { 6.0 } else { 1.0 };
        let failure = chance.happens(0.14).then(|| *chance.pick(reasons));
        Outcome { takes: Duration::from_secs_f64(takes), failure }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_understood_in_both_formats() {
        let task = |operation: Value| Order::of_json(&operation).unwrap().task;
        let firmware = Task::Firmware { name: "os".into(), version: "2".into() };
        assert_eq!(task(json!({"id": "1", "plat_Restart": {}})), Task::Restart);
        assert_eq!(task(json!({"id": "1", "plat_Firmware": {"name": "os", "version": "2"}})), firmware);
        assert_eq!(task(json!({"id": "1", "plat_Relay": {}})), Task::Unknown);
        let row = |row| Order::of_row(row).map(|order| order.task);
        assert_eq!(row("510,sn-1"), Some(Task::Restart));
        assert_eq!(row("   510,sn-1"), Some(Task::Restart), "after three keep-alive spaces");
        assert_eq!(row("511,sn-1,\"a,b=\"\"1\"\"\""), Some(Task::Configuration("a,b=\"1\"".into())));
        assert_eq!(row("515,sn-1,os,2,http://x"), Some(firmware));
        assert_eq!((row("86,1,2,retry"), row("40,/meta/connect,402::Unknown client")), (None, None));
    }

    #[test]
    fn some_orders_are_slow_and_some_fail() {
        let mut chance = Chance::of(1, 1);
        let outcomes: Vec<_> = (0..400).map(|_| Task::Restart.outcome(&mut chance)).collect();
        let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
        let slow = outcomes.iter().filter(|outcome| outcome.takes > Duration::from_secs(20)).count();
        assert!((20..100).contains(&failed) && (20..100).contains(&slow), "{failed} {slow}");
    }
}
