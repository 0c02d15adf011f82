//! Why a run could not be measured. Faults of the server under load are figures in the report, not errors.

use std::io;

/// What ends a run, or one client's life within it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The socket failed or was closed.
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// A step with an answer of its own failed.
    #[error("{step}: {cause}")]
    During {
        /// What was asked for.
        step: &'static str,
        /// Why it failed.
        cause: Box<Error>,
    },
    /// The server sent something that is not HTTP/1.1 as the generator understands it.
    #[error("malformed HTTP answer: {0}")]
    Response(#[from] crate::response::ParseError),
    /// A step of the preparation was answered with another status than the contract says.
    #[error("{step}: status {status}: {body}")]
    Status {
        /// What was asked for.
        step: &'static str,
        /// The HTTP status that came.
        status: u16,
        /// The first 200 bytes of the answer.
        body: String,
    },
    /// A Bayeux reply was missing, malformed or `successful:false`.
    #[error("{channel}: {reason}")]
    Bayeux {
        /// The meta channel of the request.
        channel: &'static str,
        /// The `error` member, or what was wrong with the reply.
        reason: String,
    },
    /// A row of the compact CSV protocol was answered by something else than it must be.
    #[error("{row}: {reason}")]
    Csv {
        /// What was sent.
        row: &'static str,
        /// What came.
        reason: String,
    },
    /// The WebSocket failed.
    #[error("WebSocket: {0}")]
    WebSocket(#[from] Box<tokio_tungstenite::tungstenite::Error>),
    /// The database that was to be filled refused.
    #[error("database: {0}")]
    Database(#[from] tokio_postgres::Error),
    /// An answer did not come within the time every step is given.
    #[error("no answer to {0} in time")]
    Timeout(&'static str),
    /// The settings make no sense or are refused.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// Adds what was being done when the error came.
    pub(crate) fn during(self, step: &'static str) -> Self {
        Self::During { step, cause: Box::new(self) }
    }

    /// The error for an answer whose status was not the expected one; keeps the head of the body.
    pub(crate) fn status(step: &'static str, status: u16, body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        Self::Status { step, status, body }
    }
}
