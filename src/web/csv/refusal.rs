//! The errors of rows, and their lines in the response (docs/rules.md#rows-and-responses; S-60).

use std::fmt;

use actix_web::ResponseError;
use actix_web::http::StatusCode;

use super::kind::Kind;
use super::line::Lines;
use crate::http::error::ApiError;

/// The response to an unknown X-Id and to an empty request (S-10, S-11, S-41).
pub(crate) const NO_TEMPLATE: &str = "40,\"No template for this X-ID.\"";

/// The reason why a row was not executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 42: its first value is not a message id, or its quotes are unbalanced.
    Malformed,
    /// 43: no set contains the id.
    InvalidMessageId,
    /// 45: the message takes no arguments.
    NoArguments,
    /// 45: more or fewer arguments than the message takes.
    WrongNumber,
    /// 45: an argument is of another type.
    Kind(Kind, String),
    /// 50: the status of the REST response (S-07).
    Rest(StatusCode),
}

impl Refusal {
    /// Adds the line of the response; `line` is the line of the row in the request.
    pub(crate) fn write(&self, line: usize, lines: &mut Lines) {
        lines.push([self.id().to_string(), line.to_string(), self.to_string()]);
    }

    fn id(&self) -> u32 {
        match self {
            Self::Malformed => 42,
            Self::InvalidMessageId => 43,
            Self::NoArguments | Self::WrongNumber | Self::Kind(..) => 45,
            Self::Rest(_) => 50,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("Malformed Request"),
            Self::InvalidMessageId => f.write_str("Invalid message identifier"),
            Self::NoArguments => f.write_str("No arguments supported"),
            Self::WrongNumber => f.write_str("Wrong number of arguments"),
            Self::Kind(kind, value) => write!(f, "Value is not a {}: {value}", kind.word()),
            Self::Rest(status) => write!(f, "{}", status.as_u16()),
        }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Rest(error.status_code())
    }
}

impl From<platform_model::error::Error> for Refusal {
    fn from(error: platform_model::error::Error) -> Self {
        ApiError::from(error).into()
    }
}
