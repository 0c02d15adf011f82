//! Reads a consumer over one connection, by long polls or as a stream of server-sent events.

use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;

use super::batch::Batch;
use super::events::{Event, EventParser};
use super::path_of;
use crate::error::Error;
use crate::target::Target;
use crate::target::connection::{Beginning, Connection};

/// The time that a response may take beyond the time for which it is held.
const MARGIN: Duration = Duration::from_secs(20);
/// The longest silence of a stream, which has comments that keep it alive.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// The way in which a consumer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// One long poll after the other
    LongPoll,
    /// A stream of server-sent events
    Events,
}

/// The settings of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) way: Way,
    /// The largest number of notifications in the response to a long poll.
    pub(crate) batch: u32,
    /// The seconds for which the server holds a long poll.
    pub(crate) wait: u64,
}

/// A connection that reads a consumer.
#[derive(Debug)]
pub(crate) struct Reader {
    connection: Connection,
    name: String,
    reading: Reading,
    /// The position that the next request acknowledges.
    acknowledges: Option<u64>,
    events: EventParser,
    /// Whether a request is under way.
    is_asked: bool,
    /// Whether the head of a stream has arrived.
    is_streaming: bool,
}

impl Reader {
    /// Connects. The first request acknowledges this position, if there is one.
    ///
    /// # Errors
    /// The server accepts no connection.
    pub(crate) async fn connect(
        target: &Target,
        name: &str,
        reading: Reading,
        acknowledges: Option<u64>,
    ) -> Result<Self, Error> {
        Ok(Self {
            connection: target.connect().await?,
            name: name.to_owned(),
            reading,
            acknowledges,
            events: EventParser::default(),
            is_asked: false,
            is_streaming: false,
        })
    }

    /// Returns whether the next notifications come in another response.
    pub(crate) fn begins_anew(&self) -> bool {
        !self.is_asked
    }

    /// Sends the next request, unless one is under way.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn ask(&mut self, target: &Target) -> Result<(), Error> {
        if self.is_asked {
            return Ok(());
        }
        let Reading { way, batch, wait } = self.reading;
        let path = path_of(&self.name);
        let request = match (way, self.acknowledges) {
            (Way::LongPoll, acknowledges) => {
                let acknowledge = acknowledges.map(|position| format!("&acknowledge={position}"));
                let acknowledge = acknowledge.unwrap_or_default();
                target.get(&format!("{path}/notifications?maxCount={batch}&wait={wait}{acknowledge}"))
            }
            (Way::Events, acknowledges) => {
                let last = acknowledges.map(|position| format!("Last-Event-ID: {position}\r\n"));
                target.get_events(&format!("{path}/events"), &last.unwrap_or_default())
            }
        };
        if self.connection.is_stale() {
            self.connection = target.connect().await?;
        }
        self.connection.send(&request).await?;
        (self.is_asked, self.is_streaming, self.events) = (true, false, EventParser::default());
        Ok(())
    }

    /// Waits for notifications; sends a request if none is under way. A stream that the server ends is requested again
    /// by the next call. The batch is empty if the time of a long poll is over, or if a stream ended.
    ///
    /// # Errors
    /// The connection broke, the server rejects the request, or another reader has taken over.
    pub(crate) async fn receive(&mut self, target: &Target) -> Result<Batch, Error> {
        self.ask(target).await?;
        let (limit, step) = match self.reading.way {
            Way::LongPoll => (Duration::from_secs(self.reading.wait) + MARGIN, "reading notifications"),
            Way::Events => (LONGEST_SILENCE, "waiting for events"),
        };
        let received = match self.reading.way {
            Way::LongPoll => timeout(limit, self.response()).await,
            Way::Events => timeout(limit, self.part()).await,
        };
        let batch = received.map_err(|_| Error::Timeout(step))?.map_err(|error| error.during(step))?;
        self.acknowledges = batch.position.or(self.acknowledges);
        Ok(batch)
    }

    async fn response(&mut self) -> Result<Batch, Error> {
        let response = self.connection.receive().await?;
        self.is_asked = false;
        Batch::of_response(response.expect(200, "reading notifications")?)
    }

    async fn part(&mut self) -> Result<Batch, Error> {
        if !self.is_streaming {
            if self.connection.beginning().await? == Beginning::Whole {
                self.is_asked = false;
                // A response that is complete may be a stream that ended at once.
                self.connection.receive().await?.expect(200, "waiting for events")?;
            }
            self.is_streaming = true;
        }
        let goes_on = self.connection.receive_more(self.events.buffer()).await?;
        self.is_asked = goes_on;
        let mut batch = Batch::default();
        self.events.take_all(|event| add(&mut batch, &event))?;
        Ok(batch)
    }
}

fn add(batch: &mut Batch, event: &Event) -> Result<(), Error> {
    match event.kind.as_str() {
        "" if event.data.is_empty() => batch.add_position(event.id.as_deref().unwrap_or_default()),
        "" | "message" => {
            batch.add_event(&event.data)?;
            let position = batch.position.map(|position| position.to_string());
            if event.id != position {
                return Err(Error::Refused(format!(
                    "an event has the id {:?} and the position {position:?}",
                    event.id
                )));
            }
            Ok(())
        }
        "gap" => batch.add_gap(&event.data),
        "superseded" => Err(Error::Refused("another reader has taken over".to_owned())),
        other => Err(Error::Refused(format!("an event has the unknown type {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, id: &str, data: &str) -> Event {
        Event { kind: kind.to_owned(), id: Some(id.to_owned()), data: data.into() }
    }

    #[test]
    fn event_whose_id_is_not_its_position_and_the_end_by_another_reader_are_errors() {
        let mut batch = Batch::default();
        let data = r#"{"position":7,"channel":"/alarms/5","data":{}}"#;
        add(&mut batch, &event("", "7", data)).unwrap();
        assert_eq!(batch.position, Some(7));
        let error = add(&mut batch, &event("", "8", data)).unwrap_err().to_string();
        assert!(error.contains("the id Some(\"8\") and the position Some(\"7\")"), "{error}");
        let error = add(&mut batch, &event("superseded", "7", "{}")).unwrap_err().to_string();
        assert!(error.contains("another reader has taken over"), "{error}");
        assert!(add(&mut batch, &event("news", "7", data)).is_err());
        add(&mut batch, &event("", "57", "")).unwrap();
        assert_eq!((batch.position, batch.notifications.len()), (Some(57), 2));
        assert!(add(&mut batch, &event("", "x", "")).is_err());
    }
}
