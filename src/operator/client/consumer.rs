//! `platform consumer seek` and `tail`: a named consumer is moved to another position, or read by long polls.

use std::time::Duration;

use clap::{Arg, ArgMatches};
use platform_front::terminal::say;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::body::number_or_text;
use super::commands::{COUNT, ID, positive, text};
use super::content::Content;
use super::failure::{Code, Failure};
use super::http::{Response, Server};
use super::output::{Form, Printer};
use super::requests::{Command, Request, escaped};
use super::watch::Warning;

const POSITION: &str = "POSITION";
const FROM: &str = "from";
/// The seconds for which the server holds a poll at most.
const HELD: u64 = 50;
/// The most notifications of a batch.
const BATCH: u64 = 1000;
/// The pause before the next attempt to reach the server.
const PAUSE: Duration = Duration::from_secs(1);

/// Returns the arguments of `seek`.
pub(super) fn arguments_of_seek() -> [Arg; 2] {
    let help = "Position after which it continues, `earliest`, `now`, or a timestamp";
    [name(), Arg::new(POSITION).required(true).help(help)]
}

/// Returns the arguments of `tail`.
pub(super) fn arguments_of_tail() -> [Arg; 3] {
    let from = "Seek before reading: a position, `earliest`, `now`, or a timestamp [default: what is not acknowledged]";
    let count = text(COUNT, "COUNT", "End after this many").value_parser(positive);
    [name(), text(FROM, POSITION, from), count.allow_negative_numbers(true)]
}

fn name() -> Arg {
    Arg::new(ID).value_name("NAME").required(true).help("Name of the consumer")
}

fn path_of(matches: &ArgMatches) -> String {
    let name = matches.get_one::<String>(ID).map_or("", String::as_str);
    format!("/notification/consumers/{}", escaped(name))
}

fn seeking(position: &str) -> Content {
    Content::Json(json!({"position": number_or_text(position)}))
}

impl Command<'_> {
    /// Moves the position of a consumer and prints the consumer.
    ///
    /// # Errors
    /// The consumer is unknown or belongs to another user, or there is no such position.
    pub(super) async fn seek(&mut self) -> Result<(), Failure> {
        let position = self.matches.get_one::<String>(POSITION).expect("clap requires it");
        let request = Request::only(path_of(self.matches), Some(seeking(position)));
        if self.is_dry_run() {
            return self.describe(&[request]);
        }
        let changed = self.server.expect("PUT", &request.path, request.content.as_ref()).await?.json()?;
        let mut printer = self.printer(false);
        printer.print(&[changed])?;
        printer.end()
    }
}

/// Prints the notifications of a consumer, one in each line, until the given number has arrived or for ever. Each
/// request acknowledges those that were printed before, so that nothing is lost if the output ends.
///
/// # Errors
/// The consumer is unknown or belongs to another user, another reader took over, or the output is closed.
pub(super) async fn tail(server: &mut Server, matches: &ArgMatches) -> Result<(), Failure> {
    let path = path_of(matches);
    let consumer = match matches.get_one::<String>(FROM) {
        Some(position) => server.expect("PUT", &path, Some(&seeking(position))).await?,
        None => server.expect("GET", &path, None).await?,
    };
    say(format_args!("reading behind position {} at {}{path}", consumer.json()?["position"], server.url));
    let mut printer = Printer::stdout(Form::Jsonl, Vec::new(), &["position"], true);
    let mut left = matches.get_one::<u64>(COUNT).copied().unwrap_or(u64::MAX);
    let (mut acknowledged, mut warning, mut gap) = (None, Warning::default(), Value::Null);
    while left > 0 {
        let query = acknowledged.as_ref().map(|position| format!("&acknowledge={position}"));
        let query = format!("maxCount={}&wait={HELD}{}", left.min(BATCH), query.unwrap_or_default());
        let batch = match server.expect("GET", &format!("{path}/notifications?{query}"), None).await {
            Ok(response) => response.json()?,
            Err(failure) if failure.code() == Code::Unavailable => {
                warning.say(&failure);
                sleep(PAUSE).await;
                continue;
            }
            Err(failure) => return Err(failure),
        };
        warning = Warning::default();
        if batch["recovered"] == false && batch["missed"] != gap {
            let [from, to] = ["from", "to"].map(|end| &batch["missed"][end]);
            say(format_args!(
                "warning: the positions {from} to {to} are missing, because the consumer lapsed"
            ));
        }
        gap = batch["missed"].clone();
        let notifications = batch["notifications"].as_array().map(Vec::as_slice).unwrap_or_default();
        printer.print(notifications)?;
        left = left.saturating_sub(notifications.len() as u64);
        acknowledged = Some(batch["position"].clone());
    }
    if let Some(position) = acknowledged {
        acknowledge(server, &path, &position).await?;
    }
    printer.end()
}

/// Acknowledges what was printed last. A server that cannot be reached sends it again to the next reader.
async fn acknowledge(server: &mut Server, path: &str, position: &Value) -> Result<Response, Failure> {
    server.expect("PUT", path, Some(&Content::Json(json!({"acknowledged": position})))).await
}
