//! The errors of the platform, by kind and without status codes: only `src/web/http/error` turns kinds into responses.

#[cfg(feature = "postgres")]
mod postgres;
mod unknown;

use std::fmt;
use std::sync::Arc;

/// The result type of the platform.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of objects that the platform stores, used to name a missing or duplicate one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Noun {
    /// A tenant.
    Tenant,
    /// A user of a tenant.
    User,
    /// A managed object of the inventory.
    ManagedObject,
    /// A link between two managed objects.
    Link,
    /// An external id of a managed object.
    ExternalId,
    /// A stored file.
    Binary,
    /// An alarm.
    Alarm,
    /// A measurement.
    Measurement,
    /// An event.
    Event,
    /// The file of an event.
    EventBinary,
    /// An audit record.
    AuditRecord,
    /// A group of users.
    Group,
    /// A role.
    Role,
    /// A tenant option.
    Option,
    /// An operation.
    Operation,
    /// A bulk operation.
    BulkOperation,
    /// A registration request of a device.
    NewDeviceRequest,
    /// The credentials of an accepted device.
    DeviceCredentials,
    /// A certificate authority whose certificates log in devices.
    TrustedCertificate,
    /// A certificate by which a device logs in.
    DeviceCertificate,
    /// An application.
    Application,
    /// The subscription of a tenant to an application.
    Subscription,
    /// A client that may request access tokens.
    TokenClient,
    /// An access token that a user requested for itself.
    AccessToken,
    /// The second factor of a user.
    SecondFactor,
    /// An event-processing module.
    Module,
    /// A retention rule.
    RetentionRule,
    /// A session of a Bayeux client.
    Session,
    /// A consumer of notifications.
    Consumer,
    /// A trace of notifications.
    Trace,
}

impl Noun {
    /// Returns the indefinite article of the noun.
    fn article(self) -> &'static str {
        if self.to_string().starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" }
    }
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tenant => "tenant",
            Self::User => "user",
            Self::ManagedObject => "managed object",
            Self::Link => "reference",
            Self::ExternalId => "external id",
            Self::Binary => "binary",
            Self::Alarm => "alarm",
            Self::Measurement => "measurement",
            Self::Event => "event",
            Self::EventBinary => "binary",
            Self::AuditRecord => "audit record",
            Self::Group => "group",
            Self::Role => "role",
            Self::Option => "option",
            Self::Operation => "operation",
            Self::BulkOperation => "bulk operation",
            Self::NewDeviceRequest => "newDeviceRequest",
            Self::DeviceCredentials => "deviceCredentials",
            Self::TrustedCertificate => "trusted certificate",
            Self::DeviceCertificate => "device certificate",
            Self::Application => "application",
            Self::Subscription => "subscription",
            Self::TokenClient => "token client",
            Self::AccessToken => "access token",
            Self::SecondFactor => "second factor",
            Self::Module => "module",
            Self::RetentionRule => "retention rule",
            Self::Session => "session",
            Self::Consumer => "consumer",
            Self::Trace => "trace",
        })
    }
}

/// The reason why a request or a message failed.
///
/// It can be cloned, because a failed group commit is the error of many senders.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The object does not exist in this tenant.
    #[error("no {noun} with id '{id}'")]
    NotFound {
        /// The kind of the missing object.
        noun: Noun,
        /// The id in the request.
        id: String,
    },
    /// An object with this key exists already. Clients of the field search the text for "already exists".
    #[error("{} {noun} with key '{key}' already exists", noun.article())]
    Duplicate {
        /// The kind of the object.
        noun: Noun,
        /// The key that is in use.
        key: String,
    },
    /// The object was changed concurrently, or its state does not allow the change.
    #[error("{message}")]
    Conflict {
        /// The kind of the object.
        noun: Noun,
        /// A description of the conflict.
        message: String,
    },
    /// The object has another revision than the request requires (C-23).
    #[error("{noun} '{id}' has changed: its ETag is \"{revision}\", and If-Match allows {expected}")]
    PreconditionFailed {
        /// The kind of the object.
        noun: Noun,
        /// The id of the object.
        id: String,
        /// The revision that the object has.
        revision: i64,
        /// The tags that the request allows.
        expected: String,
    },
    /// The text of a body violates its format.
    #[error("{0}")]
    Malformed(String),
    /// A value is missing or invalid; the text names the member, the value and what is allowed.
    #[error("{0}")]
    Invalid(String),
    /// The caller is authenticated but lacks the right.
    #[error("Access is denied")]
    Forbidden,
    /// The caller lacks the right for a specific reason.
    #[error("Access is denied: {0}")]
    Refused(&'static str),
    /// The tenant uses all that one of its limits allows (Z-20).
    #[error(
        "Access is denied: the quota '{name}' of the tenant is used up: {used} of {allowed}; GET /tenant/limits \
         shows all"
    )]
    QuotaExceeded {
        /// The name of the limit.
        name: &'static str,
        /// The most that the tenant may use.
        allowed: u64,
        /// The usage of the tenant.
        used: u64,
    },
    /// A query exceeded the statement timeout.
    #[error(
        "the query was stopped by its time limit; narrow it by source, type or time range, and reach a distant page by \
             following the links 'next' instead of 'currentPage' alone"
    )]
    Timeout,
    /// A change conflicted with concurrent ones and can be retried.
    #[error("changed by somebody else at the same moment, try again")]
    Contended,
    /// PostgreSQL or an actor is unavailable or overloaded; the request can be retried.
    #[error("temporarily unavailable: {0}")]
    Unavailable(Arc<str>),
    /// The tenant is moving to another deployment. Its writes are rejected while its last rows are copied (Z-22).
    #[error("tenant '{0}' is moving to another deployment and takes no writes for a moment, try again")]
    Moving(Arc<str>),
    /// There is no room on the disk of the database to store anything.
    #[error(
        "nothing can be stored because the disk of the server is full; reading and deleting work. Try again when the \
             operator has made room"
    )]
    DiskFull,
    /// PostgreSQL rejected a statement that the server considered valid.
    #[error("database error: {0}")]
    Database(Arc<DatabaseError>),
}

impl Error {
    /// Returns the error for an object that does not exist in this tenant.
    pub fn not_found(noun: Noun, id: impl fmt::Display) -> Self {
        Self::NotFound { noun, id: id.to_string() }
    }

    /// Returns the error for an invalid value, which names the member, the value and what is allowed.
    pub fn invalid_value(member: &str, given: impl fmt::Display, allowed: &str) -> Self {
        let given: String = given.to_string().chars().take(100).collect();
        Self::Invalid(format!("Invalid value of '{member}': {given}; allowed: {allowed}"))
    }

    /// Returns the error for a source that does not exist (E-01: 422, names the id).
    pub fn unknown_source(id: impl fmt::Display) -> Self {
        Self::Invalid(format!("Invalid value of 'source': no managed object with id '{id}'"))
    }

    /// Returns the error for temporary unavailability, with the reason for the log.
    pub fn unavailable(reason: impl fmt::Display) -> Self {
        Self::Unavailable(reason.to_string().into())
    }

    /// Returns whether only this row caused the error, so that its neighbours in a group commit can be stored.
    pub fn blames_row(&self) -> bool {
        !matches!(self, Self::Unavailable(_) | Self::DiskFull)
    }

    /// Returns whether a unique or exclusion constraint rejected the row.
    pub fn is_unique_violation(&self) -> bool {
        self.has_sql_state(UNIQUE_VIOLATION)
    }

    /// Returns whether a foreign key rejected the row because the referenced row does not exist.
    pub fn is_foreign_key_violation(&self) -> bool {
        self.has_sql_state(FOREIGN_KEY_VIOLATION)
    }

    /// Returns the name of the constraint that rejected the row.
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Self::Database(error) => error.constraint.as_deref(),
            _ => None,
        }
    }

    /// Returns whether PostgreSQL reported this SQLSTATE.
    pub fn has_sql_state(&self, state: &str) -> bool {
        matches!(self, Self::Database(error) if error.sql_state.as_deref() == Some(state))
    }
}

const UNIQUE_VIOLATION: &str = "23505";
const FOREIGN_KEY_VIOLATION: &str = "23503";

/// The error that PostgreSQL or its driver reported for a failed statement.
#[derive(Debug)]
pub struct DatabaseError {
    /// A description for operators, with its cause.
    pub text: String,
    /// The SQLSTATE; `None` if the error does not come from PostgreSQL.
    pub sql_state: Option<String>,
    /// The name of the constraint that was violated.
    pub constraint: Option<String>,
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
