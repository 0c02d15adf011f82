//! A Bayeux session over long polling with acknowledgements, so that no notification is lost when a connection breaks.

use serde_json::{Value, json};

use super::content::Content;
use super::failure::{Code, Failure};
use super::http::Server;

/// The time in milliseconds for which the server holds a connect, which is less than the timeout of a response.
const HELD: u64 = 240_000;

/// A session that is subscribed to one channel.
pub(crate) struct Session {
    endpoint: &'static str,
    client: String,
    /// The number of the last batch received, which the next connect acknowledges.
    batch: Value,
}

/// The reason why a connect failed.
pub(crate) enum Ended {
    /// The session has ended at the server.
    Session(String),
    /// There was no response; the session may still exist.
    Connection(Failure),
}

impl Session {
    /// Opens a session at an endpoint and subscribes to a channel.
    ///
    /// # Errors
    /// The server cannot be reached, or it rejects the user or the channel.
    pub(crate) async fn open(
        server: &mut Server,
        endpoint: &'static str,
        channel: &str,
    ) -> Result<Self, Failure> {
        let handshake = json!({"channel": "/meta/handshake", "version": "1.0",
            "supportedConnectionTypes": ["long-polling"], "ext": {"ack": true}});
        let client = exchange(server, endpoint, handshake).await?;
        let client = text(&reply(&client, "/meta/handshake")?["clientId"]);
        let subscribe = json!({"channel": "/meta/subscribe", "clientId": client, "subscription": channel});
        reply(&exchange(server, endpoint, subscribe).await?, "/meta/subscribe")?;
        Ok(Self { endpoint, client, batch: json!(0) })
    }

    /// Waits for notifications and returns their data; the result is empty if none came within the time of a held
    /// connect.
    ///
    /// # Errors
    /// [`Ended`] distinguishes the end of the session from the loss of the connection.
    pub(crate) async fn connect(&mut self, server: &mut Server) -> Result<Vec<Value>, Ended> {
        let connect = json!({"channel": "/meta/connect", "clientId": self.client,
            "connectionType": "long-polling", "advice": {"timeout": HELD}, "ext": {"ack": self.batch}});
        let messages = exchange(server, self.endpoint, connect).await.map_err(Ended::Connection)?;
        let of_connect = messages.iter().rfind(|message| message["channel"] == "/meta/connect");
        let of_connect = of_connect.ok_or_else(|| Ended::Session("the response has no reply".into()))?;
        if of_connect["successful"] != true {
            return Err(Ended::Session(text(&of_connect["error"])));
        }
        if let Some(batch) = of_connect["ext"].get("ack") {
            self.batch = batch.clone();
        }
        Ok(messages.iter().filter_map(|message| message.get("data")).cloned().collect())
    }

    /// Ends the session at the server.
    pub(crate) async fn close(&self, server: &mut Server) {
        let disconnect = json!({"channel": "/meta/disconnect", "clientId": self.client});
        exchange(server, self.endpoint, disconnect).await.ok();
    }
}

async fn exchange(server: &mut Server, endpoint: &str, message: Value) -> Result<Vec<Value>, Failure> {
    let response = server.expect("POST", endpoint, Some(&Content::Json(json!([message])))).await?;
    match response.json()? {
        Value::Array(messages) => Ok(messages),
        _ => Err(Failure::new(Code::Failed, "the response is not an array of messages")),
    }
}

/// Returns the reply on a meta channel.
fn reply<'m>(messages: &'m [Value], channel: &str) -> Result<&'m Value, Failure> {
    let reply = messages.iter().find(|message| message["channel"] == channel).unwrap_or(&Value::Null);
    if reply["successful"] == true {
        return Ok(reply);
    }
    let why = text(&reply["error"]);
    let code = if why.starts_with("403") || why.starts_with("401") { Code::Denied } else { Code::Failed };
    Err(Failure::new(code, format!("{channel}: {why}")))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
