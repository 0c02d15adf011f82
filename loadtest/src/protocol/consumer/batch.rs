//! The notifications that a consumer receives.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::ledger::mark::Mark;

/// The beginning of the data of a notification of a new object.
const CREATION: &[u8] = br#""realtimeAction":"CREATE""#;

/// A received notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Notification {
    pub(crate) position: u64,
    /// A number that stands for its content: equal contents have equal numbers.
    pub(crate) digest: u64,
    /// The mark of the created object, if this is the creation of an object of a load test.
    pub(crate) mark: Option<Mark>,
}

/// The positions that a consumer will never receive, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Missed {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A response to a long poll, or a part of a stream of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The position to acknowledge when all of it is handled; `None` if there is nothing to acknowledge.
    pub(crate) position: Option<u64>,
    /// The gap that the server reports.
    pub(crate) missed: Option<Missed>,
    pub(crate) notifications: Vec<Notification>,
}

#[derive(Deserialize)]
struct Response<'a> {
    position: u64,
    recovered: bool,
    missed: Option<Missed>,
    #[serde(borrow)]
    notifications: Vec<One<'a>>,
}

#[derive(Deserialize)]
struct One<'a> {
    position: u64,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Gap {
    missed: Missed,
}

impl One<'_> {
    fn notification(&self) -> Notification {
        let data = self.data.get().as_bytes();
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        let is_creation = memmem::find(data, CREATION).is_some();
        let mark = if is_creation { Mark::scan(data).next() } else { None };
        Notification { position: self.position, digest: hasher.finish(), mark }
    }
}

impl Batch {
    /// Reads the response to a long poll.
    ///
    /// # Errors
    /// The body is not a batch, or it reports a gap without its positions.
    pub(crate) fn of_response(body: &[u8]) -> Result<Self, Error> {
        let response: Response<'_> = read(body)?;
        if !response.recovered && response.missed.is_none() {
            return Err(malformed("it is not recovered and does not say what is missed", body));
        }
        Ok(Self {
            position: Some(response.position),
            missed: response.missed,
            notifications: response.notifications.iter().map(One::notification).collect(),
        })
    }

    /// Adds an event with the data of a notification.
    ///
    /// # Errors
    /// The data is not a notification.
    pub(crate) fn add_event(&mut self, data: &[u8]) -> Result<(), Error> {
        let notification = read::<One<'_>>(data)?.notification();
        self.position = Some(notification.position);
        self.notifications.push(notification);
        Ok(())
    }

    /// Adds an event without data, whose id acknowledges what the channels of the consumer do not match.
    ///
    /// # Errors
    /// The id is not a position.
    pub(crate) fn add_position(&mut self, id: &str) -> Result<(), Error> {
        self.position = Some(id.parse().map_err(|_| malformed("the id is not a position", id.as_bytes()))?);
        Ok(())
    }

    /// Adds an event that reports a gap.
    ///
    /// # Errors
    /// The data does not say what is missed.
    pub(crate) fn add_gap(&mut self, data: &[u8]) -> Result<(), Error> {
        let missed = read::<Gap>(data)?.missed;
        self.position = Some(missed.to);
        self.missed = Some(missed);
        Ok(())
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| malformed(&error.to_string(), text))
}

fn malformed(reason: &str, text: &[u8]) -> Error {
    let text = String::from_utf8_lossy(&text[..text.len().min(200)]);
    Error::Refused(format!("malformed notifications of a consumer: {reason}: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::mark::FRAGMENT;

    fn data(action: &str, sequence: u32) -> String {
        format!(r#"{{"realtimeAction":"{action}","data":{{"id":"5","{FRAGMENT}":"1-2-{sequence}-4"}}}}"#)
    }

    fn one(position: u64, data: &str) -> String {
        format!(r#"{{"position":{position},"channel":"/alarms/5","data":{data}}}"#)
    }

    #[test]
    fn batch_has_positions_marks_of_creations_and_digests_of_contents() {
        let all = [(7, data("CREATE", 3)), (8, data("UPDATE", 3)), (9, data("CREATE", 3))];
        let all: Vec<String> = all.iter().map(|(position, data)| one(*position, data)).collect();
        let body =
            format!(r#"{{"position":9,"recovered":true,"remaining":0,"notifications":[{}]}}"#, all.join(","));
        let batch = Batch::of_response(body.as_bytes()).unwrap();
        assert_eq!((batch.position, batch.missed), (Some(9), None));
        let [first, second, third] = batch.notifications[..] else { panic!("{batch:?}") };
        let mark = Some(Mark { run: 1, device: 2, sequence: 3, due: 4 });
        assert_eq!((first.position, first.mark, second.mark), (7, mark, None));
        assert_eq!(first.digest, third.digest);
        assert_ne!(first.digest, second.digest);
    }

    #[test]
    fn gap_is_read_and_one_without_positions_is_an_error() {
        let body = r#"{"position":60,"recovered":false,"missed":{"from":42,"to":60},"remaining":0,"notifications":[]}"#;
        let batch = Batch::of_response(body.as_bytes()).unwrap();
        assert_eq!((batch.position, batch.missed), (Some(60), Some(Missed { from: 42, to: 60 })));
        let body = r#"{"position":60,"recovered":false,"notifications":[]}"#;
        let error = Batch::of_response(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("does not say what is missed"), "{error}");
        assert!(Batch::of_response(b"[]").is_err());
    }

    #[test]
    fn events_add_to_a_batch() {
        let mut batch = Batch::default();
        batch.add_gap(br#"{"recovered":false,"missed":{"from":1,"to":4}}"#).unwrap();
        batch.add_event(one(5, &data("CREATE", 1)).as_bytes()).unwrap();
        assert_eq!((batch.position, batch.missed), (Some(5), Some(Missed { from: 1, to: 4 })));
        assert_eq!(batch.notifications.len(), 1);
        assert!(batch.add_event(b"{}").is_err());
    }
}
