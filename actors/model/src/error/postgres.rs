//! The conversion of errors of the PostgreSQL driver and of its pool to errors of the platform.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use deadpool_postgres::PoolError;
use tokio_postgres::error::DbError;

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

/// The meaning of an error of PostgreSQL for the request whose statement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The request conflicted with concurrent ones; repeating it helps at once.
    Contended,
    /// The statement exceeded its timeout.
    TooSlow,
    /// The disk is full.
    DiskFull,
    /// PostgreSQL accepts reads only.
    ReadOnly,
    /// The tenant whose row was written is moving to another deployment.
    Moving,
    /// The connection failed, or PostgreSQL starts, stops or is busy. The server notices that in other ways as well.
    Interrupted,
    /// PostgreSQL lacks something that the operator has to provide: memory, connections, room in the queue of
    /// notifications, a disk that works. The request itself is valid.
    Exhausted,
    /// PostgreSQL cannot store a value, although it passed the validation.
    UnstorableValue,
    /// The statement is wrong, or the data is inconsistent.
    Fault,
}

/// The source files of PostgreSQL that reject a *value* as too large with SQLSTATE 54000: an entry of an index, a
/// `jsonb`, an array, a text to search. Every other error with this code is about PostgreSQL and not about the value,
/// for example `async.c`: the queue of notifications is full.
const SIZES_OF_VALUES: [&str; 10] = [
    "nbtutils.c",
    "nbtinsert.c",
    "ginentrypage.c",
    "gininsert.c",
    "indextuple.c",
    "jsonb_util.c",
    "tsvector.c",
    "tsvector_op.c",
    "to_tsany.c",
    "arrayutils.c",
];

/// Returns the meaning of a SQLSTATE. `file` is the source file of PostgreSQL that reported it.
fn meaning(state: &str, file: Option<&str>) -> Meaning {
    match (&state[..state.len().min(2)], state) {
        (_, "57014") => Meaning::TooSlow,
        (_, "53100") => Meaning::DiskFull,
        (_, "25006") => Meaning::ReadOnly,
        (_, "TM001") => Meaning::Moving,
        // A deadlock, a serialization failure, a lock that was not available, an object that others use at this
        // moment, a snapshot that became too old.
        ("40", _) | (_, "55P03" | "55006" | "72000") => Meaning::Contended,
        // The connection failed, or a transaction was idle or open for too long, or PostgreSQL starts or stops, or an
        // administrator ended the connection.
        ("08" | "57", _) | (_, "25P03" | "25P04") => Meaning::Interrupted,
        // Too many connections, no memory, a limit of the configuration; errors of the operating system and of the
        // disk; a state of PostgreSQL that forbids the statement.
        ("53" | "55" | "58", _) => Meaning::Exhausted,
        (_, "54000") if file.is_some_and(|file| SIZES_OF_VALUES.contains(&file)) => Meaning::UnstorableValue,
        (_, "54000") => Meaning::Exhausted,
        ("22", _) => Meaning::UnstorableValue,
        _ => Meaning::Fault,
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
        match meaning(state.code(), error.as_db_error().and_then(DbError::file)) {
            Meaning::TooSlow => Self::Timeout,
            Meaning::Contended => Self::Contended,
            // The PostgreSQL of the operator; the server rejects writes before the disk of its own is full.
            Meaning::DiskFull => {
                tracing::error!(error = with_cause(&error), "the disk of the database is full");
                Self::DiskFull
            }
            // A standby, or a primary that became one: another one may accept the write soon.
            Meaning::ReadOnly => {
                Self::note_read_only();
                Self::unavailable(with_cause(&error))
            }
            Meaning::Moving => {
                Self::Moving(error.as_db_error().and_then(DbError::detail).unwrap_or_default().into())
            }
            Meaning::Interrupted => Self::unavailable(with_cause(&error)),
            Meaning::Exhausted => Self::exhausted(&error),
            Meaning::UnstorableValue if state.code() == "22021" => {
                // Texts are valid UTF-8 here, so this is the only character that PostgreSQL rejects.
                Self::Invalid("a text contains the character U+0000, which no stored text can contain".into())
            }
            Meaning::UnstorableValue => Self::Invalid(
                error.as_db_error().map_or_else(|| error.to_string(), |e| e.message().to_owned()),
            ),
            Meaning::Fault => Self::Database(Arc::new(error.into())),
        }
    }
}

impl Error {
    /// Logs that PostgreSQL lacks something that the operator has to provide, and returns the error for the client.
    fn exhausted(error: &tokio_postgres::Error) -> Self {
        tracing::error!(
            error = with_cause(error),
            "PostgreSQL cannot carry out valid statements now; their requests get 503"
        );
        Self::unavailable(with_cause(error))
    }
}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        match error {
            // The connection could not be opened, for example because the password was changed, so no request is to
            // blame, whatever the code is.
            PoolError::Backend(error) => match error.code().map(|state| meaning(state.code(), None)) {
                None | Some(Meaning::Interrupted) => Self::unavailable(with_cause(&error)),
                Some(_) => Self::exhausted(&error),
            },
            other => Self::unavailable(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_of_errors_has_its_meaning() {
        let table: [(Meaning, &[&str]); 9] = [
            (Meaning::Contended, &["40000", "40001", "40003", "40P01", "55P03", "55006", "72000"]),
            (Meaning::TooSlow, &["57014"]),
            (Meaning::DiskFull, &["53100"]),
            (Meaning::Moving, &["TM001"]),
            (Meaning::ReadOnly, &["25006"]),
            (
                Meaning::Interrupted,
                &["08000", "08006", "08P01", "25P03", "25P04", "57000", "57P01", "57P03", "57P05"],
            ),
            (
                Meaning::Exhausted,
                &["53000", "53200", "53300", "53400", "54000", "55000", "58000", "58030", "58P01"],
            ),
            (Meaning::UnstorableValue, &["22001", "22003", "22021", "22P02", "22P05"]),
            (
                Meaning::Fault,
                &[
                    "0A000", "21000", "23502", "23503", "23505", "25P02", "26000", "28P01", "3D000", "42501",
                    "42601", "42P01", "54001", "54011", "54023", "F0000", "P0001", "PL001", "XX000", "XX001",
                ],
            ),
        ];
        for (expected, states) in table {
            for state in states {
                assert_eq!(meaning(state, Some("async.c")), expected, "{state}");
            }
        }
    }

    #[test]
    fn program_limit_is_about_the_value_only_where_sizes_of_values_are_checked() {
        assert_eq!(meaning("54000", Some("nbtutils.c")), Meaning::UnstorableValue, "an entry of an index");
        assert_eq!(meaning("54000", Some("jsonb_util.c")), Meaning::UnstorableValue);
        for file in [Some("async.c"), Some("pl_exec.c"), None] {
            assert_eq!(meaning("54000", file), Meaning::Exhausted, "{file:?}");
        }
    }
}
