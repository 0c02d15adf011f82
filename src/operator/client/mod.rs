//! The commands that send requests to any server over REST: `platform alarm list`, `platform device create`, …
//!
//! Reading order: [`nouns`] lists the nouns, [`reference`] reads their operations from the API reference, and
//! [`commands`] makes the command line of both. A running command takes server and credentials from [`profile`] and the
//! vendor words from [`words`], makes its content with [`body`] and [`content`], and sends it as [`requests`],
//! [`batch`], [`many`], [`upload`], [`register`], [`consumer`], [`trace`], [`watch`] or [`api`] describe; [`confirm`]
//! asks before something is deleted, [`secret`] for passwords and [`second_factor`] for codes. [`bayeux`] is the
//! session of `watch` and [`http`] the connection. [`output`] prints the result and [`failure`] the error.

mod api;
mod batch;
pub(crate) mod bayeux;
mod body;
mod commands;
mod confirm;
mod consumer;
pub(crate) mod content;
pub(crate) mod failure;
mod help;
pub(crate) mod http;
mod listed;
mod login;
mod many;
mod noun;
mod nouns;
mod nouns_of_accounts;
mod output;
#[cfg(test)]
mod printed_lines;
pub(crate) mod profile;
mod reference;
mod register;
mod requests;
pub(crate) mod second_factor;
mod secret;
mod single_sign_on;
mod trace;
mod upload;
mod watch;
pub(crate) mod words;

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, Command};
use platform_front::terminal::say;
use tokio::runtime;

pub(crate) use commands::commands;
pub(crate) use profile::VARIABLES;

use commands::{PROFILE, TIMEOUT};
use failure::{Code, Failure};
use http::Server;
use noun::Verb;
use nouns::nouns;

/// The timeout of a response of a command, and of each part of it.
const RESPONSE: Duration = Duration::from_secs(60);
/// The timeout of a response of `watch` and `tail`.
const WATCH: Duration = Duration::from_secs(300);
/// The longest time that a request waits in all before it is repeated.
const REPEATS: Duration = Duration::from_secs(120);

/// Runs a command and returns the exit code. `program` is the whole command line, from which completions and manual
/// pages are made.
pub fn run(name: &str, matches: &ArgMatches, program: Command) -> ExitCode {
    let done = runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from).and_then(
        |runtime| {
            runtime.block_on(async {
                match name {
                    "login" => login::login(matches).await,
                    "logout" => login::logout(matches).await,
                    "profile" => match matches.subcommand() {
                        Some(("use", chosen)) => {
                            login::choose(chosen.get_one::<String>("name").map_or("", String::as_str))
                        }
                        Some((_, matches)) => login::list(matches),
                        None => Ok(()),
                    },
                    "api" => api::run(matches).await,
                    "completion" => complete(matches, program),
                    "man" => write_manual(matches, program),
                    noun => run_noun(noun, matches).await,
                }
            })
        },
    );
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.code() != Code::ReaderEnded {
                say(&failure);
            }
            failure.exit_code()
        }
    }
}

async fn run_noun(name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let noun = nouns().find(|noun| noun.name == name).expect("clap knows the nouns");
    let (verb, matches) = matches.subcommand().expect("clap requires a verb");
    let mut server = server(matches)?;
    match noun.verbs.iter().find(|(known, _)| known.name() == verb) {
        // The server holds the polls of `tail` and the connects of `watch` for longer than it takes for a response.
        Some((Verb::Tail, _)) => {
            requests::run(&mut server.responding_within(WATCH), noun, Verb::Tail, matches).await
        }
        Some((verb, _)) => requests::run(&mut server, noun, *verb, matches).await,
        None => watch::run(&mut server.responding_within(WATCH), noun, matches).await,
    }
}

fn server(matches: &ArgMatches) -> Result<Server, Failure> {
    let server = Server::of(profile::choose(matches.get_one::<String>(PROFILE).map(String::as_str))?)?;
    let given = matches.try_get_one::<u64>(TIMEOUT).ok().flatten();
    let response = given.map_or(RESPONSE, |seconds| Duration::from_secs(*seconds));
    Ok(server.responding_within(response).repeating_for(REPEATS))
}

fn complete(matches: &ArgMatches, mut program: Command) -> Result<(), Failure> {
    let shell = matches.get_one::<clap_complete::Shell>("shell").copied().expect("clap requires a shell");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "platform", &mut script);
    Ok(stdout().write_all(&script)?)
}

fn write_manual(matches: &ArgMatches, mut program: Command) -> Result<(), Failure> {
    let directory = matches.get_one::<std::path::PathBuf>("directory").expect("clap requires a directory");
    if !directory.is_dir() {
        return Err(Failure::new(Code::NotFound, format!("{} is not a directory", directory.display())));
    }
    program.build();
    Ok(clap_mangen::generate_to(with_hidden_help(program), directory)?)
}

/// Hides the commands `help`, whose manual pages would only repeat those of the other commands.
fn with_hidden_help(program: Command) -> Command {
    program.mut_subcommands(|command| match command.get_name() {
        "help" => command.hide(true),
        _ => with_hidden_help(command),
    })
}
