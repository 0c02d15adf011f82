//! Bayeux messages as the generator sends them, and the little it reads of the replies.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::error::Error;

/// Where the channels of resources are, such as `/alarms/208`.
pub(crate) const REALTIME: &str = "/notification/realtime";
/// Where the channels of agents are, such as `/208`.
pub(crate) const OPERATIONS: &str = "/notification/operations";

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

/// The data of the notifications in the answer to a poll; an answer without any must at least be a successful connect
/// reply.
///
/// # Errors
/// The answer is something else.
pub(crate) fn notifications<T: DeserializeOwned>(answer: &[u8]) -> Result<Vec<T>, Error> {
    #[derive(Deserialize)]
    struct Message<T> {
        data: Option<T>,
    }
    let fault = |error: serde_json::Error| Error::Bayeux { channel: CONNECT, reason: error.to_string() };
    let messages: Vec<Message<T>> = serde_json::from_slice(answer).map_err(fault)?;
    let data: Vec<T> = messages.into_iter().filter_map(|message| message.data).collect();
    if data.is_empty() {
        expect_success(CONNECT, answer)?;
    }
    Ok(data)
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
    fn notifications_are_told_from_the_reply_and_from_a_refusal() {
        let told = br#"[{"channel":"/7","id":"1","data":4},{"channel":"/7","id":"2","data":5},{"channel":"/meta/connect","successful":true}]"#;
        assert_eq!(notifications::<u8>(told).unwrap(), [4, 5]);
        let none = br#" [{"channel":"/meta/connect","successful":true}]"#;
        assert!(notifications::<u8>(none).unwrap().is_empty());
        let refused = br#"[{"channel":"/meta/connect","successful":false,"error":"402::Unknown client"}]"#;
        assert!(notifications::<u8>(refused).is_err());
    }

    #[test]
    fn missing_reply_is_an_error() {
        assert!(expect_success(CONNECT, b"[]").is_err());
    }
}
