//! The flaws of templates (docs/rules.md#templates; S-60, line 41).

use std::fmt;

use actix_web::http::Method;

use super::json_path::PathFlaw;

/// The reason why a line of a registration is not a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// An earlier template has this id.
    DuplicateId,
    /// Wrong number of fields or parameter types, unknown method, no path, or an invalid header.
    BadRequest,
    /// Wrong number of fields.
    BadResponse,
    /// A word in PARAMS that is not a type.
    BadValueType(String),
    /// A VALUE is empty.
    BadPattern,
    /// Neither a template, nor an id a template may have (S-27).
    BadId,
    /// An invalid path in BASE, COND or a VALUE.
    Path(PathFlaw),
    /// CONTENT for a method without a body.
    ContentNotSupported(Method),
    /// TEMPLATE for a method without a body.
    TemplateNotSupported(Method),
    /// No CONTENT for a method with a body.
    NoContent(Method),
    /// No TEMPLATE for a method with a body.
    NoTemplate(Method),
    /// PARAMS without a placeholder.
    ValuesWithoutPlaceholder,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::DuplicateId => "Duplicate message identifiers are not allowed",
            Self::BadRequest => "Bad request template definition",
            Self::BadResponse => "Bad response template definition",
            Self::BadValueType(word) => return write!(f, "Bad value type: {word}"),
            Self::BadPattern => "Bad pattern",
            Self::BadId => "Not a valid message identifier for template creation",
            Self::Path(PathFlaw::Invalid) => "Invalid JsonPath",
            Self::Path(PathFlaw::List) => "Using JsonPath to refer to a list of objects is not allowed",
            Self::Path(PathFlaw::Filter) => "Using Filters (?) in JsonPath is not allowed",
            Self::ContentNotSupported(method) => {
                return write!(f, "No content type supported for {method} templates.");
            }
            Self::TemplateNotSupported(method) => {
                return write!(f, "No template string supported for {method} templates.");
            }
            Self::NoContent(method) => return write!(f, "No content type found for {method} templates."),
            Self::NoTemplate(method) => return write!(f, "No template string found for {method} templates."),
            Self::ValuesWithoutPlaceholder => "Values are only supported for templates with placeholder.",
        };
        f.write_str(text)
    }
}
