//! What is wrong, by kind. Never a status code: `platform`'s `http/error.rs` alone turns kinds into answers.

use std::fmt;
use std::sync::Arc;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of things the platform stores; used to name what is missing or doubled.
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
    /// What a device that was let in comes in with.
    DeviceCredentials,
    /// An application.
    Application,
    /// That a tenant may use an application.
    Subscription,
    /// Who may ask for access tokens.
    TokenClient,
    /// An event-processing module.
    Module,
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
            Self::Application => "application",
            Self::Subscription => "subscription",
            Self::TokenClient => "token client",
            Self::Module => "module",
        })
    }
}

/// Why a request of the edge, or a message, was not carried out.
///
/// Cloneable, because one failed group commit answers many senders.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The named thing does not exist in this tenant.
    #[error("no {noun} with id '{id}'")]
    NotFound {
        /// What was looked for.
        noun: Noun,
        /// The id as it was given.
        id: String,
    },
    /// A thing with this key exists already.
    #[error("a {noun} with key '{key}' exists already")]
    Duplicate {
        /// What would be doubled.
        noun: Noun,
        /// The key that is taken.
        key: String,
    },
    /// Somebody else changed the thing, or its state forbids the change.
    #[error("{message}")]
    Conflict {
        /// What could not be changed.
        noun: Noun,
        /// What is wrong and where.
        message: String,
    },
    /// The text of a body is not what its format demands.
    #[error("{0}")]
    Malformed(String),
    /// A value is missing or not allowed; the text names the member, the value and what is allowed.
    #[error("{0}")]
    Invalid(String),
    /// The caller is known but may not do this.
    #[error("Access is denied")]
    Forbidden,
    /// The caller may not do this, for a reason worth telling.
    #[error("Access is denied: {0}")]
    Refused(&'static str),
    /// A query ran into its time limit.
    #[error(
        "the query was stopped by its time limit; narrow it by source, type or time range, and reach a distant page by \
             following the links 'next' instead of 'currentPage' alone"
    )]
    Timeout,
    /// A change lost against others that were made at the same time; worth trying again.
    #[error("changed by somebody else at the same moment, try again")]
    Contended,
    /// PostgreSQL or an actor is away or overloaded; worth trying again.
    #[error("temporarily unavailable: {0}")]
    Unavailable(Arc<str>),
    /// There is no room on the disk of the database to store anything.
    #[error(
        "nothing can be stored, for the disk of the server is full; reading and deleting work. Try again when the operator has \
             made room"
    )]
    DiskFull,
    /// PostgreSQL refused something this crate believed to be right.
    #[error("database error: {}", with_cause(.0))]
    Database(Arc<tokio_postgres::Error>),
}

impl Error {
    /// The named thing does not exist in this tenant.
    pub fn not_found(noun: Noun, id: impl fmt::Display) -> Self {
        Self::NotFound { noun, id: id.to_string() }
    }

    /// A value that is not allowed: names member, value and what is allowed.
    pub fn invalid_value(member: &str, given: impl fmt::Display, allowed: &str) -> Self {
        let given: String = given.to_string().chars().take(100).collect();
        Self::Invalid(format!("Invalid value of '{member}': {given}; allowed: {allowed}"))
    }

    /// A source that does not exist (E-01: 422, names the id).
    pub fn unknown_source(id: impl fmt::Display) -> Self {
        Self::Invalid(format!("Invalid value of 'source': no managed object with id '{id}'"))
    }

    /// Temporarily away, with the reason for the log.
    pub fn unavailable(reason: impl fmt::Display) -> Self {
        Self::Unavailable(reason.to_string().into())
    }

    /// Whether only this row is to blame, so that its neighbours in a group commit may go on.
    pub(crate) fn blames_row(&self) -> bool {
        !matches!(self, Self::Unavailable(_) | Self::DiskFull)
    }

    /// Whether a unique or exclusion constraint refused the row.
    pub(crate) fn is_unique_violation(&self) -> bool {
        self.sql_state() == Some(&SqlState::UNIQUE_VIOLATION)
    }

    /// Whether a foreign key refused the row: what it refers to is gone.
    pub(crate) fn is_foreign_key_violation(&self) -> bool {
        self.sql_state() == Some(&SqlState::FOREIGN_KEY_VIOLATION)
    }

    /// The constraint that refused the row, by its name.
    pub(crate) fn constraint(&self) -> Option<&str> {
        match self {
            Self::Database(error) => error.as_db_error()?.constraint(),
            _ => None,
        }
    }

    fn sql_state(&self) -> Option<&SqlState> {
        match self {
            Self::Database(error) => error.code(),
            _ => None,
        }
    }
}

/// What happened to a statement or a connection, for operators: the driver's own words leave out what PostgreSQL or the system
/// said.
fn with_cause(error: &tokio_postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", refusal.message(), refusal.code().code());
    }
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(state) = error.code() else {
            // Without a code the server did not speak: the connection is gone.
            return match error.is_closed()
                || std::error::Error::source(&error).is_some_and(|e| e.is::<std::io::Error>())
            {
                true => Self::unavailable(with_cause(&error)),
                false => Self::Database(Arc::new(error)),
            };
        };
        match state.code() {
            "57014" => Self::Timeout,
            // The victim of a deadlock, or of serialisation; or who would not wait for a lock.
            code if code.starts_with("40") || code == "55P03" => Self::Contended,
            // The one that the operator chose; of its own the server refuses writes before.
            "53100" => {
                tracing::error!(error = with_cause(&error), "the disk of the database is full");
                Self::DiskFull
            }
            // Connection trouble, shutdown and start-up, too many connections; a transaction that was left idle too long.
            code if code == "25P03"
                || code.starts_with("08")
                || code.starts_with("57P")
                || code.starts_with("53") =>
            {
                Self::unavailable(with_cause(&error))
            }
            // Data exceptions: a value PostgreSQL cannot hold, whatever the edge thought of it.
            code if code.starts_with("22") || code == "54000" => Self::Invalid(
                error.as_db_error().map_or_else(|| error.to_string(), |e| e.message().to_owned()),
            ),
            _ => Self::Database(Arc::new(error)),
        }
    }
}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) if error.code().is_some() => error.into(),
            PoolError::Backend(error) => Self::unavailable(with_cause(&error)),
            other => Self::unavailable(other),
        }
    }
}

impl From<actix::MailboxError> for Error {
    fn from(error: actix::MailboxError) -> Self {
        Self::unavailable(error)
    }
}
