//! The devices that connect: their requests, and the responses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::ledger::latency::Times;
use crate::progress::Progress;
use crate::protocol::bayeux;
use crate::protocol::bayeux::long_polling;
use crate::report::Fact;
use crate::target::Target;
use crate::target::connection::{Beginning, Connection, Response};

/// The pause before a device without a response, or without a connection, tries again.
const PAUSE: Duration = Duration::from_millis(500);
/// The key under which a 503 without `Retry-After` is counted.
const NO_ADVICE: &str = "503 without Retry-After";
/// The key under which a request without a response is counted.
const NO_RESPONSE: &str = "no response";

/// A device.
#[derive(Debug)]
pub(super) struct ReconnectingDevice {
    /// The id of its managed object.
    pub(super) id: String,
    /// The server, accessed as its user.
    pub(super) target: Target,
}

/// All devices connecting at once.
#[derive(Debug)]
pub(super) struct Storm {
    started: Instant,
    seen: Mutex<Seen>,
    /// Whether the storm is over; a poll without a response counts as held then, because the server may send
    /// nothing at all before the response.
    is_over: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The responses by status, and failures without a response.
    responses: BTreeMap<String, u64>,
    /// The microseconds from the start of the storm until a device sent the poll that is held.
    latency: Times,
    /// The reason why the first device gave up.
    first_cause: Option<String>,
}

/// The result of a request.
#[derive(Debug)]
enum RequestResult {
    /// A 200 response.
    Accepted,
    /// A 503 response: the request is sent again.
    Postponed,
}

impl Storm {
    /// Starts a storm now.
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), seen: Mutex::default(), is_over: watch::Sender::new(false) }
    }

    /// Ends the storm: the server reports that all polls are held, or the time is over.
    pub(super) fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// Lets all devices connect; returns the connections whose polls are held when the storm ends.
    pub(super) async fn run(
        self: &Arc<Self>,
        reconnecting: &[Arc<ReconnectingDevice>],
        limit: Duration,
    ) -> Vec<Connection> {
        let progress = Progress::count("coming back", reconnecting.len());
        let mut devices = JoinSet::new();
        for device in reconnecting {
            devices.spawn(Arc::clone(self).connect_device(Arc::clone(device)));
        }
        let mut held = Vec::with_capacity(devices.len());
        let all_held = async {
            while let Some(device) = devices.join_next().await {
                held.extend(device.ok().flatten());
                progress.advance();
            }
        };
        tokio::time::timeout(limit, all_held).await.ok();
        progress.finish();
        held
    }

    /// Returns the time that each device took until it sent the poll that is held.
    pub(super) fn latency(&self) -> Times {
        self.seen.lock().latency.clone()
    }

    /// Checks that all hold their polls, and that all responses were 200 or 503 with `Retry-After`.
    pub(super) fn facts(&self, devices: usize) -> Vec<Fact> {
        let seen = self.seen.lock();
        let allowed = ["200", "503"];
        let others = seen.responses.iter().filter(|(answer, _)| !allowed.contains(&answer.as_str()));
        let mut facts = vec![
            Fact::number("devices that hold a poll", seen.latency.len() as usize, devices),
            Fact::any("clients/s", per_second(&seen.latency)),
            Fact::any("responses", format!("{:?}", seen.responses)),
            Fact::number("responses not allowed", others.map(|(_, count)| *count as usize).sum(), 0),
        ];
        facts.extend(seen.first_cause.clone().map(|cause| Fact::any("first device that gave up", cause)));
        facts
    }

    fn count(&self, answer: &str) {
        *self.seen.lock().responses.entry(answer.to_owned()).or_default() += 1;
    }

    /// Runs a device until its poll is held; `None` when it is rejected.
    async fn connect_device(self: Arc<Self>, device: Arc<ReconnectingDevice>) -> Option<Connection> {
        loop {
            match Box::pin(self.hold_poll(&device)).await {
                Ok((connection, taken)) => {
                    self.seen.lock().latency.record(taken.as_micros() as u64);
                    return Some(connection);
                }
                Err(Error::Io(_) | Error::During { .. } | Error::Timeout(_)) => {
                    self.count(NO_RESPONSE);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    self.seen.lock().first_cause.get_or_insert_with(|| error.to_string());
                    return None;
                }
            }
        }
    }

    /// Returns the connection that holds the poll, and the time when the poll was sent.
    async fn hold_poll(&self, device: &ReconnectingDevice) -> Result<(Connection, Duration), Error> {
        let ReconnectingDevice { id, target } = device;
        let post = |message: String| target.post(bayeux::OPERATIONS, &message);
        let mut connection = target.connect().await?;
        let answer = self
            .repeat_until_accepted(&mut connection, bayeux::HANDSHAKE, &post(long_polling::handshake()))
            .await?;
        let client_id = bayeux::client_id(&answer)?;
        let subscribe = post(bayeux::subscribe(&client_id, &format!("/{id}"), None));
        let answer = self.repeat_until_accepted(&mut connection, bayeux::SUBSCRIBE, &subscribe).await?;
        bayeux::expect_success(bayeux::SUBSCRIBE, &answer)?;
        let poll = post(long_polling::connect(&client_id));
        let mut is_over = self.is_over.subscribe();
        loop {
            connection.send(&poll).await?;
            let taken = self.started.elapsed();
            let beginning = tokio::select! {
                beginning = connection.beginning() => beginning?,
                _ = is_over.wait_for(|is_over| *is_over) => Beginning::Held,
            };
            if beginning == Beginning::Held {
                return Ok((connection, taken));
            }
            let response = connection.receive().await?;
            if let RequestResult::Accepted = self.count_response(bayeux::CONNECT, response).await? {
                // A response that arrives at once means that the poll is not held: it is sent again, unless
                // the session is gone.
                bayeux::expect_success(bayeux::CONNECT, connection.receive().await?.body)?;
            }
        }
    }

    /// Repeats a request until the response is 200; returns its body.
    async fn repeat_until_accepted(
        &self,
        connection: &mut Connection,
        step: &'static str,
        request: &[u8],
    ) -> Result<Vec<u8>, Error> {
        loop {
            let response = connection.call(step, request).await?;
            if let RequestResult::Accepted = self.count_response(step, response).await? {
                return Ok(response.body.to_vec());
            }
        }
    }

    /// Counts a response, and waits as long as a 503 demands.
    async fn count_response(
        &self,
        step: &'static str,
        response: Response<'_>,
    ) -> Result<RequestResult, Error> {
        match (response.status, response.retry_after) {
            (200, _) => {
                self.count("200");
                Ok(RequestResult::Accepted)
            }
            (503, advice) => {
                self.count(if advice.is_some() { "503" } else { NO_ADVICE });
                tokio::time::sleep(advice.map_or(PAUSE, |seconds| Duration::from_secs(seconds.into()))).await;
                Ok(RequestResult::Postponed)
            }
            (status, _) => {
                self.count(&status.to_string());
                Err(Error::status(step, status, response.body))
            }
        }
    }
}

/// Returns the rate of polls per second, until the last of them.
fn per_second(latency: &Times) -> String {
    match latency.micros(1.0) {
        0 => "none".into(),
        micros => format!("{:.0}", latency.len() as f64 * 1e6 / micros as f64),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::target::Reach;

    /// Responds to a handshake and a subscription, reads a poll and sends nothing; returns when it has the
    /// poll.
    async fn hold_in_silence(listener: TcpListener) -> tokio::net::TcpStream {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        for channel in [bayeux::HANDSHAKE, bayeux::SUBSCRIBE] {
            assert!(stream.read(&mut request).await.unwrap() > 0);
            let body = format!(r#"[{{"channel":"{channel}","clientId":"a","successful":true}}]"#);
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream
    }

    #[tokio::test]
    async fn poll_without_any_byte_is_held_when_the_storm_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = Target::resolve(&url, Reach::Loopback, "a", "b").unwrap();
        let reconnecting = [Arc::new(ReconnectingDevice { id: "7".to_owned(), target })];
        let storm = Arc::new(Storm::new());
        let watched = async {
            let stream = hold_in_silence(listener).await;
            storm.end();
            stream
        };

        let (held, _stream) = tokio::join!(storm.run(&reconnecting, Duration::from_secs(60)), watched);

        assert_eq!(held.len(), 1);
        assert!(storm.facts(1).iter().all(|fact| fact.holds));
    }

    #[tokio::test]
    async fn only_200_and_503_with_advice_are_allowed() {
        let storm = Storm::new();
        let response = |status, retry_after| Response { status, retry_after, body: b"" };
        let count_response =
            |status, retry_after| storm.count_response(bayeux::HANDSHAKE, response(status, retry_after));
        assert!(matches!(count_response(200, None).await, Ok(RequestResult::Accepted)));
        assert!(matches!(count_response(503, Some(0)).await, Ok(RequestResult::Postponed)));
        storm.seen.lock().latency.record(5);
        assert!(storm.facts(1).iter().all(|fact| fact.holds));
        assert!(!storm.facts(2).iter().all(|fact| fact.holds));
        assert!(matches!(count_response(503, None).await, Ok(RequestResult::Postponed)));
        assert!(count_response(500, Some(0)).await.is_err());
        let wrong: Vec<_> = storm.facts(1).into_iter().filter(|fact| !fact.holds).collect();
        assert_eq!((wrong[0].what, &*wrong[0].found), ("responses not allowed", "2"));
    }
}
