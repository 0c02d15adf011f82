//! Maps errors to responses. Only this module and its submodules name 4xx and 5xx status codes (docs/rules.md#errors;
//! E-01 to E-05). `words` contains the messages, `shape` the bodies that deviate from the common one.

mod flaw;
mod shape;
mod words;

use std::borrow::Cow;
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use platform_model::error::{Error, Noun};
use platform_model::naming::naming;
use serde::Serialize;

pub use shape::{FactorFlaw, Shape, TokenFlaw};

use super::address::base;
use super::head::{Head, is_of_script};

/// A result with [`ApiError`] as the default error.
pub type Result<T, E = ApiError> = std::result::Result<T, E>;

/// The reason why a request failed.
#[derive(Debug, Clone)]
pub enum ApiError {
    /// An error from an actor, the store or the parser of a body.
    Platform(Error),
    /// The credentials are missing or wrong (C-03).
    Unauthorized,
    /// The gateway check found no valid access token (T-05).
    AccessToken(TokenFlaw),
    /// The password is right, and does not suffice (C-27).
    SecondFactor(FactorFlaw),
    /// The certificate of the client does not log in a device (C-28). The text says why.
    Certificate(String),
    /// Another error, whose body has the format of a particular interface.
    Shaped(Shape, Box<ApiError>),
    /// Too many password guesses are waiting already, or came from one address (E-06); or a tenant exceeds a rate
    /// (Z-20).
    TooManyRequests {
        /// The subject of the limit, in words.
        of: &'static str,
        /// The number of seconds after which a retry makes sense.
        retry_after: u64,
    },
    /// The caller is known but not permitted to do this. The response contains the reason.
    Forbidden(Cow<'static, str>),
    /// The path does not exist (C-17).
    NoSuchPath(String),
    /// The path does not support this method (C-17).
    MethodNotAllowed {
        /// The methods that the path supports, in the format of the `Allow` header.
        allow: String,
    },
    /// The server cannot produce any media type that the client accepts, or the client requests a version other than
    /// 0.9 (C-08).
    NotAcceptable(String),
    /// The resource does not support the media type of the body (C-09).
    UnsupportedMediaType(String),
    /// The body has this unsupported `Content-Encoding`.
    UnsupportedContentEncoding(String),
    /// The tenant lives in another deployment now (Z-22).
    Moved,
    /// The body was not complete before a server that is stopping had to exit.
    Stopping,
    /// The body arrived too slowly, so the server stopped waiting for it.
    BodyTooSlow,
    /// The body exceeds the size limit.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A microservice did not respond to a call (W-14).
    Service {
        /// The context path of the microservice.
        context_path: Box<str>,
        /// The cause.
        fault: ServiceFault,
    },
    /// The requested range contains no existing byte.
    RangeNotSatisfiable {
        /// The number of bytes that exist.
        length: u64,
    },
    /// The HTTP library rejected the request, e.g. because its body ended too early.
    Http(StatusCode, String),
}

/// The reason why a microservice did not respond to a call (W-14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceFault {
    /// The operator configured no address.
    NoAddress,
    /// Its health probes failed.
    Down,
    /// Its address accepts no connections.
    Unreachable,
    /// The maximum number of concurrent calls is reached.
    Busy,
    /// It closed the connection, or its response was not valid HTTP.
    Broken,
    /// It sent nothing before the timeout.
    Silent,
}

/// The message of an error, in the response to its request.
#[derive(Debug, Clone)]
pub(crate) struct ErrorText(pub(crate) String);

impl ApiError {
    /// Creates the error for a missing role (E-01).
    pub fn forbidden() -> Self {
        Self::Platform(Error::Forbidden)
    }

    /// Converts the error of a missing source into one that reports the given object as missing. Objects are deleted
    /// together with their managed object, so a source that vanished meanwhile means that the object did, too.
    pub fn gone_with_source(error: Error, noun: Noun, id: impl std::fmt::Display) -> Self {
        match error {
            Error::NotFound { noun: Noun::ManagedObject, .. } => Error::not_found(noun, id).into(),
            other => other.into(),
        }
    }

    /// Creates the error for a tenant that exceeds its rate of requests, which has room for the next one after a time
    /// (Z-20).
    pub fn over_rate(wait: Duration) -> Self {
        let retry_after = wait.as_secs_f64().ceil().max(1.0) as u64;
        Self::TooManyRequests { of: "requests of this tenant (limit requestsPerSecond)", retry_after }
    }

    /// Creates the error for a write that is not stored, of a tenant whose writes of this kind exceed their rate
    /// (Z-20).
    pub fn over_transient_rate(wait: Duration) -> Self {
        let retry_after = wait.as_secs_f64().ceil().max(1.0) as u64;
        let of = "bytes of TRANSIENT and CEP writes of this tenant (limit transientBytesPerSecond)";
        Self::TooManyRequests { of, retry_after }
    }

    /// Returns the error with the body format of a particular interface.
    pub fn shaped(self, shape: Shape) -> Self {
        Self::Shaped(shape, Box::new(self))
    }

    /// Creates the error for a certificate that does not log in a device, with the reason as the end of a sentence.
    pub fn refused_certificate(reason: impl std::fmt::Display) -> Self {
        Self::Certificate(format!("The certificate of the client is refused: {reason}"))
    }

    /// Creates a 403 whose response contains the reason.
    pub fn forbidden_because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Forbidden(reason.into())
    }

    /// Creates the error for a user or visitor of a suspended tenant.
    pub fn suspended() -> Self {
        Self::Forbidden("the tenant is suspended".into())
    }

    /// Returns the response for this error.
    pub fn answer(&self, head: &impl Head) -> HttpResponse {
        let mut response = self.response(&base(head), ***head.state::<ErrorDetail>());
        if matches!(self, Self::Unauthorized | Self::SecondFactor(_)) && is_of_script(head) {
            response.headers_mut().remove(header::WWW_AUTHENTICATE);
        }
        response.extensions_mut().insert(ErrorText(self.to_string()));
        response
    }

    /// Returns the error response. `base` is the address the client used; `detail` selects what debug mode adds (E-03).
    pub fn response(&self, base: &str, detail: ErrorDetail) -> HttpResponse {
        match self {
            Self::AccessToken(flaw) => flaw.response(),
            Self::Shaped(shape, error) => shape.response(error),
            _ => self.common_response(base, detail),
        }
    }

    fn common_response(&self, base: &str, detail: ErrorDetail) -> HttpResponse {
        #[derive(Serialize)]
        struct Body {
            error: String,
            message: String,
            info: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<Details>,
        }
        /// The members are misspelled because clients expect this spelling (X-20).
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
        self.add_headers(&mut response);
        let media_type = format!("{};ver=0.9;charset=UTF-8", naming().media_type("error"));
        let media_type = HeaderValue::from_str(&media_type).expect("media types are checked at start");
        let json =
            serde_json::to_vec(&body).expect("writing to memory does not fail and all keys are strings");
        response.insert_header((header::CONTENT_TYPE, media_type)).body(json)
    }

    /// Adds the response headers that clients need in addition to the body.
    fn add_headers(&self, response: &mut HttpResponseBuilder) {
        match self {
            Self::Unauthorized | Self::SecondFactor(FactorFlaw::Missing | FactorFlaw::Wrong) => {
                response.insert_header((header::WWW_AUTHENTICATE, r#"Basic realm="Platform""#))
            }
            Self::MethodNotAllowed { allow } => response.insert_header((header::ALLOW, allow.as_str())),
            Self::Platform(Error::Contended | Error::Unavailable(_) | Error::Moving(_)) => {
                response.insert_header((header::RETRY_AFTER, "2"))
            }
            Self::Platform(Error::DiskFull) => response.insert_header((header::RETRY_AFTER, "60")),
            Self::TooManyRequests { retry_after, .. } => {
                response.insert_header((header::RETRY_AFTER, *retry_after))
            }
            Self::Service { .. } if self.status_code() == StatusCode::SERVICE_UNAVAILABLE => {
                response.insert_header((header::RETRY_AFTER, "5"))
            }
            Self::Stopping => response.insert_header((header::RETRY_AFTER, "2")),
            Self::Moved => response.insert_header((header::RETRY_AFTER, "30")),
            // The start of the next request on this connection is unknown.
            Self::BodyTooSlow => response.force_close(),
            Self::UnsupportedContentEncoding(_) => {
                response.insert_header((header::ACCEPT_ENCODING, "identity"))
            }
            Self::RangeNotSatisfiable { length } => {
                response.insert_header((header::CONTENT_RANGE, format!("bytes */{length}")))
            }
            _ => response,
        };
    }
}

/// Whether error bodies contain the cause (E-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorDetail {
    /// The body contains only what the client needs.
    Brief,
    /// The body also contains the cause, in debug mode.
    Full,
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Platform(error) => match error {
                Error::NotFound { .. } => StatusCode::NOT_FOUND,
                Error::Duplicate { .. } | Error::Conflict { .. } => StatusCode::CONFLICT,
                Error::PreconditionFailed { .. } => StatusCode::PRECONDITION_FAILED,
                Error::Malformed(_) => StatusCode::BAD_REQUEST,
                Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
                Error::Forbidden | Error::Refused(_) | Error::QuotaExceeded { .. } => StatusCode::FORBIDDEN,
                Error::Timeout => StatusCode::PAYLOAD_TOO_LARGE,
                Error::Contended | Error::Unavailable(_) | Error::Moving(_) | Error::DiskFull => {
                    StatusCode::SERVICE_UNAVAILABLE
                }
                Error::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Unauthorized | Self::AccessToken(_) | Self::Certificate(_) => StatusCode::UNAUTHORIZED,
            Self::SecondFactor(flaw) => flaw.status(),
            Self::Shaped(_, error) => error.status_code(),
            Self::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NoSuchPath(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable(_) => StatusCode::NOT_ACCEPTABLE,
            Self::UnsupportedMediaType(_) | Self::UnsupportedContentEncoding(_) => {
                StatusCode::UNSUPPORTED_MEDIA_TYPE
            }
            Self::Moved | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Service { fault, .. } => match fault {
                ServiceFault::NoAddress
                | ServiceFault::Down
                | ServiceFault::Unreachable
                | ServiceFault::Busy => StatusCode::SERVICE_UNAVAILABLE,
                ServiceFault::Broken => StatusCode::BAD_GATEWAY,
                ServiceFault::Silent => StatusCode::GATEWAY_TIMEOUT,
            },
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
    fn responses_follow_the_table_of_errors() {
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
