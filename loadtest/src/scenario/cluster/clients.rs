//! The clients: each keeps a session, and opens another one when that ends. A client stays with its server as long as
//! that responds, and goes on with its session at the next one otherwise. With `--round-robin` it always does.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Shared;
use super::open_session::{OpenSession, is_broken};
use crate::cli::{Cluster, ClusterTransport as Transport};
use crate::error::Error;
use crate::ledger::Watch;
use crate::random;
use crate::session_ledger::ClientId;

/// The longest time until a session is open, before the next server is tried.
const OPENING_LIMIT: Duration = Duration::from_secs(5);
/// The longest pause before the next server is tried, in milliseconds.
const LONGEST_PAUSE: u64 = 200;

/// A client.
#[derive(Debug)]
pub(super) struct ClientSpec {
    pub(super) id: ClientId,
    pub(super) channel: String,
    pub(super) transport: Transport,
    /// The number of its first server.
    home: usize,
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
    let transports = settings.transports.iter().copied().cycle();
    let of_devices = (0..).zip(&shared.ids).zip(transports).map(|((device, id), transport)| {
        (Watch::Device(device), format!("/alarms/{id}"), transport, device as usize)
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
    let mut turn = spec.home;
    loop {
        let server = shared.balancer.server_from(turn);
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
                let error = match session.listen(&shared).await {
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
        if is_broken(&error) {
            shared.balancer.leave_out(server);
        }
        turn = server;
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
    use crate::bayeux;

    #[test]
    fn errors_are_counted_by_kind() {
        let broken = || Error::Io(std::io::ErrorKind::UnexpectedEof.into());
        assert_eq!(gist(&broken().during("asking")), "connection broke");
        assert_eq!(gist(&Error::status("asking", 503, b"one of many bodies")), "status 503");
        let ended = Error::Bayeux { channel: bayeux::CONNECT, reason: "402::Unknown client".to_owned() };
        assert_eq!(gist(&ended), "/meta/connect: 402::Unknown client");
    }
}
