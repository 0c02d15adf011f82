//! Passwords in bodies: they are asked for, piped or read from a file, because arguments are visible to every user of
//! the machine.

use std::io::{IsTerminal, stdin};

use serde_json::Value;

use super::failure::{Code, Failure};
use super::login::first_line;
use super::reference::Field;

/// The members that are passwords.
const MEMBERS: [&str; 3] = ["password", "adminPass", "currentPassword"];

/// The help of an option that takes a password: the forms that its value may have.
pub(super) const HELP: &str = "- asks for it or reads the first line of a pipe, @FILE reads a file";

/// Returns whether a member is a password.
pub(super) fn is_secret(field: &Field) -> bool {
    MEMBERS.contains(&field.name)
}

/// Returns the password that the value of a flag names.
///
/// # Errors
/// The file or the pipe cannot be read, or the two passwords differ.
pub(super) fn read(field: &Field, value: Value) -> Result<Value, Failure> {
    let Some(text) = value.as_str().filter(|_| is_secret(field)) else { return Ok(value) };
    let password = match text.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::new(Code::Failed, format!("{file}: {error}")))?;
            let line = text.lines().next().filter(|line| !line.is_empty()).map(str::to_owned);
            line.ok_or_else(|| Failure::new(Code::Failed, format!("{file}: the first line has no password")))?
        }
        None if text == "-" && stdin().is_terminal() => asked(field)?,
        None if text == "-" => first_line()?,
        None => return Ok(value),
    };
    Ok(password.into())
}

fn asked(field: &Field) -> Result<String, Failure> {
    let password = rpassword::prompt_password(format!("{}: ", field.name))?;
    let again = rpassword::prompt_password("once more: ")?;
    if password == again { Ok(password) } else { Err(Failure::usage("the two passwords differ")) }
}
