//! `platform device register`: registers a device, which then gets its own credentials.

use std::time::Duration;

use clap::{Arg, ArgAction, value_parser};
use platform_front::terminal::say;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::body::value_of;
use super::commands::{FIELD, ID, fields};
use super::content::Content;
use super::failure::{Code, Failure};
use super::reference::{Field, Operation};
use super::requests::{Command, Request};

const WAIT: &str = "wait";
const TIMEOUT: &str = "timeout";
/// The time between two queries of the request's status.
const PAUSE: Duration = Duration::from_secs(1);

/// Adds the arguments of the command.
pub(super) fn arguments(command: clap::Command, operation: &Operation) -> clap::Command {
    let wait = Arg::new(WAIT).long(WAIT).action(ArgAction::SetTrue);
    let timeout = Arg::new(TIMEOUT).long(TIMEOUT).value_name("SECONDS").requires(WAIT);
    let others: Vec<Field> = others(operation).cloned().collect();
    command
        .arg(
            Arg::new(ID)
                .required(true)
                .help("Identifier that the device asks with, such as its serial number"),
        )
        .args(fields(FIELD, "", &others))
        .arg(wait.help("Wait until the device asks for its credentials, and accept it"))
        .arg(
            timeout
                .value_parser(value_parser!(u64).range(1..))
                .help("End the wait after this time [default: never]"),
        )
}

/// Returns the members of the request except the identifier.
fn others(operation: &Operation) -> impl Iterator<Item = &Field> {
    operation.members.iter().filter(|field| field.name != "id")
}

impl Command<'_> {
    /// Registers a device. With `--wait` it also waits for the device and accepts it.
    ///
    /// # Errors
    /// A request fails, or the device does not ask for its credentials in time.
    pub(super) async fn register(&mut self) -> Result<(), Failure> {
        let id = self.matches.get_one::<String>(ID).cloned().expect("clap requires an identifier");
        let mut body = json!({"id": id});
        for field in others(&self.operation) {
            if let Some(value) = value_of(field, self.matches) {
                body[field.name] = value;
            }
        }
        let (path, content) = (self.path("").await?, Content::Json(body));
        if self.is_dry_run() {
            return self.describe(&[Request::only(path, Some(content))]);
        }
        let waits = self.matches.get_flag(WAIT);
        let of_device = format!("{path}/{}", super::requests::escaped(&id));
        let registered = match self.server.expect("POST", &path, Some(&content)).await {
            Ok(response) => response.json()?,
            // An earlier wait was interrupted. This command continues it if the request belongs to this tenant.
            Err(failure) if waits && failure.code() == Code::Conflict => {
                let found = self.server.expect("GET", &of_device, None).await;
                found.map_err(|_| failure)?.json()?
            }
            Err(failure) => return Err(failure),
        };
        let request = if waits { self.accept(&id, &of_device, registered).await? } else { registered };
        let mut printer = self.printer(false);
        printer.print(&[request])?;
        printer.end()
    }

    /// Waits until the device asks for its credentials, accepts it, and prints which device it was.
    async fn accept(&mut self, id: &str, of_device: &str, mut request: Value) -> Result<Value, Failure> {
        let timeout = self.matches.get_one::<u64>(TIMEOUT).map(|seconds| Duration::from_secs(*seconds));
        let begin = Instant::now();
        say(format_args!("{id} is registered; waiting until it asks for its credentials"));
        while request["status"] == "WAITING_FOR_CONNECTION" {
            if timeout.is_some_and(|timeout| begin.elapsed() >= timeout) {
                return Err(Failure::new(Code::Failed, format!("{id} has not asked for its credentials"))
                    .hint("it is still registered; the same command goes on waiting"));
            }
            sleep(PAUSE).await;
            match self.server.expect("GET", of_device, None).await {
                Ok(response) => request = response.json()?,
                Err(failure) if failure.code() == Code::Unavailable => {
                    say(format_args!("warning: {}; trying again", failure.without_prefix()))
                }
                Err(failure) => return Err(failure),
            }
        }
        if request["status"] == "PENDING_ACCEPTANCE" {
            let accepted = Content::Json(json!({"status": "ACCEPTED"}));
            request = self.server.expect("PUT", of_device, Some(&accepted)).await?.json()?;
        }
        let [tenant, owner] = ["tenantId", "owner"].map(|member| request[member].as_str().unwrap_or("?"));
        say(format_args!(
            "{id} asked for its credentials and is accepted: a device of tenant {tenant}, registered by {owner}"
        ));
        Ok(request)
    }
}
