//! The commands `login`, `logout` and `profile`, which store, delete and list profiles.

use std::io::{BufRead, IsTerminal, Write, stdin};
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use platform_front::terminal::{print, say};
use serde_json::json;

use super::RESPONSE;
use super::commands::{AUTHORITIES, CODE, OUTPUT, PROFILE, SSO};
use super::failure::{Code, Failure};
use super::http::{Response, Server};
use super::output::{Form, Printer};
use super::profile::{Credentials, Profile, Profiles, checked_url};
use super::words::Words;
use super::{second_factor, single_sign_on};

/// The timeout of the response to a revocation, for which nobody waits long.
const REVOCATION: Duration = Duration::from_secs(10);
/// The user of the credentials.
const ME: &str = "/user/currentUser";

/// Asks for missing arguments, checks the credentials at the server, and stores them as a profile.
///
/// # Errors
/// The server cannot be reached or rejects the user, or the profile cannot be stored.
pub(super) async fn login(matches: &ArgMatches) -> Result<(), Failure> {
    let url = checked_url(matches.get_one::<String>("url").map_or("", String::as_str))?;
    let authorities = matches.get_one::<PathBuf>(AUTHORITIES).map(std::path::absolute).transpose()?;
    let (user, credentials) = if matches.get_flag(SSO) {
        (
            String::new(),
            Credentials::Token(Box::pin(single_sign_on::log_in(&url, authorities.clone())).await?),
        )
    } else {
        typed(matches)?
    };
    let mut profile = Profile { url, user, credentials, words: Words::default(), authorities };

    complete(&mut profile, matches.get_one::<String>(CODE).map(String::as_str)).await?;

    let mut profiles = Profiles::load()?;
    let name = matches.get_one::<String>(PROFILE).cloned().unwrap_or_default();
    let told = format!("logged in at {} as {}, profile {name}", profile.url, profile.user);
    profiles.profiles.insert(name.clone(), profile);
    profiles.current = Some(name);
    let path = profiles.store()?;
    Ok(print(format!("{told}, stored in {}\n", path.display()).as_bytes())?)
}

/// Checks the credentials of a profile at the server, and completes the profile: with the user that has them, with the
/// vendor words of the server, and with a token instead of the password if the user has a second factor.
///
/// # Errors
/// The server cannot be reached or rejects the user or the code.
async fn complete(profile: &mut Profile, code: Option<&str>) -> Result<(), Failure> {
    let mut server = Server::of(profile.clone())?.responding_within(RESPONSE);
    let mut response = server.send("GET", ME, None).await?;
    if second_factor::is_required(&response) {
        let remedy = format!(
            "`{} --code CODE` sends a code of the authenticator or a recovery code; programs need users of their own",
            profile.log_in()
        );
        profile.credentials = Box::pin(second_factor::exchange(&mut server, code, &remedy)).await?;
        server = Server::of(profile.clone())?.responding_within(RESPONSE);
        response = server.send("GET", ME, None).await?;
    }
    match response.status {
        200..=299 => {}
        401 => return Err(wrong_credentials(&profile.user)),
        status => return Err(Failure::of_response(status, &response.body)),
    }
    if profile.user.is_empty() {
        profile.user = response.json()?["userName"].as_str().unwrap_or_default().to_owned();
    }
    profile.words = Words::of_server(&mut server).await;
    Ok(())
}

/// Returns the name of an access token that the log-in of a command requests.
pub(super) fn token_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("Commands {}", host.trim()).trim().to_owned()
}

/// Returns the access token that the server issued for a log-in.
///
/// # Errors
/// The response has none.
pub(super) fn issued_token(response: &Response) -> Result<String, Failure> {
    let token = response.json()?["accessToken"].as_str().map(str::to_owned);
    token.ok_or_else(|| Failure::new(Code::Failed, "the server issued no access token"))
}

/// Returns the user and the password that a person types or pipes.
fn typed(matches: &ArgMatches) -> Result<(String, Credentials), Failure> {
    let user = match matches.get_one::<String>("user") {
        Some(user) => user.clone(),
        None if stdin().is_terminal() => asked("User (name, or tenant/name): ")?,
        None => return Err(Failure::usage("--user is required when nobody can be asked")),
    };
    let password =
        if stdin().is_terminal() { rpassword::prompt_password("Password: ")? } else { first_line()? };
    Ok((user, Credentials::Password(password)))
}

fn wrong_credentials(user: &str) -> Failure {
    let failure =
        Failure::new(Code::Denied, format!("401: the user {user} does not exist or has another password"));
    if user.contains('/') {
        failure
    } else {
        failure.hint("a user of another tenant than that of the address is TENANT/NAME")
    }
}

/// Deletes a profile: the given one, or the current one. An access token in it is revoked before; if that fails, a line
/// says so, and the profile is deleted nevertheless.
///
/// # Errors
/// There is no such profile, or the file cannot be written.
pub(super) async fn logout(matches: &ArgMatches) -> Result<(), Failure> {
    let mut profiles = Profiles::load()?;
    let name = matches.get_one::<String>(PROFILE).cloned().or_else(|| profiles.current.clone());
    let name = name.ok_or_else(|| Failure::new(Code::NotFound, "no profile is stored"))?;
    known(&profiles, &name)?;
    if let Some(profile) = profiles.profiles.remove(&name) {
        revoke(profile).await;
    }
    profiles.current = profiles.current.filter(|current| *current != name);
    profiles.store()?;
    Ok(print(format!("deleted the profile {name}\n").as_bytes())?)
}

/// Revokes the access token of a profile, if it has one. A token that has ended needs no revocation.
async fn revoke(profile: Profile) {
    if matches!(profile.credentials, Credentials::Password(_)) {
        return;
    }
    let url = profile.url.clone();
    let revoked = async {
        let mut server = Server::of(profile)?.responding_within(REVOCATION);
        server.expect("DELETE", "/user/currentUser/tokens/current", None).await
    };
    match revoked.await {
        Err(failure) if failure.code() != Code::Denied => {
            let why = failure.without_prefix();
            say(format_args!("warning: the log-in at {url} could not be revoked, and ends by itself: {why}"));
        }
        _ => {}
    }
}

/// Prints the profiles, without their passwords.
///
/// # Errors
/// The file cannot be read.
pub(super) fn list(matches: &ArgMatches) -> Result<(), Failure> {
    let Profiles { current, profiles } = Profiles::load()?;
    if let Some(form) = matches.get_one::<Form>(OUTPUT).filter(|form| **form != Form::Table) {
        let columns = ["name", "url", "user", "current"].map(Into::into).into();
        let mut printer = Printer::stdout(*form, columns, &["name"], true);
        let described = profiles.iter().map(|(name, profile)| {
            let Profile { url, user, authorities, .. } = profile;
            let is_current = current.as_ref() == Some(name);
            json!({"name": name, "url": url, "user": user, "current": is_current, "ca": authorities})
        });
        printer.print(&described.collect::<Vec<_>>())?;
        return printer.end();
    }
    for (name, profile) in &profiles {
        let star = if current.as_ref() == Some(name) { "*" } else { " " };
        print(format!("{star} {name:<12} {:<40} {}\n", profile.url, profile.user).as_bytes())?;
    }
    Ok(())
}

/// Makes a profile the current one.
///
/// # Errors
/// There is no such profile, or the file cannot be written.
pub(super) fn choose(name: &str) -> Result<(), Failure> {
    let mut profiles = Profiles::load()?;
    known(&profiles, name)?;
    profiles.current = Some(name.to_owned());
    profiles.store()?;
    Ok(())
}

fn known(profiles: &Profiles, name: &str) -> Result<(), Failure> {
    let is_known = profiles.profiles.contains_key(name);
    is_known
        .then_some(())
        .ok_or_else(|| Failure::new(Code::NotFound, format!("there is no profile {name:?}")))
}

fn asked(question: &str) -> Result<String, Failure> {
    let mut terminal = std::io::stderr();
    write!(terminal, "{question}")?;
    terminal.flush()?;
    first_line()
}

pub(super) fn first_line() -> Result<String, Failure> {
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    match line.trim_end_matches(['\r', '\n']) {
        "" => Err(Failure::usage("the first line of the pipe has the password, but nothing came")),
        line => Ok(line.to_owned()),
    }
}
