//! Errors that prevent a measurement. Failures of the server under load are figures in the report, not
//! errors.

use std::io;

/// The reason why a response is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// The status line is not `HTTP/1.1 <code> …`, or a header is malformed.
    #[error("head")]
    Head,
    /// The head is larger than 16 KiB.
    #[error("head too long")]
    HeadTooLong,
    /// Neither a length nor chunks: the end of the body is unknown.
    #[error("body without length")]
    Unframed,
    /// `Content-Length` is not a number.
    #[error("content length")]
    Length,
    /// A chunk size or a chunk end is malformed.
    #[error("chunk framing")]
    Chunk,
    /// Bytes follow the response although nothing more was requested.
    #[error("bytes after the response")]
    Surplus,
}

/// An error that ends a run, or one client within it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The socket failed or was closed.
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// A step of the preparation failed.
    #[error("{step}: {cause}")]
    During {
        /// The step.
        step: &'static str,
        /// The reason why it failed.
        cause: Box<Error>,
    },
    /// The server sent something that is not HTTP/1.1 as the generator supports it.
    #[error("malformed HTTP response: {0}")]
    Response(#[from] ParseError),
    /// The response to a step of the preparation had an unexpected status.
    #[error("{step}: status {status}: {body}")]
    Status {
        /// The step.
        step: &'static str,
        /// The HTTP status.
        status: u16,
        /// The first 200 bytes of the response.
        body: String,
    },
    /// A Bayeux reply was missing, malformed or `successful:false`.
    #[error("{channel}: {reason}")]
    Bayeux {
        /// The meta channel of the request.
        channel: &'static str,
        /// The member `error`, or the fault of the reply.
        reason: String,
    },
    /// The response to a row of the compact CSV protocol was unexpected.
    #[error("{row}: {reason}")]
    Csv {
        /// The row.
        row: &'static str,
        /// The response.
        reason: String,
    },
    /// The WebSocket failed.
    #[error("WebSocket: {0}")]
    WebSocket(#[from] Box<tokio_tungstenite::tungstenite::Error>),
    /// The database that was to be filled reported an error.
    #[error("database: {0}")]
    Database(#[from] tokio_postgres::Error),
    /// A response timed out.
    #[error("no response to {0} in time")]
    Timeout(&'static str),
    /// A scenario file has a mistake.
    #[error("{file}:{line}: {reason}")]
    Mistake {
        /// The name of the file.
        file: String,
        /// The number of the line, from 1.
        line: usize,
        /// The fault and the allowed values.
        reason: String,
    },
    /// The settings are invalid or rejected.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// Adds the step in which the error occurred.
    pub(crate) fn during(self, step: &'static str) -> Self {
        Self::During { step, cause: Box::new(self) }
    }

    /// Returns the error for a response with an unexpected status; keeps the start of the body.
    pub(crate) fn status(step: &'static str, status: u16, body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        Self::Status { step, status, body }
    }
}
