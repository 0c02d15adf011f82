//! `watch`: notifications as they happen, over Bayeux long polling with acknowledgements, so that a connection that
//! breaks loses none.

use std::time::Duration;

use clap::ArgMatches;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::commands::{COLUMNS, COUNT, OUTPUT};
use super::failure::{Code, Failure};
use super::http::{Content, Server};
use super::nouns::Noun;
use super::output::{Form, Printer};

const ENDPOINT: &str = "/notification/realtime";
/// The column that tells what happened, before those of the noun.
const ACTION: &str = "action";
/// The pause before a server that cannot be reached is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Prints notifications until as many as wanted have come, or for ever.
///
/// # Errors
/// The server refuses the subscription, cannot be reached at the beginning, or the output has ended.
pub(super) async fn run(server: &mut Server, noun: &Noun, matches: &ArgMatches) -> Result<(), Failure> {
    let device = matches.get_one::<String>("device").map_or("*", String::as_str);
    let channel = format!("{}{device}", noun.channel.unwrap_or_default());
    let form = matches.get_one::<Form>(OUTPUT).copied().unwrap_or(Form::Table);
    let columns = matches.get_many::<String>(COLUMNS).into_iter().flatten().cloned();
    let columns = std::iter::once(ACTION.to_owned()).chain(columns).collect();
    let mut printer = Printer::stdout(form, columns, noun.id, true);
    let mut left = matches.get_one::<u64>(COUNT).copied().unwrap_or(u64::MAX);

    let mut session = Session::open(server, &channel).await?;
    eprintln!("watching {channel} at {}", server.url);
    loop {
        let objects = match session.connect(server).await {
            Ok(objects) => objects,
            Err(Ended::Session(why)) => {
                eprintln!("warning: the session ended ({why}); what happened meanwhile is not shown");
                session = reopened(server, &channel).await?;
                continue;
            }
            Err(Ended::Connection(failure)) if failure.code() == Code::Unavailable => {
                eprintln!("warning: {failure}; trying again");
                sleep(PAUSE).await;
                continue;
            }
            Err(Ended::Connection(failure)) => return Err(failure),
        };
        let shown = objects.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        printer.print(&objects[..shown])?;
        left -= shown as u64;
        if left == 0 {
            session.close(server).await;
            return printer.end();
        }
    }
}

/// Opens a session as soon as the server can be reached.
async fn reopened(server: &mut Server, channel: &str) -> Result<Session, Failure> {
    loop {
        match Session::open(server, channel).await {
            Err(failure) if failure.code() == Code::Unavailable => sleep(PAUSE).await,
            opened => return opened,
        }
    }
}

/// A Bayeux session with one subscription.
struct Session {
    client: String,
    /// The last batch that has arrived, which the next connect acknowledges.
    batch: Value,
}

/// Why a connect brought nothing.
enum Ended {
    /// The server does not know the session any more.
    Session(String),
    Connection(Failure),
}

impl Session {
    async fn open(server: &mut Server, channel: &str) -> Result<Self, Failure> {
        let handshake = json!({"channel": "/meta/handshake", "version": "1.0",
            "supportedConnectionTypes": ["long-polling"], "ext": {"ack": true}});
        let client = exchange(server, handshake).await?;
        let client = text(&reply(&client, "/meta/handshake")?["clientId"]);
        let subscribe = json!({"channel": "/meta/subscribe", "clientId": client, "subscription": channel});
        reply(&exchange(server, subscribe).await?, "/meta/subscribe")?;
        Ok(Self { client, batch: json!(0) })
    }

    /// Waits for notifications and returns their objects, each with what happened to it; none after the longest wait.
    async fn connect(&mut self, server: &mut Server) -> Result<Vec<Value>, Ended> {
        let connect = json!({"channel": "/meta/connect", "clientId": self.client,
            "connectionType": "long-polling", "ext": {"ack": self.batch}});
        let messages = exchange(server, connect).await.map_err(Ended::Connection)?;
        let of_connect = messages.iter().rfind(|message| message["channel"] == "/meta/connect");
        let of_connect = of_connect.ok_or_else(|| Ended::Session("the response has no reply".into()))?;
        if of_connect["successful"] != true {
            return Err(Ended::Session(text(&of_connect["error"])));
        }
        if let Some(batch) = of_connect["ext"].get("ack") {
            self.batch = batch.clone();
        }
        let notifications = messages.iter().filter(|message| message.get("data").is_some());
        Ok(notifications.map(|message| told(&message["data"])).collect())
    }

    async fn close(&self, server: &mut Server) {
        let disconnect = json!({"channel": "/meta/disconnect", "clientId": self.client});
        exchange(server, disconnect).await.ok();
    }
}

/// Returns the object of a notification with the member `action`; a deletion only names the object.
fn told(data: &Value) -> Value {
    let mut object = match &data["data"] {
        object @ Value::Object(_) => object.clone(),
        id => json!({"id": id}),
    };
    object[ACTION] = data["realtimeAction"].clone();
    object
}

async fn exchange(server: &mut Server, message: Value) -> Result<Vec<Value>, Failure> {
    let response = server.expect("POST", ENDPOINT, Some(&Content::Json(json!([message])))).await?;
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
