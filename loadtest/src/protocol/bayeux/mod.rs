//! The Bayeux messages that the generator sends, and the members of replies that it reads.

pub(crate) mod long_polling;
pub(crate) mod websocket;

use memchr::memmem;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::error::Error;

/// The endpoint of the channels of resources, such as `/alarms/208`.
pub(crate) const REALTIME: &str = "/notification/realtime";
/// The endpoint of the channels of agents, such as `/208`.
pub(crate) const OPERATIONS: &str = "/notification/operations";

/// The meta channel of handshakes.
pub(crate) const HANDSHAKE: &str = "/meta/handshake";
/// The meta channel of subscriptions.
pub(crate) const SUBSCRIBE: &str = "/meta/subscribe";
/// The meta channel of connects.
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

/// Returns the first message of a session; `connection_type` is `long-polling` or `websocket`.
pub(crate) fn handshake(connection_type: &str, acknowledges: bool) -> String {
    let mut message = json!({"id": "1", "channel": HANDSHAKE, "version": "1.0",
        "supportedConnectionTypes": [connection_type]});
    if acknowledges {
        message["ext"] = json!({"ack": true});
    }
    json!([message]).to_string()
}

/// Returns the message that subscribes to a channel, maybe with a filter.
pub(crate) fn subscribe(client_id: &str, subscription: &str, filter: Option<&str>) -> String {
    let mut message =
        json!({"id": "2", "channel": SUBSCRIBE, "clientId": client_id, "subscription": subscription});
    if let Some(filter) = filter {
        message["ext"] = json!({"com.platform.filter": filter});
    }
    json!([message]).to_string()
}

/// Returns the message that is held until there is a notification.
pub(crate) fn connect(client_id: &str, connection_type: &str) -> String {
    json!([{"id": "3", "channel": CONNECT, "clientId": client_id, "connectionType": connection_type}])
        .to_string()
}

/// Returns the same message of a session that acknowledges notifications, with the number of the last response (B-22).
pub(crate) fn acknowledging_connect(client_id: &str, connection_type: &str, number: &str) -> String {
    format!(
        r#"[{{"id":"3","channel":"{CONNECT}","clientId":"{client_id}","connectionType":"{connection_type}","ext":{{"ack":{number}}}}}]"#
    )
}

/// Returns the number of a response that the next connect acknowledges, without parsing the notifications.
pub(crate) fn batch_number(answer: &[u8]) -> Option<&str> {
    const MEMBER: &[u8] = br#""ack":"#;
    // The reply to the connect is the last message.
    let rest = &answer[memmem::rfind(answer, MEMBER)? + MEMBER.len()..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok().filter(|number| !number.is_empty())
}

/// Returns the `clientId` of a handshake response.
///
/// # Errors
/// Fails like [`expect_success`], and if the reply has no `clientId`.
pub(crate) fn client_id(answer: &[u8]) -> Result<String, Error> {
    let reply = successful_reply(HANDSHAKE, answer)?;
    reply.client_id.ok_or(Error::Bayeux { channel: HANDSHAKE, reason: "no clientId".to_owned() })
}

/// Checks that a response has a successful reply on a meta channel.
///
/// # Errors
/// No reply on the channel, or `successful` is not true.
pub(crate) fn expect_success(channel: &'static str, answer: &[u8]) -> Result<(), Error> {
    successful_reply(channel, answer).map(drop)
}

/// Returns the data of the notifications in the response to a poll. A response without any must at least be a
/// successful connect reply.
///
/// # Errors
/// The response is anything else.
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
    fn rejection_contains_the_error_of_the_server() {
        let answer = br#"[{"channel":"/meta/connect","successful":false,"error":"402::Unknown client"}]"#;
        let error = expect_success(CONNECT, answer).unwrap_err();
        assert_eq!(error.to_string(), "/meta/connect: 402::Unknown client");
    }

    #[test]
    fn notifications_are_separated_from_the_reply_and_from_an_error() {
        let response = br#"[{"channel":"/7","id":"1","data":4},{"channel":"/7","id":"2","data":5},{"channel":"/meta/connect","successful":true}]"#;
        assert_eq!(notifications::<u8>(response).unwrap(), [4, 5]);
        let none = br#" [{"channel":"/meta/connect","successful":true}]"#;
        assert!(notifications::<u8>(none).unwrap().is_empty());
        let refused = br#"[{"channel":"/meta/connect","successful":false,"error":"402::Unknown client"}]"#;
        assert!(notifications::<u8>(refused).is_err());
    }

    #[test]
    fn number_of_a_response_is_that_of_its_last_message() {
        let response =
            br#"[{"data":{"ack":7}},{"channel":"/meta/connect","ext":{"ack":12},"successful":true}]"#;
        assert_eq!(batch_number(response), Some("12"));
        assert_eq!(batch_number(br#"[{"ext":{"ack":true}}]"#), None);
        let connect = acknowledging_connect("abc", "websocket", "12");
        let connect: serde_json::Value = serde_json::from_str(&connect).unwrap();
        assert_eq!((&connect[0]["channel"], &connect[0]["ext"]["ack"]), (&CONNECT.into(), &12.into()));
        assert!(handshake("websocket", true).contains(r#""ext":{"ack":true}"#));
        assert!(!handshake("websocket", false).contains("ext"));
    }

    #[test]
    fn missing_reply_is_an_error() {
        assert!(expect_success(CONNECT, b"[]").is_err());
    }
}
