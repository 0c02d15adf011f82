//! The devices that come: what each asks, and what it is answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bayeux;
use crate::connection::{Beginning, Connection, Response};
use crate::error::Error;
use crate::long_polling;
use crate::progress::Progress;
use crate::report::Fact;
use crate::run::latency_histogram;
use crate::target::Target;

/// Pause before a device tries again that got no answer, or no connection.
const PAUSE: Duration = Duration::from_millis(500);
/// How a 503 without Retry-After is counted.
const NO_ADVICE: &str = "503 without Retry-After";
/// How a request without an answer is counted.
const NO_ANSWER: &str = "no answer";

/// One device.
#[derive(Debug)]
pub(super) struct Comer {
    /// Its managed object.
    pub(super) id: String,
    /// The server, spoken to by its user.
    pub(super) target: Target,
}

/// All devices coming at once.
#[derive(Debug)]
pub(super) struct Storm {
    started: Instant,
    seen: Mutex<Seen>,
    /// Whether a poll that is not answered by now is held: the server may say nothing at all before the answer.
    is_over: watch::Sender<bool>,
}

#[derive(Debug)]
struct Seen {
    /// Answers by status, and what else came instead of one.
    answers: BTreeMap<String, u64>,
    /// Microseconds from the start of the storm until a device sent the poll that is held.
    latency: Histogram<u64>,
    /// Why the first device gave up.
    first_cause: Option<String>,
}

/// What became of a request.
#[derive(Debug)]
enum Answered {
    /// 200.
    Taken,
    /// 503: to be sent again.
    TurnedAway,
}

impl Storm {
    /// It starts now.
    pub(super) fn new() -> Self {
        let seen = Seen { answers: BTreeMap::new(), latency: latency_histogram(), first_cause: None };
        Self { started: Instant::now(), seen: Mutex::new(seen), is_over: watch::Sender::new(false) }
    }

    /// All polls are held, as the server says, or the time is over.
    pub(super) fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// Lets all devices come; gives the connections of those whose polls are held when the storm ends.
    pub(super) async fn run(self: &Arc<Self>, comers: &[Arc<Comer>], limit: Duration) -> Vec<Connection> {
        let progress = Progress::count("coming back", comers.len());
        let mut devices = JoinSet::new();
        for comer in comers {
            devices.spawn(Arc::clone(self).come(Arc::clone(comer)));
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

    /// How long each device took until it sent the poll that is held.
    pub(super) fn latency(&self) -> Histogram<u64> {
        self.seen().latency.clone()
    }

    /// Whether all hold their polls, and only 200 and 503 with advice were answered.
    pub(super) fn facts(&self, devices: usize) -> Vec<Fact> {
        let seen = self.seen();
        let allowed = ["200", "503"];
        let others = seen.answers.iter().filter(|(answer, _)| !allowed.contains(&answer.as_str()));
        let mut facts = vec![
            Fact::number("devices that hold a poll", seen.latency.len() as usize, devices),
            Fact::told("clients/s", per_second(&seen.latency)),
            Fact::told("answers", format!("{:?}", seen.answers)),
            Fact::number("answers not allowed", others.map(|(_, count)| *count as usize).sum(), 0),
        ];
        facts.extend(seen.first_cause.clone().map(|cause| Fact::told("first that gave up", cause)));
        facts
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, answer: &str) {
        *self.seen().answers.entry(answer.to_owned()).or_default() += 1;
    }

    /// One device until its poll is held; `None` when it is refused.
    async fn come(self: Arc<Self>, comer: Arc<Comer>) -> Option<Connection> {
        loop {
            match Box::pin(self.hold_poll(&comer)).await {
                Ok((connection, taken)) => {
                    self.seen().latency.saturating_record(taken.as_micros() as u64);
                    return Some(connection);
                }
                Err(Error::Io(_) | Error::During { .. } | Error::Timeout(_)) => {
                    self.count(NO_ANSWER);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    self.seen().first_cause.get_or_insert_with(|| error.to_string());
                    return None;
                }
            }
        }
    }

    /// The connection that holds the poll, and when this was sent.
    async fn hold_poll(&self, comer: &Comer) -> Result<(Connection, Duration), Error> {
        let Comer { id, target } = comer;
        let post = |message: String| target.post(bayeux::OPERATIONS, &message);
        let mut connection = target.connect().await?;
        let answer =
            self.insist(&mut connection, bayeux::HANDSHAKE, &post(long_polling::handshake())).await?;
        let client_id = bayeux::client_id(&answer)?;
        let subscribe = post(bayeux::subscribe(&client_id, &format!("/{id}")));
        let answer = self.insist(&mut connection, bayeux::SUBSCRIBE, &subscribe).await?;
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
            if let Answered::Taken = self.weigh(bayeux::CONNECT, response).await? {
                // Answered at once, there is nothing to hold: it is sent again, unless the session is gone.
                bayeux::expect_success(bayeux::CONNECT, connection.receive().await?.body)?;
            }
        }
    }

    /// Asks until the answer is 200; gives its body.
    async fn insist(
        &self,
        connection: &mut Connection,
        step: &'static str,
        request: &[u8],
    ) -> Result<Vec<u8>, Error> {
        loop {
            let response = connection.call(step, request).await?;
            if let Answered::Taken = self.weigh(step, response).await? {
                return Ok(response.body.to_vec());
            }
        }
    }

    /// Counts an answer, and waits as long as a 503 asks for.
    async fn weigh(&self, step: &'static str, response: Response<'_>) -> Result<Answered, Error> {
        match (response.status, response.retry_after) {
            (200, _) => {
                self.count("200");
                Ok(Answered::Taken)
            }
            (503, advice) => {
                self.count(if advice.is_some() { "503" } else { NO_ADVICE });
                tokio::time::sleep(advice.map_or(PAUSE, |seconds| Duration::from_secs(seconds.into()))).await;
                Ok(Answered::TurnedAway)
            }
            (status, _) => {
                self.count(&status.to_string());
                Err(Error::status(step, status, response.body))
            }
        }
    }
}

/// How many polls were sent in a second, until the last of them.
fn per_second(latency: &Histogram<u64>) -> String {
    match latency.max() {
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

    /// Answers a handshake and a subscription, takes a poll and says nothing; gives when it has the poll.
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
    async fn poll_without_a_word_is_held_when_the_storm_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = Target::resolve(&url, Reach::Loopback, "a", "b").unwrap();
        let comers = [Arc::new(Comer { id: "7".to_owned(), target })];
        let storm = Arc::new(Storm::new());
        let watched = async {
            let stream = hold_in_silence(listener).await;
            storm.end();
            stream
        };

        let (held, _stream) = tokio::join!(storm.run(&comers, Duration::from_secs(60)), watched);

        assert_eq!(held.len(), 1);
        assert!(storm.facts(1).iter().all(|fact| fact.holds));
    }

    #[tokio::test]
    async fn only_200_and_503_with_advice_are_allowed() {
        let storm = Storm::new();
        let response = |status, retry_after| Response { status, retry_after, body: b"" };
        let weigh = |status, retry_after| storm.weigh(bayeux::HANDSHAKE, response(status, retry_after));
        assert!(matches!(weigh(200, None).await, Ok(Answered::Taken)));
        assert!(matches!(weigh(503, Some(0)).await, Ok(Answered::TurnedAway)));
        storm.seen().latency.record(5).unwrap();
        assert!(storm.facts(1).iter().all(|fact| fact.holds));
        assert!(!storm.facts(2).iter().all(|fact| fact.holds));
        assert!(matches!(weigh(503, None).await, Ok(Answered::TurnedAway)));
        assert!(weigh(500, Some(0)).await.is_err());
        let wrong: Vec<_> = storm.facts(1).into_iter().filter(|fact| !fact.holds).collect();
        assert_eq!((wrong[0].what, &*wrong[0].found), ("answers not allowed", "2"));
    }
}
