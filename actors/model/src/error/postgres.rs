//! The conversion of errors of the PostgreSQL driver and of its pool to errors of the platform.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use deadpool_postgres::PoolError;

use super::{DatabaseError, Error};

/// The last time that PostgreSQL rejected a write because it is a standby, or was set to accept reads only.
static READ_ONLY: Mutex<Option<Instant>> = Mutex::new(None);

impl Error {
    /// Returns when PostgreSQL last rejected a write because it accepts reads only. Connections that were opened
    /// before may lead to a server that is not the primary any more.
    pub fn last_read_only() -> Option<Instant> {
        *READ_ONLY.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that PostgreSQL rejected a write because it accepts reads only. Once a second suffices: a database that
    /// stays like this shall not be flooded with new connections.
    fn note_read_only() {
        let (now, mut last) = (Instant::now(), READ_ONLY.lock().unwrap_or_else(PoisonError::into_inner));
        if last.is_none_or(|last| now.duration_since(last).as_secs() >= 1) {
            *last = Some(now);
        }
    }
}

/// Returns a description of the error for operators. The driver's own text omits the message of PostgreSQL or the
/// operating system.
fn with_cause(error: &tokio_postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", refusal.message(), refusal.code().code());
    }
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self {
            text: with_cause(&error),
            sql_state: error.code().map(|state| state.code().to_owned()),
            constraint: error.as_db_error().and_then(|e| e.constraint()).map(ToOwned::to_owned),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(state) = error.code() else {
            // An error without a code does not come from the server: the connection is lost.
            return if error.is_closed()
                || std::error::Error::source(&error).is_some_and(|e| e.is::<std::io::Error>())
            {
                Self::unavailable(with_cause(&error))
            } else {
                Self::Database(Arc::new(error.into()))
            };
        };
        match state.code() {
            "57014" => Self::Timeout,
            // A deadlock, a serialization failure, or a lock that was not available.
            code if code.starts_with("40") || code == "55P03" => Self::Contended,
            // The PostgreSQL of the operator; the server rejects writes before the disk of its own is full.
            "53100" => {
                tracing::error!(error = with_cause(&error), "the disk of the database is full");
                Self::DiskFull
            }
            // A standby, or a primary that became one: another one may accept the write soon.
            "25006" => {
                Self::note_read_only();
                Self::unavailable(with_cause(&error))
            }
            // The connection failed, PostgreSQL starts or stops, it has too many connections, or a transaction was
            // idle too long.
            code if code == "25P03"
                || code.starts_with("08")
                || code.starts_with("57P")
                || code.starts_with("53") =>
            {
                Self::unavailable(with_cause(&error))
            }
            // A text with U+0000. Texts are valid UTF-8 here, so this is the only character that PostgreSQL rejects.
            "22021" => {
                Self::Invalid("a text contains the character U+0000, which no stored text can contain".into())
            }
            // Data exceptions: PostgreSQL cannot store the value, although it passed the validation.
            code if code.starts_with("22") || code == "54000" => Self::Invalid(
                error.as_db_error().map_or_else(|| error.to_string(), |e| e.message().to_owned()),
            ),
            _ => Self::Database(Arc::new(error.into())),
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
