//! An open session over one of the transports. It continues at another server when its connection breaks, as a client
//! does behind a balancer; with `round-robin` it changes the server after each response or frame.

use std::time::Duration;

use memchr::memmem;
use tokio::time::{Instant, sleep};

use super::Shared;
use super::agent::Work;
use super::clients::ClientSpec;
use super::orders::Order;
use super::plan::Transport;
use crate::error::Error;
use crate::ledger::mark::Mark;
use crate::protocol::bayeux;
use crate::protocol::bayeux::long_polling::LongPolling;
use crate::protocol::bayeux::websocket::WebSocket;
use crate::protocol::csv::STATIC;
use crate::protocol::csv::poll_response::notified;
use crate::protocol::csv::session::{CsvDevice, marks};
use crate::protocol::operations::Operation;
use crate::protocol::operations::ledger::SeenBy;
use crate::target::Target;

/// The longest pause before the client tries the next server, in milliseconds.
const LONGEST_PAUSE: u64 = 200;
/// The time for which a client tries to continue a session at the servers in turn before it gives the session up.
const REOPENING_LIMIT: Duration = Duration::from_secs(30);
/// The pause after a response without notifications, so that a server that does not hold polls is not polled in a tight
/// loop.
const EMPTY_RESPONSE_PAUSE: Duration = Duration::from_millis(50);
const UNSUCCESSFUL: &[u8] = br#""successful":false"#;

/// An open session.
#[derive(Debug)]
pub(super) struct OpenSession {
    link: Link,
    /// The server that the client uses, and its number.
    target: Target,
    server: usize,
}

/// The connection of a session.
#[derive(Debug)]
enum Link {
    Poll(Box<LongPolling>),
    Socket(Box<WebSocket>),
}

impl OpenSession {
    /// Opens a session at a server. An agent requests the operations that are PENDING.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(super) async fn open(
        shared: &Shared,
        server: usize,
        spec: &ClientSpec,
        work: Option<&mut Work>,
    ) -> Result<Self, Error> {
        let target = spec.login.at(&shared.targets[server]);
        let &ClientSpec { endpoint, ref channels, acknowledges, ref csv, .. } = spec;
        let filtered = (channels.as_slice(), spec.filter.as_deref());
        let link = match (spec.transport, csv) {
            (Transport::WebSocket, _) => {
                let socket = WebSocket::open(&target, endpoint, filtered, acknowledges).await?;
                if let Some(work) = work {
                    work.find(shared, &target, &mut target.connect().await?, None).await?;
                }
                Link::Socket(Box::new(socket))
            }
            (_, csv) => {
                let mut poll = match csv {
                    // Operations also arrive as rows of the static set.
                    Some(csv) => {
                        let sets: &[&str] = if work.is_some() { &[STATIC] } else { &[] };
                        csv.subscribe(&target, endpoint, filtered, sets).await?
                    }
                    None => LongPolling::subscribe(&target, endpoint, filtered, acknowledges).await?,
                };
                if let Some(work) = work {
                    work.find(shared, &target, poll.between_polls(), csv.as_ref()).await?;
                }
                poll.poll_again().await?;
                Link::Poll(Box::new(poll))
            }
        };
        Ok(Self { link, target, server })
    }

    /// Receives notifications and executes operations, until an order tells the client to open a new session.
    ///
    /// # Errors
    /// The reason why the session ended.
    pub(super) async fn listen(
        &mut self,
        shared: &Shared,
        spec: &ClientSpec,
        mut work: Option<&mut Work>,
    ) -> Result<(), Error> {
        loop {
            let received = match self.receive(shared, spec, work.as_deref_mut()).await {
                Ok(Some(Order::Reconnect | Order::Leave)) => return Ok(()),
                Ok(Some(Order::Cut)) => self.reopen(shared, spec).await,
                Ok(Some(Order::Stall(time))) => {
                    sleep(time).await;
                    Ok(())
                }
                Ok(None | Some(Order::Come)) => Ok(()),
                Err(error) => Err(error),
            };
            match received {
                Ok(()) => {}
                Err(error) if is_passing(&error) => self.go_on(shared, spec, Some(error)).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives a response or a frame, and prepares for the next one; or returns the order that the client has received
    /// instead.
    async fn receive(
        &mut self,
        shared: &Shared,
        spec: &ClientSpec,
        mut work: Option<&mut Work>,
    ) -> Result<Option<Order>, Error> {
        let csv = spec.csv.as_ref();
        if let Some(work) = work.as_deref_mut().filter(|work| !work.is_done()) {
            let mut connection = self.target.connect().await?;
            work.execute(shared, &self.target, &mut connection, csv).await?;
        }
        let count = match &mut self.link {
            Link::Socket(socket) => {
                let frame = tokio::select! {
                    order = shared.orders.next(spec.id) => return Ok(Some(order)),
                    frame = socket.read() => frame?,
                };
                let count = shared.deliver(spec.id, Mark::scan(frame.as_bytes()));
                if let Some(work) = work.filter(|_| count > 0) {
                    work.take(shared, bayeux::notifications(frame.as_bytes())?, SeenBy::Notified);
                }
                socket.go_on(&frame).await?;
                if shared.is_round_robin && count > 0 {
                    let deliver = |frame: &[u8]| {
                        shared.deliver(spec.id, Mark::scan(frame));
                    };
                    socket.close(deliver).await?;
                }
                count
            }
            Link::Poll(poll) => {
                let batch = tokio::select! {
                    order = shared.orders.next(spec.id) => return Ok(Some(order)),
                    batch = poll.batch() => batch?,
                };
                let (marks, operations) = read(batch, csv, work.is_some())?;
                let count = shared.deliver(spec.id, marks.into_iter());
                if let Some(work) = work {
                    work.take(shared, operations, SeenBy::Notified);
                    work.execute(shared, &self.target, poll.between_polls(), csv).await?;
                }
                if count == 0 {
                    sleep(EMPTY_RESPONSE_PAUSE).await;
                }
                if !shared.is_round_robin {
                    poll.poll_again().await?;
                }
                count
            }
        };
        let is_poll = matches!(self.link, Link::Poll(_));
        if shared.is_round_robin && (is_poll || count > 0) {
            self.go_on(shared, spec, None).await?;
        }
        Ok(None)
    }

    /// Continues the session at the same server over a new connection.
    async fn reopen(&mut self, shared: &Shared, spec: &ClientSpec) -> Result<(), Error> {
        match &mut self.link {
            Link::Poll(poll) => poll.reopen(&self.target).await,
            Link::Socket(socket) => socket.reopen(&self.target).await,
        }?;
        shared.series.reconnected();
        shared.ledger.lock().move_to(spec.id, self.server, shared.run.now());
        Ok(())
    }

    /// Continues the session at the next server that is ready and responds, after a failure of the present server or
    /// because of `round-robin`.
    async fn go_on(
        &mut self,
        shared: &Shared,
        spec: &ClientSpec,
        mut failure: Option<Error>,
    ) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            if let Some(error) = failure {
                if began.elapsed() > REOPENING_LIMIT {
                    return Err(error);
                }
                if is_broken(&error) {
                    shared.balancer.leave_out(self.server);
                }
                sleep(Duration::from_millis(fastrand::u64(..LONGEST_PAUSE))).await;
            }
            self.server = shared.balancer.server_from(self.server + 1);
            self.target = spec.login.at(&shared.targets[self.server]);
            match self.reopen(shared, spec).await {
                Ok(()) => break Ok(()),
                Err(error) => failure = Some(error),
            }
        }
    }
}

/// Returns the marks of the response to a poll, and its operations for an agent. A response without marks or operations
/// must at least be a successful reply.
fn read(batch: &[u8], csv: Option<&CsvDevice>, is_agent: bool) -> Result<(Vec<Mark>, Vec<Operation>), Error> {
    let operations = match csv {
        Some(_) if !is_agent => return Ok((marks(batch)?, Vec::new())),
        Some(csv) => {
            notified(batch, &csv.x_id, &csv.serial).map_err(|reason| Error::Csv { row: "row 83", reason })?
        }
        None => {
            let marks: Vec<Mark> = Mark::scan(batch).collect();
            if marks.is_empty() || memmem::find(batch, UNSUCCESSFUL).is_some() {
                bayeux::expect_success(bayeux::CONNECT, batch)?;
            }
            let operations = if is_agent { bayeux::notifications(batch)? } else { Vec::new() };
            return Ok((marks, operations));
        }
    };
    Ok((operations.iter().filter_map(Operation::mark).collect(), operations))
}

/// Returns whether a connection broke or could not be established.
pub(super) fn is_broken(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::WebSocket(_) | Error::Timeout(_) => true,
        Error::During { cause, .. } => is_broken(cause),
        _ => false,
    }
}

/// Returns whether the session may continue although a request failed.
fn is_passing(error: &Error) -> bool {
    is_broken(error) || matches!(error, Error::Status { status: 503, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_continues_after_a_broken_connection_or_503_and_not_after_402() {
        let unknown = Error::Bayeux { channel: bayeux::CONNECT, reason: "402::Unknown client".to_owned() };
        let broken = Error::Io(std::io::ErrorKind::UnexpectedEof.into()).during("asking");
        let unavailable = Error::status("asking", 503, b"");
        assert_eq!([&broken, &unavailable, &unknown].map(is_passing), [true, true, false]);
        assert_eq!([&broken, &unavailable, &unknown].map(is_broken), [true, false, false]);
    }

    #[test]
    fn marks_and_operations_of_a_response_are_read() {
        let mark = format!(r#""{}":"1-2-3-4""#, crate::ledger::mark::FRAGMENT);
        let operation =
            format!(r#"{{"id":"7","deviceId":"9","creationTime":"x","status":"PENDING",{mark}}}"#);
        let batch = format!(
            r#"[{{"channel":"/9","data":{operation}}},{{"channel":"/meta/connect","successful":true}}]"#
        );
        let (marks, operations) = read(batch.as_bytes(), None, true).unwrap();
        assert_eq!((marks.len(), operations[0].id.as_str()), (1, "7"));
        let refused = br#"[{"channel":"/meta/connect","successful":false,"error":"402::Unknown client"}]"#;
        assert!(read(refused, None, false).is_err());
    }
}
