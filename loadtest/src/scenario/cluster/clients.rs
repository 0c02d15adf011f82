//! The clients: each keeps a session at one server, and opens another one when that ends. A client stays with its
//! server as long as that responds, and goes to the next one otherwise. With `--round-robin` each of its polls goes to
//! the next server.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Shared;
use crate::audience::Transport;
use crate::bayeux;
use crate::cli::Cluster;
use crate::error::Error;
use crate::ledger::Watch;
use crate::long_polling::LongPolling;
use crate::random;
use crate::session_ledger::ClientId;
use crate::websocket::WebSocket;

/// The longest time until a session is open, before the next server is tried.
const OPENING_LIMIT: Duration = Duration::from_secs(5);
/// The longest pause before the next server is tried, in milliseconds.
const LONGEST_PAUSE: u64 = 200;
/// The pause after a response without notifications, so that a server that holds nothing is not polled in a tight
/// loop.
const EMPTY_RESPONSE_PAUSE: Duration = Duration::from_millis(50);
const UNSUCCESSFUL: &[u8] = br#""successful":false"#;

/// A client.
#[derive(Debug)]
struct ClientSpec {
    id: ClientId,
    channel: String,
    transport: Transport,
    /// The number of its first server.
    home: usize,
}

/// A session that is open.
#[derive(Debug)]
enum OpenSession {
    LongPolling(HeldPoll),
    WebSocket(Box<WebSocket>),
}

/// A session by long polling.
#[derive(Debug)]
struct HeldPoll {
    session: LongPolling,
    /// The number of the server that has the poll.
    server: usize,
}

/// Starts all clients; dropping the set ends them. At most `connecting` open a session at a time.
pub(super) fn open(shared: &Arc<Shared>, settings: &Cluster, connecting: usize) -> JoinSet<()> {
    let permits = Arc::new(Semaphore::new(connecting.max(1)));
    let mut clients = JoinSet::new();
    for spec in client_specs(shared, settings) {
        clients.spawn(keep_session(Arc::clone(shared), Arc::clone(&permits), spec));
    }
    clients
}

fn client_specs(shared: &Shared, settings: &Cluster) -> Vec<ClientSpec> {
    let mut ledger = shared.ledger();
    let servers = shared.targets.len();
    let of_devices = (0..).zip(&shared.ids).map(|(device, id)| {
        (Watch::Device(device), format!("/alarms/{id}"), Transport::LongPolling, device as usize)
    });
    let of_dashboards = (0..settings.dashboards as usize).map(|number| {
        // Both transports are used at each server.
        let is_socket = number / servers % 2 == 1;
        let transport = if is_socket { Transport::WebSocket } else { Transport::LongPolling };
        (Watch::All, "/alarms/*".to_owned(), transport, number)
    });
    let clients = of_devices.chain(of_dashboards);
    clients
        .map(|(watch, channel, transport, number)| ClientSpec {
            id: ledger.add_client(watch),
            channel,
            transport,
            home: number % servers,
        })
        .collect()
}

/// Keeps a session open until the run ends.
async fn keep_session(shared: Arc<Shared>, permits: Arc<Semaphore>, spec: ClientSpec) {
    let mut server = spec.home;
    loop {
        let opened = {
            let _permit = permits.acquire().await;
            let asked = shared.run.now();
            let opening = timeout(OPENING_LIMIT, Box::pin(OpenSession::open(&shared, server, &spec)));
            let opened = opening.await.unwrap_or(Err(Error::Timeout("opening a session")));
            if opened.is_ok() {
                shared.ledger().open(spec.id, server, asked, shared.run.now());
            }
            opened
        };
        let error = match opened {
            Ok(mut session) => {
                let error = match session.listen(&shared, spec.id).await {
                    Ok(never) => match never {},
                    Err(error) => error,
                };
                shared.ledger().end(spec.id, shared.run.now());
                shared.note(format!("ended: {}", gist(&error)));
                error
            }
            Err(error) => {
                shared.note(format!("not opened: {}", gist(&error)));
                sleep(Duration::from_millis(random::below(LONGEST_PAUSE))).await;
                error
            }
        };
        // A server that says that the session is unknown responds.
        if !matches!(error, Error::Bayeux { .. }) {
            server = (server + 1) % shared.targets.len();
        }
    }
}

impl OpenSession {
    async fn open(shared: &Shared, server: usize, spec: &ClientSpec) -> Result<Self, Error> {
        let target = &shared.targets[server];
        Ok(match spec.transport {
            Transport::LongPolling => {
                let session = LongPolling::subscribe(target, bayeux::REALTIME, &spec.channel).await?;
                let mut poll = HeldPoll { session, server };
                poll.poll_again(shared).await?;
                Self::LongPolling(poll)
            }
            Transport::WebSocket => Self::WebSocket(Box::new(WebSocket::open(target, &spec.channel).await?)),
        })
    }

    /// Receives until the session ends.
    async fn listen(&mut self, shared: &Shared, client: ClientId) -> Result<Infallible, Error> {
        match self {
            Self::LongPolling(poll) => poll.listen(shared, client).await,
            Self::WebSocket(session) => loop {
                let frame = session.frame().await?;
                shared.deliver(client, frame.as_bytes());
            },
        }
    }
}

impl HeldPoll {
    async fn listen(&mut self, shared: &Shared, client: ClientId) -> Result<Infallible, Error> {
        loop {
            let batch = self.session.batch().await?;
            let count = shared.deliver(client, batch);
            if count == 0 || memmem::find(batch, UNSUCCESSFUL).is_some() {
                bayeux::expect_success(bayeux::CONNECT, batch)?;
            }
            if count == 0 {
                sleep(EMPTY_RESPONSE_PAUSE).await;
            }
            self.poll_again(shared).await?;
        }
    }

    /// Sends the next poll on the same connection, or to the next server on a new one.
    async fn poll_again(&mut self, shared: &Shared) -> Result<(), Error> {
        if !shared.is_round_robin {
            return self.session.poll_again().await;
        }
        self.server = (self.server + 1) % shared.targets.len();
        self.session.reopen(&shared.targets[self.server]).await
    }
}

/// Returns the kind of an error, without what differs from one to the next.
fn gist(error: &Error) -> String {
    match error {
        Error::Io(_) | Error::WebSocket(_) => "connection broke".to_owned(),
        Error::During { cause, .. } => gist(cause),
        Error::Status { status, .. } => format!("status {status}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_kind() {
        let broken = || Error::Io(std::io::ErrorKind::UnexpectedEof.into());
        assert_eq!(gist(&broken().during("asking")), "connection broke");
        assert_eq!(gist(&Error::status("asking", 503, b"one of many bodies")), "status 503");
        let ended = Error::Bayeux { channel: bayeux::CONNECT, reason: "402::Unknown client".to_owned() };
        assert_eq!(gist(&ended), "/meta/connect: 402::Unknown client");
    }
}
