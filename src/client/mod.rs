//! The commands that send requests to any server over REST: `platform alarm list`, `platform device create`, …
//!
//! Reading order: [`nouns`] lists the nouns, [`reference`] reads their operations from the API reference, and
//! [`commands`] makes the command line of both. A running command takes server and credentials from [`profile`] and the
//! vendor words from [`words`], makes its content with [`body`] and [`content`], and sends it as [`requests`],
//! [`many`], [`upload`], [`register`] or [`watch`] describe; [`bayeux`] is the session of `watch` and [`http`] the
//! connection. [`output`] prints the result and [`failure`] the error.

pub(crate) mod bayeux;
mod body;
mod commands;
pub(crate) mod content;
pub(crate) mod failure;
pub(crate) mod http;
mod login;
mod many;
mod nouns;
mod output;
pub(crate) mod profile;
mod reference;
mod register;
mod requests;
mod upload;
mod watch;
pub(crate) mod words;

use std::io::{IsTerminal, Write, stdout};
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use serde_json::Value;
use tokio::runtime;

pub(crate) use commands::commands;
pub(crate) use profile::VARIABLES;

use commands::{DATA, DRY_RUN, PROFILE};
use content::Content;
use failure::{Code, Failure};
use http::Server;
use nouns::NOUNS;

use crate::terminal::{harmless_json, print, say};

/// Runs a command and returns the exit code. `program` is the whole command line, from which completions and manual
/// pages are made.
pub(crate) fn run(name: &str, matches: &ArgMatches, program: Command) -> ExitCode {
    let done = runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from).and_then(
        |runtime| {
            runtime.block_on(async {
                match name {
                    "login" => login::login(matches).await,
                    "logout" => login::logout(matches),
                    "profile" => match matches.subcommand() {
                        Some(("use", chosen)) => {
                            login::choose(chosen.get_one::<String>("name").map_or("", String::as_str))
                        }
                        _ => login::list(),
                    },
                    "api" => api(matches).await,
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
    let noun = NOUNS.iter().find(|noun| noun.name == name).expect("clap knows the nouns");
    let (verb, matches) = matches.subcommand().expect("clap requires a verb");
    let mut server = server(matches)?;
    match noun.verbs.iter().find(|(known, _)| known.name() == verb) {
        Some((verb, _)) => requests::run(&mut server, noun, *verb, matches).await,
        None => watch::run(&mut server, noun, matches).await,
    }
}

fn server(matches: &ArgMatches) -> Result<Server, Failure> {
    Server::of(profile::choose(matches.get_one::<String>(PROFILE).map(String::as_str))?)
}

/// `platform api`: sends one request and prints the response; JSON is indented on a terminal.
async fn api(matches: &ArgMatches) -> Result<(), Failure> {
    let method = matches.get_one::<String>("method").map_or("GET", String::as_str).to_uppercase();
    let path = matches.get_one::<String>("path").map_or("/", String::as_str);
    if !path.starts_with('/') {
        return Err(Failure::usage(format!("{path} is not a path: it begins with /")));
    }
    let content = match matches.get_one::<String>(DATA) {
        None => None,
        Some(data) => {
            let value = serde_json::from_str::<Value>(&body::read(data)?);
            Some(Content::Json(
                value.map_err(|error| Failure::usage(format!("--data is not JSON: {error}")))?,
            ))
        }
    };
    let mut server = server(matches)?;
    let mut out = stdout().lock();
    if matches.get_flag(DRY_RUN) {
        writeln!(out, "{method} {}{path}", server.url)?;
        if let Some(content) = &content {
            writeln!(out, "{}", content.described())?;
        }
        return Ok(());
    }
    let response = server.send(&method, path, content.as_ref()).await?;
    match serde_json::from_slice::<Value>(&response.body) {
        Ok(value) if out.is_terminal() => writeln!(out, "{}", harmless_json(&format!("{value:#}")))?,
        _ => print(&response.body)?,
    }
    if response.status < 400 { Ok(()) } else { Err(Failure::of_response(response.status, &response.body)) }
}

fn complete(matches: &ArgMatches, mut program: Command) -> Result<(), Failure> {
    let shell = matches.get_one::<clap_complete::Shell>("shell").copied().expect("clap requires a shell");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "platform", &mut script);
    Ok(stdout().write_all(&script)?)
}

fn write_manual(matches: &ArgMatches, mut program: Command) -> Result<(), Failure> {
    let directory = matches.get_one::<std::path::PathBuf>("directory").expect("clap requires a directory");
    program.build();
    Ok(clap_mangen::generate_to(program, directory)?)
}
