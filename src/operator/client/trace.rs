//! `platform trace device`, `user` and `session`: a trace begins, and what all servers record is printed until it ends;
//! and `explain`: why a change arrived at a receiver, or why it did not.

use std::time::Duration;

use clap::{Arg, ArgMatches};
use platform_front::terminal::say;
use serde_json::{Value, json};
use tokio::signal;
use tokio::time::sleep;

use super::commands::{COLUMNS, COUNT, ID, OUTPUT, positive, text};
use super::content::Content;
use super::failure::{Code, Failure};
use super::http::Server;
use super::noun::Noun;
use super::output::{Form, Printer};
use super::requests::{Command, Request, escaped};
use super::watch::Warning;

const TRACES: &str = "/notification/traces";
const SECONDS: &str = "seconds";
/// The pause between two requests for records.
const PAUSE: Duration = Duration::from_secs(1);

/// Returns the arguments of a verb that follows a trace.
pub(super) fn arguments(subject: &'static str) -> [Arg; 3] {
    let help = match subject {
        "device" => "Id of the device",
        "user" => "Name of the user",
        _ => "Id of the session, from `platform session list`",
    };
    let seconds = text(SECONDS, "SECONDS", "End after this time, an hour at most [default: 600]");
    let count = text(COUNT, "COUNT", "End after this many records").value_parser(positive);
    [
        Arg::new(ID).value_name(subject.to_uppercase()).required(true).help(help),
        seconds.value_parser(positive).allow_negative_numbers(true),
        count.allow_negative_numbers(true),
    ]
}

/// Begins a trace and prints the records of all servers, until it ends, the given number is printed, or the command is
/// interrupted. Then the trace ends, too.
///
/// # Errors
/// The server rejects the trace or cannot be reached at the beginning, or the output is closed.
pub(super) async fn follow(
    server: &mut Server,
    (noun, subject): (&Noun, &str),
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let id = matches.get_one::<String>(ID).map_or("", String::as_str);
    let mut body = json!({subject: id});
    if let Some(seconds) = matches.get_one::<u64>(SECONDS) {
        body[SECONDS] = json!(seconds);
    }
    let trace = server.expect("POST", TRACES, Some(&Content::Json(body))).await?.json()?;
    say(format_args!("tracing {subject} {id} at {} until {}", server.url, text_of(&trace["endTime"])));
    let path = format!("{TRACES}/{}", text_of(&trace["id"]));
    let printed = tokio::select! {
        printed = print_records(server, &path, noun, matches) => printed,
        _ = signal::ctrl_c() => Ok(()),
    };
    match server.expect("DELETE", &path, None).await {
        // It has ended by itself.
        Err(failure) if failure.code() != Code::NotFound => printed.and(Err(failure)),
        _ => printed,
    }
}

/// Prints records until the trace ends.
async fn print_records(
    server: &mut Server,
    path: &str,
    noun: &Noun,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let form = matches.get_one::<Form>(OUTPUT).copied().unwrap_or(Form::Table);
    let columns = matches.get_many::<String>(COLUMNS).into_iter().flatten().cloned().collect();
    let mut printer = Printer::stdout(form, columns, noun.id, true).with_whole_texts();
    let mut left = matches.get_one::<u64>(COUNT).copied().unwrap_or(u64::MAX);
    let (mut seen, mut query, mut warning) = (Vec::<Value>::new(), String::new(), Warning::default());
    while left > 0 {
        match server.expect("GET", &format!("{path}/records{query}"), None).await {
            Ok(response) => {
                warning = Warning::default();
                let records = response.json()?;
                warn_of_missing(&records);
                let records = records["records"].as_array().cloned().unwrap_or_default();
                let new: Vec<Value> = records.iter().filter(|one| !seen.contains(one)).cloned().collect();
                let shown = new.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                printer.print(&new[..shown])?;
                left -= shown as u64;
                if let Some(last) = records.last() {
                    query = format!("?dateFrom={}", escaped(text_of(&last["time"])));
                    seen = records;
                }
            }
            Err(failure) if failure.code() == Code::NotFound => break,
            Err(failure) if failure.code() == Code::Unavailable => warning.say(&failure),
            Err(failure) => return Err(failure),
        }
        sleep(PAUSE).await;
    }
    printer.end()
}

impl Command<'_> {
    /// Prints the findings of a diagnosis.
    ///
    /// # Errors
    /// The server rejects the request or cannot be reached, or the output is closed.
    pub(super) async fn explain(&mut self) -> Result<(), Failure> {
        let query = self.query().unwrap_or_default();
        let path = format!("/notification/diagnosis?{query}");
        if self.is_dry_run() {
            return self.describe(&[Request::only(path, None)]);
        }
        let diagnosis = self.server.expect("GET", &path, None).await?.json()?;
        warn_of_missing(&diagnosis);
        let form = self.matches.get_one::<Form>(OUTPUT).copied().unwrap_or(Form::Table);
        let columns = ["time", "cause", "text"].map(str::to_owned).to_vec();
        let mut printer = Printer::stdout(form, columns, self.noun.id, true).with_whole_texts();
        printer.print(diagnosis["findings"].as_array().map(Vec::as_slice).unwrap_or_default())?;
        printer.end()
    }
}

fn warn_of_missing(response: &Value) {
    let missing = response["missingServers"].as_array().into_iter().flatten();
    for server in missing {
        say(format_args!(
            "warning: the server {} did not respond, so its records are missing",
            text_of(server)
        ));
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
