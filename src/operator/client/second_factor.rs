//! The second factor of a person (C-27): the password with a code is exchanged for an access token, which commands send
//! instead of the password.

use std::io::{Write, stderr};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use platform_front::terminal::say;
use platform_model::users::user_token::LONGEST;
use serde_json::json;

use super::confirm::terminal;
use super::content::Content;
use super::failure::{Code, Failure, REQUIRED};
use super::http::{Response, Server};
use super::login::{issued_token, token_name};
use super::profile::Credentials;

/// The header with the code.
const HEADER: HeaderName = HeaderName::from_static("tfatoken");
/// The value of the member `error` for a code that does not count.
const WRONG: &str = "security/Second Factor Wrong";
/// The number of codes that a person may type before the command ends.
const TRIES: usize = 3;

/// Returns whether a response says that the password needs a code.
pub(crate) fn is_required(response: &Response) -> bool {
    response.status == 401 && error_of(response) == REQUIRED
}

/// Exchanges the password of the server's user for a token, which is valid as long as possible, because nobody renews
/// it while no command runs. The code is `given`, or somebody at the terminal types it.
///
/// # Errors
/// Nobody can be asked, for which `remedy` is the hint; or the server does not accept the code.
pub(crate) async fn exchange(
    server: &mut Server,
    given: Option<&str>,
    remedy: &str,
) -> Result<Credentials, Failure> {
    let mut tries = if given.is_some() { 1 } else { TRIES };
    loop {
        let code = given.map_or_else(|| asked(&server.user, remedy), |code| Ok(code.to_owned()))?;
        tries -= 1;
        match tried(server, &code).await? {
            Err(wrong) if tries > 0 => say(wrong),
            done => return done,
        }
    }
}

/// Sends a code. The inner error is that of a wrong one.
async fn tried(server: &mut Server, code: &str) -> Result<Result<Credentials, Failure>, Failure> {
    let mut header = HeaderValue::try_from(code.trim())
        .map_err(|_| Failure::usage("the code cannot be sent in a header"))?;
    header.set_sensitive(true);
    let headers = HeaderMap::from_iter([(HEADER, header)]);
    let content = Content::Json(json!({"name": token_name(), "expiresIn": LONGEST.as_secs()}));
    let response = server.send_with("POST", "/user/currentUser/tokens", &headers, Some(&content)).await?;
    match response.status {
        200..=299 => {}
        401 if [WRONG, REQUIRED].contains(&&*error_of(&response)) => {
            let why = "401: the code is wrong or was used before";
            let hint = "an authenticator shows another code every half minute, and each counts once";
            return Ok(Err(Failure::new(Code::Denied, why).hint(hint)));
        }
        429 => {
            let failure = Failure::of_response(429, &response.body);
            return Err(failure.hint("a recovery code counts meanwhile"));
        }
        status => return Err(Failure::of_response(status, &response.body)),
    }
    Ok(Ok(Credentials::TokenOfCode(issued_token(&response)?)))
}

fn asked(user: &str, remedy: &str) -> Result<String, Failure> {
    let Some(mut terminal) = terminal() else {
        let why = format!("401: {user} has a second factor, and nobody can be asked for a code");
        return Err(Failure::new(Code::Denied, why).hint(remedy));
    };
    let mut shown = stderr();
    write!(shown, "Code of the authenticator, or a recovery code: ")?;
    shown.flush()?;
    let mut line = String::new();
    terminal.read_line(&mut line)?;
    match line.trim() {
        "" => Err(Failure::new(Code::Denied, "no code was typed")),
        code => Ok(code.to_owned()),
    }
}

fn error_of(response: &Response) -> String {
    let body = response.json().unwrap_or_default();
    body["error"].as_str().unwrap_or_default().to_owned()
}
