//! The failure of a command: a message for people, and an exit code for scripts.

use std::fmt;
use std::process::ExitCode;

use serde_json::Value;

/// The value of the member `error` when a password needs a code (C-27).
pub(super) const REQUIRED: &str = "security/Second Factor Required";
/// The value of the member `error` when a group requires a second factor that is not set up.
const NOT_SET_UP: &str = "security/Second Factor Not Set Up";

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
    hint: Option<String>,
}

/// The exit code of a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The reader of standard output has closed it, as `head` does; this is not an error.
    ReaderEnded = 0,
    /// The server rejected the request for another reason, or something failed on this machine.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    NotFound = 3,
    /// The credentials are missing or wrong, or the user lacks a role.
    Denied = 4,
    Conflict = 5,
    /// The server cannot be reached or is overloaded; the command may succeed later.
    Unavailable = 6,
    /// Ctrl-C ended the command.
    Interrupted = 130,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the failure for a response with an error status.
    pub(crate) fn of_response(status: u16, body: &[u8]) -> Self {
        let code = match status {
            401 | 403 => Code::Denied,
            404 => Code::NotFound,
            409 => Code::Conflict,
            429 | 500.. => Code::Unavailable,
            _ => Code::Failed,
        };
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = body["message"].as_str().unwrap_or("the server gave no reason");
        let failure = Self::new(code, format!("{status}: {message}"));
        // A 403 has several causes: a used-up quota and a protected tenant need no role.
        let lacks_role = body["error"] == "security/Forbidden" && message == "Access is denied";
        match status {
            401 if body["error"] == REQUIRED => {
                failure.hint("`platform login` asks for a code; programs need users of their own")
            }
            403 if body["error"] == NOT_SET_UP => failure
                .hint("set it up in the console, on the page of your user; then `platform login` again"),
            401 => failure.hint("`platform login` stores a user and a password"),
            403 if lacks_role => failure
                .hint("the user lacks a role or a permission; /docs/api names the roles of an operation"),
            _ => failure,
        }
    }

    /// Returns the message and the hint without the leading `error: `, for programs that print a prefix of their own.
    pub(crate) fn without_prefix(&self) -> String {
        self.to_string().trim_start_matches("error: ").to_owned()
    }

    pub(crate) fn code(&self) -> Code {
        self.code
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code as u8)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let ended = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self::new(if ended { Code::ReaderEnded } else { Code::Failed }, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
