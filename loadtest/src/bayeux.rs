//! Bayeux messages as the generator sends them, and the little it reads of the replies.

use serde::Deserialize;
use serde_json::json;

use crate::error::Error;

/// Path of the notification endpoint.
pub(crate) const PATH: &str = "/notification/realtime";

/// Meta channels in use.
pub(crate) const HANDSHAKE: &str = "/meta/handshake";
/// See [`HANDSHAKE`].
pub(crate) const SUBSCRIBE: &str = "/meta/subscribe";
/// See [`HANDSHAKE`].
pub(crate) const CONNECT: &str = "/meta/connect";

#[derive(Debug, Deserialize)]
struct Reply {
    channel: String,
    #[serde(default)]
    successful: bool,
    error: Option<String>,
    #[serde(rename = "clientId")]
    client_id: Option<String>,
}

/// The first message of a session; `connection_type` is `long-polling` or `websocket`.
pub(crate) fn handshake(connection_type: &str) -> String {
    json!([{"id": "1", "channel": HANDSHAKE, "version": "1.0", "supportedConnectionTypes": [connection_type]}])
        .to_string()
}

/// Asks for the notifications of a channel.
pub(crate) fn subscribe(client_id: &str, subscription: &str) -> String {
    json!([{"id": "2", "channel": SUBSCRIBE, "clientId": client_id, "subscription": subscription}])
        .to_string()
}

/// The message that is held until a notification exists.
pub(crate) fn connect(client_id: &str, connection_type: &str) -> String {
    json!([{"id": "3", "channel": CONNECT, "clientId": client_id, "connectionType": connection_type}])
        .to_string()
}

/// Reads the `clientId` out of a handshake answer.
///
/// # Errors
/// As [`expect_success`], and when the reply holds no `clientId`.
pub(crate) fn client_id(answer: &[u8]) -> Result<String, Error> {
    let reply = successful_reply(HANDSHAKE, answer)?;
    reply.client_id.ok_or(Error::Bayeux { channel: HANDSHAKE, reason: "no clientId".to_owned() })
}

/// Checks that an answer holds a successful reply on a meta channel.
///
/// # Errors
/// No reply on the channel, or `successful` is not true.
pub(crate) fn expect_success(channel: &'static str, answer: &[u8]) -> Result<(), Error> {
    successful_reply(channel, answer).map(drop)
}

fn successful_reply(channel: &'static str, answer: &[u8]) -> Result<Reply, Error> {
    let fault = |reason: String| Error::Bayeux { channel, reason };
    let replies: Vec<Reply> = serde_json::from_slice(answer).map_err(|error| fault(error.to_string()))?;
    let reply = replies.into_iter().find(|reply| reply.channel == channel);
    match reply {
        Some(reply) if reply.successful => Ok(reply),
        Some(reply) => Err(fault(reply.error.unwrap_or_else(|| "unsuccessful".to_owned()))),
        None => Err(fault("no reply".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_id_is_read_behind_keep_alive_spaces() {
        let answer = br#"  [{"channel":"/meta/handshake","clientId":"abc","successful":true,"advice":{}}]"#;
        assert_eq!(client_id(answer).unwrap(), "abc");
    }

    #[test]
    fn refusal_gives_the_error_of_the_server() {
        let answer = br#"[{"channel":"/meta/connect","successful":false,"error":"402::Unknown client"}]"#;
        let error = expect_success(CONNECT, answer).unwrap_err();
        assert_eq!(error.to_string(), "/meta/connect: 402::Unknown client");
    }

    #[test]
    fn missing_reply_is_an_error() {
        assert!(expect_success(CONNECT, b"[]").is_err());
    }
}
