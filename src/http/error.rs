//! From what is wrong to what is answered: the only file that names 4xx and 5xx codes and the words of the `error`
//! member (document 1, Errors; E-01 to E-05).

use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use platform_actors::naming::naming;
use platform_actors::{Error, Noun};
use serde::Serialize;

/// Shorthand for the edge's results.
pub type Result<T, E = ApiError> = std::result::Result<T, E>;

/// Why a request was not carried out.
#[derive(Debug, Clone)]
pub enum ApiError {
    /// An actor, the store or a body said what is wrong.
    Platform(Error),
    /// No credentials, or wrong ones (C-03).
    Unauthorized,
    /// Too many guesses wait for their turn already, or came from one address (E-06).
    TooManyRequests {
        /// What there were too many of, in words.
        of: &'static str,
        /// Seconds after which it is worth trying again.
        retry_after: u64,
    },
    /// The caller is known but may not do this, for a reason worth telling.
    Forbidden(&'static str),
    /// No such path (C-17).
    NoSuchPath(String),
    /// The path does not take this method (C-17).
    MethodNotAllowed {
        /// The methods it takes, as in the `Allow` header.
        allow: &'static str,
    },
    /// No type the client accepts can be given, or another version than 0.9 (C-08).
    NotAcceptable(String),
    /// The body is of a type this resource does not take (C-09).
    UnsupportedMediaType(String),
    /// The body is larger than allowed.
    TooLarge {
        /// Bytes allowed.
        limit: usize,
    },
    /// No byte of the range that is asked for exists.
    RangeNotSatisfiable {
        /// Bytes there are.
        length: u64,
    },
    /// The HTTP library refused the request, e.g. a body that ended too early.
    Http(StatusCode, String),
}

impl ApiError {
    /// The role is missing (E-01).
    pub fn forbidden() -> Self {
        Self::Platform(Error::Forbidden)
    }

    /// What belongs to a managed object goes with it: a source that vanished meanwhile means that this did.
    pub fn gone_with_source(error: Error, noun: Noun, id: impl std::fmt::Display) -> Self {
        match error {
            Error::NotFound { noun: Noun::ManagedObject, .. } => Error::not_found(noun, id).into(),
            other => other.into(),
        }
    }

    /// Refused for a reason that is worth telling.
    pub fn forbidden_because(reason: &'static str) -> Self {
        Self::Forbidden(reason)
    }

    /// The member `error`: area and name.
    fn name(&self) -> String {
        let area = |noun: &Noun| match noun {
            Noun::ManagedObject | Noun::Link | Noun::Binary => "inventory",
            Noun::ExternalId => "identity",
            Noun::Alarm => "alarm",
            Noun::Measurement => "measurement",
            Noun::Event | Noun::EventBinary => "event",
            Noun::AuditRecord => "audit",
            Noun::User | Noun::Group | Noun::Role => "user",
            Noun::Tenant | Noun::Option | Noun::Subscription => "tenants",
            Noun::Application | Noun::TokenClient => "application",
            Noun::Operation | Noun::BulkOperation | Noun::NewDeviceRequest | Noun::DeviceCredentials => {
                "devicecontrol"
            }
        };
        match self {
            Self::Platform(error) => match error {
                Error::NotFound { noun, .. } => format!("{}/Not Found", area(noun)),
                Error::Duplicate { noun, .. } => format!("{}/Duplicate", area(noun)),
                Error::Conflict { noun, .. } => format!("{}/Update Conflict", area(noun)),
                Error::Malformed(_) | Error::Invalid(_) => "undefined/validationError".into(),
                Error::Forbidden | Error::Refused(_) => "security/Forbidden".into(),
                Error::Timeout => "general/Execution timeout".into(),
                Error::Contended | Error::Unavailable(_) => "general/Service Unavailable".into(),
                Error::Database(_) => "general/internalError".into(),
            },
            Self::Unauthorized => "security/Unauthorized".into(),
            Self::TooManyRequests { .. } => "security/Too Many Requests".into(),
            Self::Forbidden(_) => "security/Forbidden".into(),
            Self::NoSuchPath(_) => "general/Not Found".into(),
            Self::MethodNotAllowed { .. } => "general/Method not allowed".into(),
            Self::NotAcceptable(_) => "general/Not Acceptable".into(),
            Self::UnsupportedMediaType(_) => "general/Unsupported Media Type".into(),
            Self::TooLarge { .. } => "general/Payload Too Large".into(),
            Self::RangeNotSatisfiable { .. } => "general/Range Not Satisfiable".into(),
            Self::Http(status, _) => format!("general/{}", status.canonical_reason().unwrap_or("Error")),
        }
    }

    /// The `error` response; `base` is the address the client used, `detail` what debug mode adds (E-03).
    pub fn response(&self, base: &str, detail: ErrorDetail) -> HttpResponse {
        #[derive(Serialize)]
        struct Body {
            error: String,
            message: String,
            info: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<Details>,
        }
        /// The members are misspelled in the documents, and kept so (X-20).
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Details {
            expection_class: &'static str,
            exception_message: String,
            expection_stack_trace: String,
        }
        let details = (detail == ErrorDetail::Full).then(|| Details {
            expection_class: "ApiError",
            exception_message: format!("{self:?}"),
            expection_stack_trace: String::new(),
        });
        let info = format!("{base}/docs/errors#error_reporting");
        let body = Body { error: self.name(), message: self.to_string(), info, details };
        let mut response = HttpResponse::build(self.status_code());
        let more = match self {
            Self::Unauthorized => Some((header::WWW_AUTHENTICATE, r#"Basic realm="Platform""#)),
            Self::MethodNotAllowed { allow } => Some((header::ALLOW, *allow)),
            Self::Platform(Error::Contended | Error::Unavailable(_)) => Some((header::RETRY_AFTER, "2")),
            _ => None,
        };
        if let Some(more) = more {
            response.insert_header(more);
        }
        if let Self::TooManyRequests { retry_after, .. } = self {
            response.insert_header((header::RETRY_AFTER, *retry_after));
        }
        if let Self::RangeNotSatisfiable { length } = self {
            response.insert_header((header::CONTENT_RANGE, format!("bytes */{length}")));
        }
        let media_type = format!("{};charset=UTF-8;ver=0.9", naming().media_type("error"));
        let media_type = HeaderValue::from_str(&media_type).expect("media types are checked at start");
        let json =
            serde_json::to_vec(&body).expect("writing to memory does not fail and all keys are strings");
        response.insert_header((header::CONTENT_TYPE, media_type)).body(json)
    }
}

/// Whether error bodies carry the cause (E-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorDetail {
    /// Only what the client needs.
    Brief,
    /// Also the cause, in debug mode.
    Full,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform(Error::NotFound { noun: Noun::ManagedObject, id }) => {
                write!(f, "Finding device data from database failed : No managedObject for id '{id}'!")
            }
            Self::Platform(Error::NotFound { noun: Noun::ExternalId, id }) => {
                write!(f, "External id not found; external id = {id}")
            }
            Self::Platform(Error::NotFound { noun: Noun::Operation, id }) => {
                write!(f, "Finding device data from database failed : No operation for gid '{id}'!")
            }
            Self::Platform(Error::NotFound { noun: Noun::BulkOperation, id }) => {
                write!(f, "Finding bulk operation from database failed : Cannot find document with ID {id}!")
            }
            Self::Platform(Error::NotFound { noun: Noun::NewDeviceRequest, id }) => {
                write!(f, "There is no newDeviceRequest for device id {id}.")
            }
            Self::Platform(Error::NotFound { noun: Noun::DeviceCredentials, id }) => write!(
                f,
                "Credentials for device id {id} are not available. \
                 Device is in state PENDING_ACCEPTANCE, (not ACCEPTED))."
            ),
            Self::Platform(Error::NotFound { noun, id }) => {
                write!(f, "Finding {noun} from database failed : No {noun} for gid '{id}'!")
            }
            Self::Platform(Error::Duplicate { noun: Noun::Application, key }) => {
                write!(f, "an application with {key} exists already")
            }
            Self::Platform(Error::Unavailable(_)) => {
                f.write_str("Service is temporarily unavailable, try again")
            }
            Self::Platform(Error::Database(_)) => f.write_str("Internal Server Error"),
            Self::Platform(error) => error.fmt(f),
            Self::Unauthorized => f.write_str("Invalid credentials! : Bad credentials"),
            Self::TooManyRequests { of, retry_after } => {
                write!(f, "Too many {of}, try again in {retry_after} seconds")
            }
            Self::Forbidden(reason) => write!(f, "Access is denied: {reason}"),
            Self::NoSuchPath(path) => write!(f, "No resource at path '{path}'"),
            Self::MethodNotAllowed { allow } => {
                write!(f, "This method is not allowed here; allowed: {allow}")
            }
            Self::NotAcceptable(message) | Self::UnsupportedMediaType(message) | Self::Http(_, message) => {
                f.write_str(message)
            }
            Self::TooLarge { limit } => write!(f, "The body is larger than the {limit} bytes allowed"),
            Self::RangeNotSatisfiable { length } => {
                write!(f, "No byte of the range exists; there are {length} bytes")
            }
        }
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Platform(error) => match error {
                Error::NotFound { .. } => StatusCode::NOT_FOUND,
                Error::Duplicate { .. } | Error::Conflict { .. } => StatusCode::CONFLICT,
                Error::Malformed(_) => StatusCode::BAD_REQUEST,
                Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
                Error::Forbidden | Error::Refused(_) => StatusCode::FORBIDDEN,
                Error::Timeout => StatusCode::PAYLOAD_TOO_LARGE,
                Error::Contended | Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
                Error::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NoSuchPath(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable(_) => StatusCode::NOT_ACCEPTABLE,
            Self::UnsupportedMediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::RangeNotSatisfiable { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Http(status, _) => *status,
        }
    }

    /// The middleware renders errors again, with the address the client used.
    fn error_response(&self) -> HttpResponse<BoxBody> {
        self.response("", ErrorDetail::Brief)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        if let Error::Database(cause) = &error {
            tracing::error!(error = ?cause, "a statement was refused by the database");
        }
        Self::Platform(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_follow_the_documents_table() {
        let not_found = |noun| ApiError::Platform(Error::not_found(noun, "7"));
        let conflict = Error::Conflict { noun: Noun::Alarm, message: "x".into() };
        for (error, status, name, message) in [
            (
                not_found(Noun::ManagedObject),
                404,
                "inventory/Not Found",
                "Finding device data from database failed : No managedObject for id '7'!",
            ),
            (
                not_found(Noun::Alarm),
                404,
                "alarm/Not Found",
                "Finding alarm from database failed : No alarm for gid '7'!",
            ),
            (
                not_found(Noun::Event),
                404,
                "event/Not Found",
                "Finding event from database failed : No event for gid '7'!",
            ),
            (
                not_found(Noun::EventBinary),
                404,
                "event/Not Found",
                "Finding binary from database failed : No binary for gid '7'!",
            ),
            (ApiError::Unauthorized, 401, "security/Unauthorized", "Invalid credentials! : Bad credentials"),
            (
                ApiError::TooManyRequests { of: "attempts to log in", retry_after: 3 },
                429,
                "security/Too Many Requests",
                "Too many attempts to log in, try again in 3 seconds",
            ),
            (ApiError::forbidden(), 403, "security/Forbidden", "Access is denied"),
            (ApiError::Platform(conflict), 409, "alarm/Update Conflict", "x"),
            (ApiError::Platform(Error::Malformed("x".into())), 400, "undefined/validationError", "x"),
            (ApiError::Platform(Error::Invalid("x".into())), 422, "undefined/validationError", "x"),
        ] {
            assert_eq!(
                (error.status_code().as_u16(), &*error.name(), &*error.to_string()),
                (status, name, message)
            );
        }
        let timeout = ApiError::Platform(Error::Timeout);
        assert_eq!((timeout.status_code().as_u16(), &*timeout.name()), (413, "general/Execution timeout"));
    }
}
