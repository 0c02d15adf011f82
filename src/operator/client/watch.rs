//! `watch` prints notifications as they arrive, over Bayeux long polling with acknowledgements, so that no notification
//! is lost when a connection breaks.

use std::time::Duration;

use clap::ArgMatches;
use platform_front::terminal::say;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::bayeux::{Ended, Session};
use super::commands::{COLUMNS, COUNT, OUTPUT};
use super::failure::{Code, Failure};
use super::http::Server;
use super::noun::Noun;
use super::output::{Form, Printer};

const ENDPOINT: &str = "/notification/realtime";
/// The column with the action (create, update, delete), which precedes the columns of the noun.
const ACTION: &str = "action";
/// The pause before the next attempt to reach the server.
const PAUSE: Duration = Duration::from_secs(1);

/// Prints notifications until the given number has arrived, or for ever.
///
/// # Errors
/// The server rejects the subscription or cannot be reached at the beginning, or the output is closed.
pub(super) async fn run(server: &mut Server, noun: &Noun, matches: &ArgMatches) -> Result<(), Failure> {
    let device = matches.get_one::<String>("device").map_or("*", String::as_str);
    let channel = format!("{}{device}", noun.channel.unwrap_or_default());
    let form = matches.get_one::<Form>(OUTPUT).copied().unwrap_or(Form::Table);
    let columns = matches.get_many::<String>(COLUMNS).into_iter().flatten().cloned();
    let columns = std::iter::once(ACTION.to_owned()).chain(columns).collect();
    let mut printer = Printer::stdout(form, columns, noun.id, true);
    let mut left = matches.get_one::<u64>(COUNT).copied().unwrap_or(u64::MAX);

    let mut session = Session::open(server, ENDPOINT, &channel).await?;
    say(format_args!("watching {channel} at {}", server.url));
    let mut warning = Warning::default();
    loop {
        let objects = match session.connect(server).await {
            Ok(data) => {
                warning = Warning::default();
                data.iter().map(told).collect::<Vec<_>>()
            }
            Err(Ended::Session(why)) => {
                say(format_args!("warning: the session ended ({why}); what happened meanwhile is not shown"));
                session = reopened(server, &channel).await?;
                continue;
            }
            Err(Ended::Connection(failure)) if failure.code() == Code::Unavailable => {
                warning.say(&failure);
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

/// The last warning that the server cannot be reached.
#[derive(Default)]
pub(super) struct Warning(String);

impl Warning {
    /// Says why the server cannot be reached, unless the last warning said the same: once a second it would hide
    /// everything else.
    pub(super) fn say(&mut self, failure: &Failure) {
        let warning = format!("warning: {}; trying again until it works", failure.without_prefix());
        if warning != self.0 {
            say(&warning);
            self.0 = warning;
        }
    }
}

/// Opens a session as soon as the server can be reached again.
async fn reopened(server: &mut Server, channel: &str) -> Result<Session, Failure> {
    loop {
        match Session::open(server, ENDPOINT, channel).await {
            Err(failure) if failure.code() == Code::Unavailable => sleep(PAUSE).await,
            opened => return opened,
        }
    }
}

/// Returns the object of a notification with an additional member `action`. The notification of a deletion contains the
/// id only.
fn told(data: &Value) -> Value {
    let mut object = match &data["data"] {
        object @ Value::Object(_) => object.clone(),
        id => json!({"id": id}),
    };
    object[ACTION] = data["realtimeAction"].clone();
    object
}
