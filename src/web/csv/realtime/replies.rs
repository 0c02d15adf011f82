//! Bayeux replies as lines: 40 for an error, 86 for advice, 88 for the position of a consumer (S-52, S-54, S-56, B-34).

use platform_actors::session::ConnectResponse;
use platform_model::realtime::bayeux::{Reconnect, error};
use platform_model::realtime::consumer::{JournalPosition, Missed};
use serde::Deserialize;

use super::rows::{Message, Row, name_of};
use crate::csv::Csv;
use crate::csv::line::Lines;

/// The members of a Bayeux reply that lines can express.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    client_id: Option<String>,
    error: Option<String>,
    advice: Option<Advice>,
    #[serde(default)]
    ext: Extensions,
}

#[derive(Debug, Default, Deserialize)]
struct Extensions {
    #[serde(rename = "com.platform.consumer")]
    consumer: Option<Consumer>,
}

/// The consumer of a new session.
#[derive(Debug, Deserialize)]
struct Consumer {
    position: JournalPosition,
    missed: Option<Missed>,
}

#[derive(Debug, Deserialize)]
struct Advice {
    timeout: Option<u64>,
    interval: Option<u64>,
    reconnect: String,
}

/// Writes the lines of a reply that was not held: an error, or the clientId of a new session; otherwise none.
pub(super) fn write(row: &Row, line: usize, json: &[u8], csv: &Csv, lines: &mut Lines) {
    let replies: Vec<Reply> = serde_json::from_slice(json).expect("the server's own replies are JSON");
    for reply in replies {
        match (row.message, reply.error) {
            // For a CSV client a forbidden channel and an unknown one are the same error (S-52).
            (Message::Subscribe, Some(invalid)) if invalid == error::SUBSCRIPTION_INVALID => {
                write_denied(lines);
            }
            (message, Some(error)) => {
                lines.push(["40", message.channel(), &error]);
                if let Some(advice) = reply.advice {
                    advice.write(line, csv, lines);
                }
            }
            (Message::Handshake | Message::Consume, None) => {
                let client = reply.client_id.unwrap_or_default();
                lines.push([name_of(&client, reply.ext.consumer.is_some())]);
                if let Some(Consumer { position, missed }) = reply.ext.consumer {
                    write_position(position, missed, lines);
                }
            }
            // The session is at another server, because this one stops.
            (Message::Connect, None) => {
                reply.advice.into_iter().for_each(|advice| advice.write(line, csv, lines));
            }
            (_, None) => {}
        }
    }
}

/// Writes the line for a channel that is forbidden or unknown.
pub(super) fn write_denied(lines: &mut Lines) {
    lines.push(["40", Message::Subscribe.channel(), error::SUBSCRIBE_DENIED]);
}

/// Writes `88,<position>`: the client has to acknowledge this position when it has processed the lines before. The
/// notifications that the consumer missed are added as `,<from>,<to>`.
pub(super) fn write_position(position: JournalPosition, missed: Option<Missed>, lines: &mut Lines) {
    let missed = missed.into_iter().flat_map(|Missed { from, to }| [from, to]);
    lines.push([88, position].into_iter().chain(missed).map(|number| number.to_string()));
}

/// Writes the lines of a connect without notifications: its client is unknown, or its time expired. A connect
/// that a newer one replaced has no lines.
pub(super) fn write_connected(answer: &ConnectResponse, line: usize, csv: &Csv, lines: &mut Lines) {
    if let Some(error) = answer.error.as_deref() {
        lines.push(["40", Message::Connect.channel(), error]);
    }
    let Some(advice) = answer.advice else { return };
    let (timeout, reconnect) = match advice.reconnect {
        // The next connect is held for the full time, regardless of the time left of this one.
        Reconnect::Retry => (Some(csv.platform.limits().connect_timeout), "retry"),
        Reconnect::Handshake => (advice.timeout, "handshake"),
        Reconnect::None => (advice.timeout, "none"),
    };
    let millis = |duration: std::time::Duration| duration.as_millis() as u64;
    let (timeout, interval) = (timeout.map(millis), advice.interval.map(millis));
    Advice { timeout, interval, reconnect: reconnect.into() }.write(line, csv, lines);
}

impl Advice {
    /// Writes `86,<timeout>,<interval>,<policy>`, with the line of the request if `--client-compatibility` is
    /// set (C-20).
    fn write(&self, line: usize, csv: &Csv, lines: &mut Lines) {
        let shown = |millis: Option<u64>| millis.map(|millis| millis.to_string()).unwrap_or_default();
        let values = [shown(self.timeout), shown(self.interval), self.reconnect.clone()];
        let line = csv.compatibility.is_on().then(|| line.to_string());
        lines.push(std::iter::once("86".to_owned()).chain(line).chain(values));
    }
}
