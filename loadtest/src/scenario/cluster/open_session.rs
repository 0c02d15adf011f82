//! An open session over one of the transports. It goes on at another server when its connection breaks, as a client
//! does behind a balancer; with `--round-robin` it does so after each response or frame.

use std::convert::Infallible;
use std::time::Duration;

use memchr::memmem;
use tokio::time::{Instant, sleep};

use super::Shared;
use super::clients::ClientSpec;
use crate::bayeux;
use crate::cli::ClusterTransport as Transport;
use crate::csv::lines::lines;
use crate::csv::{ACCEPT, PATH, x_id};
use crate::error::Error;
use crate::long_polling::LongPolling;
use crate::mark::{self, Mark};
use crate::random;
use crate::session_ledger::ClientId;
use crate::target::Target;
use crate::websocket::WebSocket;

/// The longest pause before the next server is tried, in milliseconds.
const LONGEST_PAUSE: u64 = 200;
/// How long a session is tried at the servers in turn before its client gives it up.
const REOPENING_LIMIT: Duration = Duration::from_secs(30);
/// The pause after a response without notifications, so that a server that holds nothing is not polled in a tight
/// loop.
const EMPTY_RESPONSE_PAUSE: Duration = Duration::from_millis(50);
const UNSUCCESSFUL: &[u8] = br#""successful":false"#;
/// The template set of CSV sessions.
const X_ID: &str = "loadtest-cluster";
/// The line of a notification; the mark follows the line number.
const NOTIFIED: &str = "700";
/// The line of an error of a row.
const REFUSED: &str = "40";

/// An open session.
#[derive(Debug)]
pub(super) struct OpenSession {
    client: ClientId,
    transport: Transport,
    link: Link,
    /// The number of the server that its client uses.
    server: usize,
}

/// The connection of a session.
#[derive(Debug)]
enum Link {
    Poll(LongPolling),
    Socket(Box<WebSocket>),
}

impl OpenSession {
    /// Opens a session at a server, or at the next ones when `--round-robin` moves it at once.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(super) async fn open(shared: &Shared, server: usize, spec: &ClientSpec) -> Result<Self, Error> {
        let target = &shared.targets[server];
        let link = match spec.transport {
            Transport::LongPolling => {
                Link::Poll(LongPolling::open(target, bayeux::REALTIME, &spec.channel).await?)
            }
            Transport::WebSocket => Link::Socket(Box::new(WebSocket::open(target, &spec.channel).await?)),
            Transport::Csv => {
                let mut session = subscribe_with_rows(target, &spec.channel).await?;
                session.poll_again().await?;
                Link::Poll(session)
            }
        };
        Ok(Self { client: spec.id, transport: spec.transport, link, server })
    }

    /// Receives until the session ends.
    ///
    /// # Errors
    /// Why it ended.
    pub(super) async fn listen(&mut self, shared: &Shared) -> Result<Infallible, Error> {
        loop {
            match self.receive(shared).await {
                Ok(()) => {}
                Err(error) if is_passing(&error) => self.go_on(shared, Some(error)).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives a response or a frame, and prepares for the next one.
    async fn receive(&mut self, shared: &Shared) -> Result<(), Error> {
        match &mut self.link {
            Link::Socket(socket) => {
                let count = shared.deliver(self.client, Mark::scan(socket.frame().await?.as_bytes()));
                if shared.is_round_robin && count > 0 {
                    for frame in socket.close().await? {
                        shared.deliver(self.client, Mark::scan(frame.as_bytes()));
                    }
                    self.go_on(shared, None).await?;
                }
            }
            Link::Poll(poll) => {
                let batch = poll.batch().await?;
                let count = match self.transport {
                    Transport::Csv => shared.deliver(self.client, marks_of_rows(batch)?.into_iter()),
                    _ => shared.deliver(self.client, Mark::scan(batch)),
                };
                let is_json = self.transport != Transport::Csv;
                if is_json && (count == 0 || memmem::find(batch, UNSUCCESSFUL).is_some()) {
                    bayeux::expect_success(bayeux::CONNECT, batch)?;
                }
                if count == 0 {
                    sleep(EMPTY_RESPONSE_PAUSE).await;
                }
                match shared.is_round_robin {
                    true => self.go_on(shared, None).await?,
                    false => poll.poll_again().await?,
                }
            }
        }
        Ok(())
    }

    /// Continues the session at the next server that is ready and responds: after a failure of the present one, or
    /// because it is the next one's turn.
    async fn go_on(&mut self, shared: &Shared, mut failure: Option<Error>) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            if let Some(error) = failure {
                if began.elapsed() > REOPENING_LIMIT {
                    return Err(error);
                }
                if is_broken(&error) {
                    shared.balancer.leave_out(self.server);
                }
                sleep(Duration::from_millis(random::below(LONGEST_PAUSE))).await;
            }
            self.server = shared.balancer.server_from(self.server + 1);
            let target = &shared.targets[self.server];
            let reopened = match &mut self.link {
                Link::Poll(poll) => poll.reopen(target).await,
                Link::Socket(socket) => socket.reopen(target).await,
            };
            match reopened {
                Ok(()) => break shared.ledger().move_to(self.client, self.server, shared.run.now()),
                Err(error) => failure = Some(error),
            }
        }
        Ok(())
    }
}

/// Returns whether a connection broke, or none was made.
pub(super) fn is_broken(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::WebSocket(_) | Error::Timeout(_) => true,
        Error::During { cause, .. } => is_broken(cause),
        _ => false,
    }
}

/// Returns whether the session may go on although a request failed.
fn is_passing(error: &Error) -> bool {
    is_broken(error) || matches!(error, Error::Status { status: 503, .. })
}

/// Registers the templates of CSV sessions: a line with the mark of each notification.
///
/// # Errors
/// The server rejects them.
pub(super) async fn register_templates(target: &Target) -> Result<(), Error> {
    let templates = format!("11,{NOTIFIED},,$.{0},$.{0}\n", mark::FRAGMENT);
    let request = target.post_bare(&(x_id(X_ID) + ACCEPT), PATH, &templates);
    let mut connection = target.connect().await?;
    connection.body_of("registering templates", &request).await.map(drop)
}

/// Opens a CSV session that is subscribed to a channel and polls not yet.
async fn subscribe_with_rows(target: &Target, channel: &str) -> Result<LongPolling, Error> {
    let headers = x_id(X_ID) + ACCEPT;
    let row = |row: String| target.post_bare(&headers, bayeux::REALTIME, &row);
    let mut connection = target.connect().await?;
    let answer = connection.body_of("row 80", &row("80\n".to_owned())).await?;
    let client_id = String::from_utf8_lossy(answer).trim().to_owned();
    let answer = connection.body_of("row 81", &row(format!("81,{client_id},{channel}\n"))).await?;
    marks_of_rows(answer)?;
    Ok(LongPolling::of(connection, row(format!("83,{client_id}\n"))))
}

/// Returns the marks in the lines of a response.
///
/// # Errors
/// A row failed, for example because the session is unknown.
fn marks_of_rows(answer: &[u8]) -> Result<Vec<Mark>, Error> {
    let fault = |reason: String| Error::Csv { row: "row 83", reason };
    let lines = lines(answer).map_err(|_| fault("malformed lines".to_owned()))?;
    if let Some(refused) = lines.iter().find(|line| line[0] == REFUSED) {
        return Err(fault(refused.join(",")));
    }
    let notified = lines.iter().filter(|line| line[0] == NOTIFIED);
    Ok(notified.filter_map(|line| Mark::parse(line.get(2)?)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_from_lines_and_an_unknown_session_is_an_error() {
        let marks = marks_of_rows(b"  700,1,1-2-3-4\n86,5400000,0,retry\n700,1,1-2-4-5\n").unwrap();
        assert_eq!(marks.iter().map(|mark| mark.sequence).collect::<Vec<_>>(), [3, 4]);
        assert!(marks_of_rows(b"").unwrap().is_empty());
        let error = marks_of_rows(b"40,/meta/connect,402::Unknown client\n86,,0,handshake\n").unwrap_err();
        assert_eq!(error.to_string(), "row 83: 40,/meta/connect,402::Unknown client");
    }

    #[test]
    fn session_goes_on_after_a_broken_connection_or_503_and_not_after_402() {
        let unknown = Error::Bayeux { channel: bayeux::CONNECT, reason: "402::Unknown client".to_owned() };
        let broken = Error::Io(std::io::ErrorKind::UnexpectedEof.into()).during("asking");
        let unavailable = Error::status("asking", 503, b"");
        assert_eq!([&broken, &unavailable, &unknown].map(is_passing), [true, true, false]);
        assert_eq!([&broken, &unavailable, &unknown].map(is_broken), [true, false, false]);
    }
}
