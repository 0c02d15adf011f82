//! Sessions that move between servers: the messages between the servers, and the records of the holders of moved
//! sessions.
//!
//! Every server listens on a channel of its own. One task sends all messages of a server in the order of the calls,
//! many in one transaction. The point at which a session moves is a publication of its tenant ([`SessionMove`]), so
//! that it has a place in the order of all other publications.

mod of_users;
mod stored;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deadpool_postgres::Transaction;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;
use platform_model::realtime::session_move::{ServerMessage, SessionMove};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::panics::caught;
use crate::realtime::publications::{Assembly, NOTIFY, Unreadable, channel, cut, encode};
use crate::realtime::servers::DEAD_AFTER;
use crate::realtime::signatures::Signatures;
pub use of_users::SessionsOfUser;
pub use stored::StoredSession;

const ASK: &str = include_str!("../../../../../sql/queries/session_moves/ask.sql");
const NOTE_HOLDERS: &str = include_str!("../../../../../sql/queries/session_moves/note_holders.sql");
const FORGET: &str = include_str!("../../../../../sql/queries/session_moves/forget.sql");
const SWEEP: &str = include_str!("../../../../../sql/queries/session_moves/sweep.sql");
const SWEEP_OF_USERS: &str = include_str!("../../../../../sql/queries/session_moves/sweep_of_users.sql");
const IS_RENEWED: &str = include_str!("../../../../../sql/queries/session_moves/is_renewed.sql");
const FIND_SUCCESSORS: &str = include_str!("../../../../../sql/queries/session_moves/find_successors.sql");

const BEGIN: &str = "SET LOCAL synchronous_commit = off";
/// Requests wait only briefly for locks, less than those who wait for their responses. A request that is sent later
/// would move a session to a server that no longer expects it.
const BEGIN_ASKING: &str =
    "SET LOCAL synchronous_commit = off; SAVEPOINT asking; SET LOCAL lock_timeout = '700ms'";
const ASKED: &str = "SET LOCAL lock_timeout = DEFAULT; RELEASE SAVEPOINT asking";
const NOT_ASKED: &str = "ROLLBACK TO SAVEPOINT asking";

/// The prefix of the names of channels; the incarnation of the server follows.
const CHANNEL: &str = "platform_server_";
/// The most entries of one transaction.
const AT_ONCE: usize = 500;
/// The most bytes of a request to an unknown holder, which is sent as one payload.
const QUESTION_BYTES: usize = 7000;
/// The bits of the incarnation of a server process that a clientId contains.
pub const BIRTH_BITS: u32 = 24;

/// Handles a message of another server, or of this one.
pub type HandleMessage = Box<dyn Fn(ServerMessage) + Send + Sync>;

/// The messages about sessions from and to this server.
pub struct SessionMoves {
    server: OnceLock<i64>,
    handle: OnceLock<HandleMessage>,
    sender: OnceLock<mpsc::UnboundedSender<Outgoing>>,
    next_batch: AtomicU64,
    signatures: Arc<Signatures>,
}

/// The recipient of a request to the holder of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The server that holds the session; the request was sent to it.
    Sent(i64),
    /// This server holds the session: its clientId says so or, if `has_moved`, a move to this server is recorded.
    Own {
        /// Whether such a move is recorded.
        has_moved: bool,
    },
    /// The server that holds the session is gone.
    Nobody,
}

enum Outgoing {
    Tell(i64, ServerMessage),
    Ask(Question),
    Move { tenant: TenantId, point: SessionMove, sent: oneshot::Sender<Result<()>> },
    Forget(String),
    Flush(oneshot::Sender<Result<()>>),
}

struct Question {
    client: String,
    birth: i64,
    message: ServerMessage,
    is_repeated: bool,
    asked: oneshot::Sender<Result<Asked>>,
}

impl SessionMoves {
    /// Creates the messages of a process that is not connected yet.
    pub(crate) fn new(signatures: Arc<Signatures>) -> Self {
        Self {
            server: OnceLock::new(),
            handle: OnceLock::new(),
            sender: OnceLock::new(),
            next_batch: AtomicU64::new(0),
            signatures,
        }
    }

    /// Sets the incarnation of this server and the handler of messages, and starts to send. It is called once; a
    /// process without sessions does not call it.
    pub fn install(&self, server: i64, database: &Database, handle: HandleMessage) {
        self.server.set(server).ok();
        self.handle.set(handle).ok();
        let (sender, receiver) = mpsc::unbounded_channel();
        if self.sender.set(sender).is_ok() {
            tokio::spawn(run(database.clone(), receiver));
        }
    }

    /// Returns the incarnation of this server process; 0 before it is known.
    pub fn server(&self) -> i64 {
        self.server.get().copied().unwrap_or_default()
    }

    /// Returns the statement that listens to messages, if this process has sessions.
    pub(crate) fn listen(&self) -> Option<String> {
        self.server.get().map(|server| format!("LISTEN {CHANNEL}{server}"))
    }

    /// Processes a notification of the listening connection, without its signature. Returns whether it was a message to
    /// this server.
    pub(crate) fn receive(&self, assembly: &mut Assembly, channel: &str, payload: &str) -> bool {
        if !channel.starts_with(CHANNEL) {
            return false;
        }
        let message = match assembly.take(payload) {
            Ok(None) => return true,
            Ok(Some(text)) => serde_json::from_str(&text).map_err(|_| Unreadable),
            Err(unreadable) => Err(unreadable),
        };
        match (message, self.handle.get()) {
            (Ok(message), Some(handle)) => handle(message),
            (Ok(_), None) => {}
            // The requester of a lost message times out and ends the session.
            (Err(Unreadable), _) => tracing::error!("a message of another server cannot be read"),
        }
        true
    }

    /// Sends a message to a server, after all earlier messages to it.
    pub fn tell(&self, server: i64, message: ServerMessage) {
        self.send(Outgoing::Tell(server, message));
    }

    /// Sends a message to the server that holds a session. `birth` is the part of its incarnation in the clientId. If
    /// `is_repeated`, because an earlier request got no response, it is also checked whether that server has ended.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn ask(
        &self,
        client: String,
        birth: i64,
        message: ServerMessage,
        is_repeated: bool,
    ) -> Result<Asked> {
        let (asked, outcome) = oneshot::channel();
        self.send(Outgoing::Ask(Question { client, birth, message, is_repeated, asked }));
        outcome.await.unwrap_or_else(|_| Err(not_installed()))
    }

    /// Publishes the point at which a session moves, and records its new holder in the same transaction.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: it is not certain whether the session moves.
    pub async fn publish_move(&self, tenant: TenantId, point: SessionMove) -> Result<()> {
        let (sent, outcome) = oneshot::channel();
        self.send(Outgoing::Move { tenant, point, sent });
        outcome.await.unwrap_or_else(|_| Err(not_installed()))
    }

    /// Deletes the record of a session that had moved to this server and has ended.
    pub fn forget(&self, client: String) {
        self.send(Outgoing::Forget(client));
    }

    /// Waits until all earlier messages are sent. If the process ended before, the sessions that it handed over would
    /// be lost.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: some messages may not be sent.
    pub async fn flush(&self) -> Result<()> {
        let (sent, outcome) = oneshot::channel();
        self.send(Outgoing::Flush(sent));
        outcome.await.unwrap_or(Ok(()))
    }

    fn send(&self, outgoing: Outgoing) {
        if let Some(sender) = self.sender.get() {
            // The task that receives it ends only with the process.
            drop(sender.send(outgoing));
        }
    }

    fn pieces(&self, message: &ServerMessage) -> Vec<String> {
        let text = serde_json::to_string(message).expect("messages are JSON");
        cut(self.server(), self.next_batch.fetch_add(1, Ordering::Relaxed), &text)
    }
}

fn not_installed() -> Error {
    Error::unavailable("this process has no sessions")
}

/// Sends the messages of this server until the server ends.
async fn run(database: Database, mut outgoing: mpsc::UnboundedReceiver<Outgoing>) {
    let mut batch = Vec::new();
    while outgoing.recv_many(&mut batch, AT_ONCE).await > 0 {
        let mut batch = Batch::of(&database.session_moves, std::mem::take(&mut batch));
        let outcome = caught(batch.send(&database)).await;
        if let Err(error) = &outcome {
            tracing::warn!(%error, "messages about sessions could not be sent; the sessions end");
        }
        batch.report(outcome);
    }
}

/// Deletes the records of sessions of servers that are gone.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn sweep(database: &Database) -> Result<()> {
    let client = database.loader().await?;
    client.execute(SWEEP, &[]).await?;
    Ok(client.execute(SWEEP_OF_USERS, &[]).await.map(drop)?)
}

/// The messages and records of one transaction.
#[derive(Default)]
struct Batch {
    channels: Vec<String>,
    payloads: Vec<String>,
    moved: Vec<String>,
    holders: Vec<i64>,
    forgotten: Vec<String>,
    clients: Vec<String>,
    births: Vec<i64>,
    questions: Vec<String>,
    are_repeated: Vec<bool>,
    asked: Vec<oneshot::Sender<Result<Asked>>>,
    sent: Vec<oneshot::Sender<Result<()>>>,
}

impl Batch {
    fn of(moves: &SessionMoves, outgoing: Vec<Outgoing>) -> Self {
        let mut batch = Self::default();
        for outgoing in outgoing {
            match outgoing {
                Outgoing::Tell(server, message) => {
                    batch.add(&moves.signatures, format!("{CHANNEL}{server}"), &moves.pieces(&message));
                }
                // Nobody waits for the response, and the session would move to nobody.
                Outgoing::Ask(question) if question.asked.is_closed() => {}
                Outgoing::Ask(Question { client, birth, message, is_repeated, asked }) => {
                    match moves.pieces(&message).pop().filter(|text| text.len() < QUESTION_BYTES) {
                        Some(question) => {
                            batch.clients.push(client);
                            batch.births.push(birth);
                            let signed = moves.signatures.sign_for_any_server(&question).into_owned();
                            batch.questions.push(signed);
                            batch.are_repeated.push(is_repeated);
                            batch.asked.push(asked);
                        }
                        None => drop(asked.send(Ok(Asked::Nobody))),
                    }
                }
                Outgoing::Move { tenant, point, sent } => {
                    if point.to != moves.server() && !batch.moved.contains(&point.client) {
                        batch.moved.push(point.client.clone());
                        batch.holders.push(point.to);
                    }
                    let number = moves.next_batch.fetch_add(1, Ordering::Relaxed);
                    let text = encode(&[Publication::SessionMoves(point)]);
                    // The batches of publications have plain numbers, so these begin with a letter.
                    let pieces = cut(moves.server(), format!("s{number}"), &text);
                    batch.add(&moves.signatures, channel(&tenant), &pieces);
                    batch.sent.push(sent);
                }
                Outgoing::Forget(client) => batch.forgotten.push(client),
                Outgoing::Flush(sent) => batch.sent.push(sent),
            }
        }
        batch
    }

    fn add(&mut self, signatures: &Signatures, channel: String, payloads: &[String]) {
        self.payloads.extend(payloads.iter().map(|payload| signatures.sign(&channel, payload).into_owned()));
        self.channels.extend(std::iter::repeat_n(channel, payloads.len()));
    }

    /// Sends everything in one transaction. Returns the recipients of the requests, or the reason why only the requests
    /// could not be sent.
    async fn send(&mut self, database: &Database) -> Result<Result<Vec<Asked>>> {
        let own = database.session_moves.server();
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        let mut asked = Ok(Vec::new());
        if self.questions.is_empty() {
            transaction.batch_execute(BEGIN).await?;
        } else {
            transaction.batch_execute(BEGIN_ASKING).await?;
            asked = self.ask(&transaction, own).await;
            transaction.batch_execute(if asked.is_ok() { ASKED } else { NOT_ASKED }).await?;
        }
        if !self.moved.is_empty() {
            transaction.run(NOTE_HOLDERS, &[&self.moved, &self.holders]).await?;
        }
        if !self.channels.is_empty() {
            transaction.run(NOTIFY, &[&self.channels, &self.payloads]).await?;
        }
        if !self.forgotten.is_empty() {
            transaction.run(FORGET, &[&self.forgotten, &own]).await?;
        }
        transaction.commit().await?;
        Ok(asked)
    }

    /// Sends the requests. Returns their recipients.
    async fn ask(&self, transaction: &Transaction<'_>, own: i64) -> Result<Vec<Asked>> {
        let mut asked = vec![Asked::Nobody; self.asked.len()];
        let (statement, dead_after) = (transaction.prepare_cached(ASK).await?, DEAD_AFTER.as_secs_f64());
        let questions: [&(dyn ToSql + Sync); 6] =
            [&self.clients, &self.births, &self.questions, &own, &dead_after, &self.are_repeated];
        for row in transaction.query(&statement, &questions).await? {
            let (place, holder, has_moved): (i64, i64, bool) = (row.get(0), row.get(1), row.get(2));
            asked[place as usize - 1] =
                if holder == own { Asked::Own { has_moved } } else { Asked::Sent(holder) };
        }
        Ok(asked)
    }

    fn report(self, outcome: Result<Result<Vec<Asked>>>) {
        let sent = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.sent.into_iter().for_each(|waiting| drop(waiting.send(sent.clone())));
        let asked = outcome.flatten();
        for (n, waiting) in self.asked.into_iter().enumerate() {
            drop(waiting.send(asked.as_ref().map(|asked| asked[n]).map_err(Clone::clone)));
        }
    }
}

impl Database {
    /// Returns the messages about sessions from and to this server.
    pub fn session_moves(&self) -> &Arc<SessionMoves> {
        &self.session_moves
    }

    /// Returns whether the lease of a server was renewed at most this long before the lease of this one, which shows
    /// that it lives. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn has_renewed_within(&self, server: i64, time: Duration) -> Result<bool> {
        let own = self.session_moves.server();
        let parameters: [&(dyn ToSql + Sync); 3] = [&server, &own, &time.as_secs_f64()];
        Ok(self.reader().await?.query_one(IS_RENEWED, &parameters).await?.get(0))
    }

    /// Returns the servers that can take over the sessions of this one. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn find_successors(&self) -> Result<Vec<Successor>> {
        let own = self.session_moves.server();
        let rows = self.reader().await?.query(FIND_SUCCESSORS, &[&own]).await?;
        Ok(rows.iter().map(|row| Successor { server: row.get(0), is_up: row.get(1) }).collect())
    }
}

/// A server that can take over sessions.
#[derive(Debug, Clone, Copy)]
pub struct Successor {
    /// The incarnation of the server process.
    pub server: i64,
    /// Whether it accepts new clients.
    pub is_up: bool,
}
