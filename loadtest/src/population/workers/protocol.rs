//! The messages between `run` and a worker, over TCP. Each is a JSON text, preceded by its length as four bytes.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use super::super::generator::{Records, Share};
use super::super::orders::Order;
use super::super::posters::Posted;
use super::super::series::Second;
use crate::error::Error;
use crate::ledger::session::ClientId;

/// The version of the protocol, which increases with each change of a message.
pub(super) const VERSION: u32 = 3;
/// The environment variable with the secret that both sides share.
pub(super) const SECRET: &str = "LOADTEST_WORKER_SECRET";
/// The longest message in bytes, which is the record of a long run.
const LONGEST: u32 = 2_000_000_000;

/// A message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker {
    Hello {
        version: u32,
        secret: String,
    },
    /// The worker responds with its clock. Until a run begins, it also shows the worker that the run still needs it.
    Clock,
    /// The worker connects its clients, and responds when all have sessions.
    Begin(Box<Assignment>),
    /// The worker starts a phase at a time of the run.
    Play {
        phase: usize,
        start: u64,
    },
    Order(ClientId, Order),
    /// The worker sends the posts that are still due, and responds with its posts when its clients have sessions.
    Finish,
    /// The worker waits until nothing has arrived for a time, and responds with its records.
    Drain {
        quiet: Duration,
        limit: Duration,
    },
}

/// A message of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromWorker {
    Hello,
    /// The microseconds since an instant that the worker has chosen.
    Clock(u64),
    Open,
    /// The events of a second, and the number of clients with a session.
    Second(Second, usize),
    Posted(Vec<Posted>),
    Recorded(Box<Records>),
    /// The reason why the worker cannot continue.
    Failed(String),
}

/// The task of a worker in a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Assignment {
    /// The scenario file: its name and its text.
    pub(super) file: (String, String),
    pub(super) share: Share,
    /// The number of the run.
    pub(super) run: u32,
    /// The time of the worker's clock at the start of the run; it may be earlier than the origin of that clock.
    pub(super) began: i64,
    /// The addresses of the servers.
    pub(super) servers: Vec<String>,
    /// The [`World`](super::super::world::World).
    pub(super) world: Box<RawValue>,
}

/// The receiving side of a connection.
#[derive(Debug)]
pub(super) struct Reader(BufReader<OwnedReadHalf>);

/// The sending side of a connection.
#[derive(Debug)]
pub(super) struct Writer(OwnedWriteHalf);

/// Returns both sides of a connection.
pub(super) fn split(stream: TcpStream) -> Result<(Reader, Writer), Error> {
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok((Reader(BufReader::new(reader)), Writer(writer)))
}

impl Reader {
    /// Receives a message.
    ///
    /// # Errors
    /// The connection ended, or the message is invalid.
    pub(super) async fn receive<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        self.receive_up_to(LONGEST).await
    }

    /// Receives a message of at most this many bytes.
    ///
    /// # Errors
    /// Fails like [`Self::receive`].
    pub(super) async fn receive_up_to<T: DeserializeOwned>(&mut self, longest: u32) -> Result<T, Error> {
        let length = self.0.read_u32().await?;
        if length > longest {
            return Err(Error::Refused(format!("a message of {length} bytes is too long")));
        }
        // The buffer grows with the bytes that arrive and not with the announced length, which may be wrong.
        let mut text = Vec::new();
        (&mut self.0).take(length.into()).read_to_end(&mut text).await?;
        serde_json::from_slice(&text)
            .map_err(|error| Error::Refused(format!("a message is not understood: {error}")))
    }
}

impl Writer {
    /// Sends a message.
    ///
    /// # Errors
    /// The connection ended, or the message is too long.
    pub(super) async fn send(&mut self, message: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec(message).map_err(std::io::Error::from)?;
        let length = u32::try_from(text.len()).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or_else(|| {
            Error::Refused(format!("{} bytes are too long for a message; shorten the run", text.len()))
        })?;
        self.0.write_u32(length).await?;
        self.0.write_all(&text).await?;
        Ok(())
    }

    /// Sends messages until there are no more senders or the connection has ended.
    pub(super) async fn send_all(mut self, mut messages: mpsc::UnboundedReceiver<impl Serialize>) {
        while let Some(message) = messages.recv().await {
            if self.send(&message).await.is_err() {
                return;
            }
        }
    }
}

/// Returns the secret of this side, which is empty if the variable is not set.
pub(super) fn secret() -> String {
    std::env::var(SECRET).unwrap_or_default()
}
