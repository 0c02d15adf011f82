//! The texts of errors: the member `error`, and the message (docs/rules.md#errors; E-01 to E-05).

use std::fmt;

use actix_web::ResponseError;
use platform_model::error::{Error, Noun};

use super::{ApiError, ServiceFault};

impl ApiError {
    /// Returns the member `error`: area and name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Platform(error) => match error {
                Error::NotFound { noun, .. } => format!("{}/Not Found", area(noun)),
                Error::Duplicate { noun, .. } => format!("{}/Duplicate", area(noun)),
                Error::Conflict { noun, .. } => format!("{}/Update Conflict", area(noun)),
                Error::PreconditionFailed { noun, .. } => format!("{}/Precondition Failed", area(noun)),
                Error::Malformed(_) | Error::Invalid(_) => "undefined/validationError".into(),
                Error::Forbidden | Error::Refused(_) => "security/Forbidden".into(),
                Error::QuotaExceeded { .. } => "tenants/Quota Exceeded".into(),
                Error::Timeout => "general/Execution timeout".into(),
                Error::Contended | Error::Unavailable(_) | Error::Moving(_) | Error::DiskFull => {
                    "general/Service Unavailable".into()
                }
                Error::Database(_) => "general/internalError".into(),
            },
            Self::Unauthorized | Self::AccessToken(_) | Self::Certificate(_) => {
                "security/Unauthorized".into()
            }
            Self::SecondFactor(flaw) => flaw.name().into(),
            Self::Shaped(_, error) => error.name(),
            Self::TooManyRequests { .. } => "security/Too Many Requests".into(),
            Self::Forbidden(_) => "security/Forbidden".into(),
            Self::NoSuchPath(_) => "general/Not Found".into(),
            Self::MethodNotAllowed { .. } => "general/Method not allowed".into(),
            Self::NotAcceptable(_) => "general/Not Acceptable".into(),
            Self::UnsupportedMediaType(_) | Self::UnsupportedContentEncoding(_) => {
                "general/Unsupported Media Type".into()
            }
            Self::Moved | Self::Stopping => "general/Service Unavailable".into(),
            Self::BodyTooSlow => "general/Request Timeout".into(),
            Self::TooLarge { .. } => "general/Payload Too Large".into(),
            Self::Service { .. } => {
                format!("general/{}", self.status_code().canonical_reason().unwrap_or("Error"))
            }
            Self::RangeNotSatisfiable { .. } => "general/Range Not Satisfiable".into(),
            Self::Http(status, _) => format!("general/{}", status.canonical_reason().unwrap_or("Error")),
        }
    }
}

/// Returns the area of an error about a noun.
fn area(noun: &Noun) -> &'static str {
    match noun {
        Noun::ManagedObject | Noun::Link | Noun::Binary => "inventory",
        Noun::ExternalId => "identity",
        Noun::Alarm => "alarm",
        Noun::Measurement => "measurement",
        Noun::Event | Noun::EventBinary => "event",
        Noun::AuditRecord => "audit",
        Noun::User | Noun::Group | Noun::Role | Noun::AccessToken | Noun::SecondFactor => "user",
        Noun::Tenant | Noun::Option | Noun::Subscription => "tenants",
        Noun::Session | Noun::Consumer | Noun::Trace => "notification",
        Noun::Application | Noun::TokenClient => "application",
        Noun::Module => "cep-server",
        Noun::RetentionRule => "retention",
        Noun::TrustedCertificate | Noun::DeviceCertificate => "tenants",
        Noun::Operation | Noun::BulkOperation | Noun::NewDeviceRequest | Noun::DeviceCredentials => {
            "devicecontrol"
        }
    }
}

/// Writes the message of an error of the platform.
fn write_platform(error: &Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        Error::NotFound { noun: Noun::ManagedObject, id } => {
            write!(f, "Finding device data from database failed : No managedObject for id '{id}'!")
        }
        Error::NotFound { noun: Noun::ExternalId, id } => {
            write!(f, "External id not found; external id = {id}")
        }
        Error::NotFound { noun: Noun::Operation, id } => {
            write!(f, "Finding device data from database failed : No operation for gid '{id}'!")
        }
        Error::NotFound { noun: Noun::BulkOperation, id } => {
            write!(f, "Finding bulk operation from database failed : Cannot find document with ID {id}!")
        }
        Error::NotFound { noun: Noun::NewDeviceRequest, id } => {
            write!(f, "There is no newDeviceRequest for device id {id}.")
        }
        Error::NotFound { noun: Noun::DeviceCredentials, id } => write!(
            f,
            "Credentials for device id {id} are not available. \
             Device is in state PENDING_ACCEPTANCE, (not ACCEPTED))."
        ),
        Error::NotFound { noun: Noun::Module, id } => {
            write!(f, "Not found module file for id {id}")
        }
        Error::NotFound { noun, id } => {
            write!(f, "Finding {noun} from database failed : No {noun} for gid '{id}'!")
        }
        Error::Duplicate { noun: Noun::Application, key } => {
            write!(f, "an application with {key} already exists")
        }
        Error::Unavailable(_) => f.write_str("Service is temporarily unavailable, try again"),
        Error::Database(_) => f.write_str("Internal Server Error"),
        error => write!(f, "{error}"),
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform(error) => write_platform(error, f),
            Self::Unauthorized => f.write_str("Invalid credentials! : Bad credentials"),
            Self::AccessToken(flaw) => flaw.fmt(f),
            Self::SecondFactor(flaw) => flaw.fmt(f),
            Self::Shaped(_, error) => error.fmt(f),
            Self::TooManyRequests { of, retry_after } => {
                write!(f, "Too many {of}, try again in {retry_after} seconds")
            }
            Self::Forbidden(reason) => write!(f, "Access is denied: {reason}"),
            Self::NoSuchPath(path) => write!(f, "No resource at path '{path}'"),
            Self::MethodNotAllowed { allow } => {
                write!(f, "This method is not allowed here; allowed: {allow}")
            }
            Self::NotAcceptable(message)
            | Self::UnsupportedMediaType(message)
            | Self::Certificate(message)
            | Self::Http(_, message) => f.write_str(message),
            Self::UnsupportedContentEncoding(given) => {
                write!(f, "Unsupported Content-Encoding: {given}; allowed: identity, or no such header")
            }
            Self::Moved => f.write_str("The tenant has moved to another deployment, try again"),
            Self::Stopping => f.write_str("The server is stopping, try again"),
            Self::BodyTooSlow => f.write_str(
                "The body arrived too slowly (settings --body-bytes-per-second, --body-pause-seconds)",
            ),
            Self::Service { context_path, fault } => {
                write!(f, "The microservice '{context_path}' {}", predicate(*fault))
            }
            Self::TooLarge { limit } => write!(f, "The body is larger than the {limit} bytes allowed"),
            Self::RangeNotSatisfiable { length } => {
                write!(f, "The range is beyond the end of the file, which has {length} bytes")
            }
        }
    }
}

/// Returns what a microservice that did not respond is or does.
fn predicate(fault: ServiceFault) -> &'static str {
    match fault {
        ServiceFault::NoAddress => "has no address; the operator sets it",
        ServiceFault::Down => "is down",
        ServiceFault::Unreachable => "cannot be reached",
        ServiceFault::Busy => "has too many concurrent calls",
        ServiceFault::Broken => "sent an invalid response",
        ServiceFault::Silent => "did not respond in time",
    }
}
