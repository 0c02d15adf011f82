//! Bayeux replies as lines: 40 for an error, 86 for advice (S-52, S-54, S-56).

use platform_actors::bayeux::{Reconnect, error};
use platform_actors::session::Answer;
use serde::Deserialize;

use super::rows::{Message, Row, name_of};
use crate::csv::line::Lines;
use crate::server::Edge;

/// What a reply says, as far as a line can.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    client_id: Option<String>,
    error: Option<String>,
    advice: Option<Advice>,
}

#[derive(Debug, Deserialize)]
struct Advice {
    timeout: Option<u64>,
    interval: Option<u64>,
    reconnect: String,
}

/// The lines of an answer that nobody waited for: an error, or the clientId of a new session; else none.
pub(super) fn write(row: &Row, line: usize, json: &[u8], edge: &Edge, lines: &mut Lines) {
    let replies: Vec<Reply> = serde_json::from_slice(json).expect("the server's own replies are JSON");
    for reply in replies {
        match (row.message, reply.error) {
            // To a CSV client a channel it may not have and one there is not are the same (S-52).
            (Message::Subscribe, Some(invalid)) if invalid == error::SUBSCRIPTION_INVALID => {
                write_denied(lines);
            }
            (message, Some(error)) => {
                lines.push(["40", message.channel(), &error]);
                if let Some(advice) = reply.advice {
                    advice.write(line, edge, lines);
                }
            }
            (Message::Handshake, None) => lines.push([name_of(&reply.client_id.unwrap_or_default())]),
            (_, None) => {}
        }
    }
}

/// A channel the caller may not receive, or that there is not.
pub(super) fn write_denied(lines: &mut Lines) {
    lines.push(["40", Message::Subscribe.channel(), error::SUBSCRIBE_DENIED]);
}

/// The lines of a connect that told of nothing: its client is unknown, or its time is over. One that a newer connect took over
/// has none.
pub(super) fn write_connected(answer: &Answer, line: usize, edge: &Edge, lines: &mut Lines) {
    if let Some(error) = answer.error {
        lines.push(["40", Message::Connect.channel(), error]);
    }
    let Some(advice) = answer.advice else { return };
    let (timeout, reconnect) = match advice.reconnect {
        // The next connect is held as long as any, whatever was left of this one's time.
        Reconnect::Retry => (Some(edge.limits().connect_timeout), "retry"),
        Reconnect::Handshake => (advice.timeout, "handshake"),
        Reconnect::None => (advice.timeout, "none"),
    };
    let millis = |duration: std::time::Duration| duration.as_millis() as u64;
    let (timeout, interval) = (timeout.map(millis), advice.interval.map(millis));
    Advice { timeout, interval, reconnect: reconnect.into() }.write(line, edge, lines);
}

impl Advice {
    /// `86,<timeout>,<interval>,<policy>`, with the line of the request where clients want to be served so (C-20).
    fn write(&self, line: usize, edge: &Edge, lines: &mut Lines) {
        let shown = |millis: Option<u64>| millis.map(|millis| millis.to_string()).unwrap_or_default();
        let values = [shown(self.timeout), shown(self.interval), self.reconnect.clone()];
        let line = edge.client_compatibility.then(|| line.to_string());
        lines.push(std::iter::once("86".to_owned()).chain(line).chain(values));
    }
}
