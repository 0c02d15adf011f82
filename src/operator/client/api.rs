//! `platform api`: sends any request and prints the response.

use std::io::{IsTerminal, Write, stdout};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use platform_front::terminal::{harmless_json, print};
use serde_json::Value;

use super::commands::{DATA, DRY_RUN, EXIT_CODES, dry_run, profile_flag, text, timeout_flag};
use super::content::{Content, Upload};
use super::failure::Failure;
use super::http::Response;

const HEADER: &str = "header";
const FILE: &str = "file";
const FORM: &str = "form";
const ALL: &str = "all";

/// Returns the command.
pub(super) fn command() -> Command {
    let method = PossibleValuesParser::new(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]);
    let path = Arg::new("path").value_name("PATH").required(true);
    let header = text(HEADER, "NAME: VALUE", "Header of the request; may be repeated").short('H');
    let file = text(FILE, "FILE", "File that is the whole body").value_parser(value_parser!(PathBuf));
    let form = text(FORM, "FILE", "File that is the part `file` of a form; --data is its part `object`");
    let all = Arg::new(ALL).long(ALL).action(ArgAction::SetTrue);
    Command::new("api")
        .about("Send any request and print the response")
        .arg(Arg::new("method").value_name("METHOD").required(true).ignore_case(true).value_parser(method))
        .arg(path.help("Path with its query: /alarm/alarms?pageSize=1"))
        .arg(text(
            DATA,
            "JSON|@FILE|-",
            "Body, or the file or the pipe that has it; JSON, unless -H has another Content-Type",
        ))
        .arg(header.action(ArgAction::Append).allow_hyphen_values(true))
        .arg(file.conflicts_with_all([DATA, FORM]))
        .arg(form.value_parser(value_parser!(PathBuf)))
        .arg(all.help("Print all pages of a list, one page in each line"))
        .arg(timeout_flag())
        .arg(dry_run())
        .arg(profile_flag())
        .after_help(EXIT_CODES)
}

/// Sends one request, or one for each page, and prints the responses; JSON is indented on a terminal.
///
/// # Errors
/// The command line is wrong, there is no response, or its status is an error.
pub(super) async fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let method = matches.get_one::<String>("method").map_or("GET", String::as_str).to_uppercase();
    let mut path = matches.get_one::<String>("path").cloned().unwrap_or_else(|| "/".into());
    if !path.starts_with('/') {
        return Err(Failure::usage(format!("{path} is not a path: it begins with /")));
    }
    let headers = headers(matches)?;
    let content = content(matches, &headers)?;
    let mut server = super::server(matches)?;
    if matches.get_flag(DRY_RUN) {
        let content = content.as_ref().map(|content| format!("{}\n", content.described()));
        let request = format!("{method} {}{path}\n{}", server.url, content.unwrap_or_default());
        return Ok(print(request.as_bytes())?);
    }
    loop {
        let response = server.send_with(&method, &path, &headers, content.as_ref()).await?;
        let next = show(&response, matches.get_flag(ALL))?;
        if response.status >= 400 {
            return Err(Failure::of_response(response.status, &response.body));
        }
        match next {
            Some(next) if matches.get_flag(ALL) => path = next,
            _ => return Ok(()),
        }
    }
}

fn headers(matches: &ArgMatches) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for given in matches.get_many::<String>(HEADER).into_iter().flatten() {
        let refused = || Failure::usage(format!("{given:?} is not a header: it has the form NAME: VALUE"));
        let (name, value) = given.split_once(':').ok_or_else(refused)?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| refused())?;
        headers.append(name, HeaderValue::from_str(value.trim()).map_err(|_| refused())?);
    }
    Ok(headers)
}

fn content(matches: &ArgMatches, headers: &HeaderMap) -> Result<Option<Content>, Failure> {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let guessed = |file: &PathBuf| mime_guess::from_path(file).first_or_octet_stream().to_string();
    if let Some(file) = matches.get_one::<PathBuf>(FILE) {
        let media_type = media_type.map_or_else(|| guessed(file), Into::into);
        return Ok(Some(Content::File(Upload::raw(file, &media_type)?)));
    }
    let data = matches.get_one::<String>(DATA).map(|data| super::body::read(data)).transpose()?;
    let json = |data: &str| {
        let value = serde_json::from_str::<Value>(data);
        value.map_err(|error| {
            Failure::usage(format!("--data is not JSON: {error}"))
                .hint("a text of another kind needs its type: -H 'Content-Type: text/plain'")
        })
    };
    if let Some(file) = matches.get_one::<PathBuf>(FORM) {
        let object = data.as_deref().map(json).transpose()?;
        return Ok(Some(Content::File(Upload::form(file, &guessed(file), object.as_ref())?)));
    }
    let Some(data) = data else { return Ok(None) };
    if media_type.is_some_and(|media_type| !media_type.contains("json")) {
        return Ok(Some(Content::Text(data)));
    }
    Ok(Some(Content::Json(json(&data)?)))
}

/// Prints a response and returns the path of the next page, if there is one.
fn show(response: &Response, in_lines: bool) -> Result<Option<String>, Failure> {
    let mut out = stdout().lock();
    let Ok(value) = serde_json::from_slice::<Value>(&response.body) else {
        print(&response.body)?;
        return Ok(None);
    };
    if in_lines {
        let line = value.to_string();
        writeln!(out, "{}", if out.is_terminal() { harmless_json(&line) } else { line.as_str().into() })?;
    } else if out.is_terminal() {
        writeln!(out, "{}", harmless_json(&format!("{value:#}")))?;
    } else {
        print(&response.body)?;
    }
    Ok(super::requests::next_of(&value))
}
