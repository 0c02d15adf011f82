//! Two servers whose responses must not differ: one with the fast lane and one without.

use std::net::SocketAddr;
use std::sync::Arc;

use platform_front::config::Settings;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use crate::harness::{ADMIN_PASSWORD, Caller, TestDatabase, TestServer};

/// One server with the lane and one without, on one database.
pub(crate) struct Pair {
    pub(crate) lane: Side,
    pub(crate) alone: Side,
}

/// One of the two servers, with a session of `admin`.
pub(crate) struct Side {
    pub(crate) server: TestServer,
    /// The address to which clients connect.
    pub(crate) address: SocketAddr,
    /// The clientId of the session; empty if passwords cannot open one.
    pub(crate) client: String,
}

/// The part of a request that is sent before the client waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// This number of complete requests, each with its response.
    Whole(usize),
    /// A part of a request, after which the client closes its half of the connection.
    Part,
    /// The same on a connection that was used before.
    PartBehindAnother,
}

/// The two servers of [`Pair::shared`].
static SHARED: OnceCell<[TestServer; 2]> = OnceCell::const_new();

impl Pair {
    /// Returns two servers that other tests use at the same time, with sessions of the test's own. This suffices for
    /// tests of single requests. Data and notifications of tenant `main` are visible to the other tests.
    pub(crate) async fn shared() -> Self {
        let start = async || {
            let Self { lane, alone } = Self::start().await;
            [lane.server, alone.server]
        };
        let [lane, alone] = SHARED.get_or_init(start).await;
        let side = async |server: &TestServer| Side::new(server.share(), server.address()).await;
        Self { lane: side(lane).await, alone: side(alone).await }
    }

    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl Fn(&mut Settings)) -> Self {
        Self::start_on(&TestDatabase::create().await, change).await
    }

    pub(crate) async fn start_on(database: &Arc<TestDatabase>, change: impl Fn(&mut Settings)) -> Self {
        let start = async |fast_lane| {
            let server = TestServer::start_on(database, |settings| {
                change(settings);
                settings.fast_lane = fast_lane;
            });
            let server = server.await;
            let address = server.address();
            Side::new(server, address).await
        };
        Self { lane: start(true).await, alone: start(false).await }
    }

    pub(crate) fn sides(&self) -> [&Side; 2] {
        [&self.lane, &self.alone]
    }

    /// Checks that both send the same responses and returns them.
    pub(crate) async fn agree(&self, request: Sample) -> Vec<RawResponse> {
        self.agree_on(Sent::Whole(1), |_| request.bytes()).await
    }

    /// Checks that both send the same responses apart from the names of sessions, and returns them.
    pub(crate) async fn agree_on(&self, sent: Sent, bytes: impl Fn(&Side) -> Vec<u8>) -> Vec<RawResponse> {
        let (ours, theirs) = (bytes(&self.lane), bytes(&self.alone));
        let (mut lane, mut alone) =
            tokio::join!(self.lane.verdict(sent, &ours), self.alone.verdict(sent, &theirs));
        RawResponse::close_alike(&mut lane, &mut alone);
        RawResponse::close_alike(&mut alone, &mut lane);
        let shown = String::from_utf8_lossy(&ours);
        assert_eq!(lane, alone, "with the lane (left) and without (right), of {shown:.2000?}");
        lane
    }
}

impl Side {
    /// Creates a side; clients connect to `address`, which need not be that of the server itself.
    pub(crate) async fn new(server: TestServer, address: SocketAddr) -> Self {
        // This also verifies the credentials, once for each host, so that the requests below find them cached.
        let handshake = Sample::of(r#"[{"channel":"/meta/handshake"}]"#);
        let reply = Conversation::open(address).await.ask(handshake).await;
        let replies: Value = serde_json::from_str(&reply.body).unwrap();
        let client = replies[0]["clientId"].as_str().unwrap_or_default().to_owned();
        Self { server, address, client }
    }

    /// Returns the user `admin` of this server.
    pub(crate) fn admin(&self) -> Caller {
        Caller::new(&format!("http://{}", self.address), Some(("admin", ADMIN_PASSWORD)))
    }

    /// Waits until the server has read everything that was sent before. It has one worker, so a response to a later
    /// request proves that.
    pub(crate) async fn has_seen_all(&self) {
        for _ in 0..3 {
            Conversation::open(self.address).await.ask(Sample::idle()).await;
        }
    }

    /// Returns a Bayeux message of the session.
    pub(crate) fn message(&self, channel: &str, more: Value) -> Value {
        self.admin().resume(&self.client).message(channel, more)
    }

    /// Returns a connect of a session; the advice determines whether it is held.
    pub(crate) fn connect(client: &str, advice: Value) -> Sample {
        let message = json!([{"id": "9", "channel": "/meta/connect", "clientId": client, "advice": advice}]);
        Sample::of(message.to_string())
    }

    /// Returns all responses on a new connection. If the connection stays open, two further requests are sent and their
    /// responses included: they show that no byte of a request is left over, and that there are no surplus responses.
    pub(crate) async fn verdict(&self, sent: Sent, bytes: &[u8]) -> Vec<RawResponse> {
        let mut conversation = Conversation::open(self.address).await;
        if sent == Sent::PartBehindAnother {
            conversation.ask(Sample::idle()).await;
        }
        conversation.send(bytes).await;
        let mut answers = Vec::new();
        let whole = match sent {
            Sent::Whole(count) => count,
            Sent::Part | Sent::PartBehindAnother => {
                // Otherwise the end might be detected before a response that is in transit.
                self.has_seen_all().await;
                conversation.half_close().await;
                usize::MAX
            }
        };
        let mut whole_answers = 0;
        while whole_answers < whole {
            let answer = if bytes.starts_with(b"HEAD ") {
                conversation.head().await
            } else {
                conversation.answer().await
            };
            let Some(answer) = answer else { return self.redacted(answers) };
            whole_answers += usize::from(answer.status() >= 200);
            answers.push(answer);
        }
        for request in [Sample::idle(), Sample::of("").line("GET /health/live HTTP/1.1").closing()] {
            conversation.send(request).await;
            answers.extend(conversation.answer().await);
        }
        answers.extend(conversation.rest().await);
        self.redacted(answers)
    }

    /// Returns the responses without the values that differ between servers and moments.
    pub(crate) fn redacted(&self, mut answers: Vec<RawResponse>) -> Vec<RawResponse> {
        for answer in &mut answers {
            // It is absent while a part of the body has not arrived, which depends on the time.
            answer.fields.retain(|field| !field.starts_with("keep-alive: "));
            // The fast lane gives ids to errors only.
            answer.fields.retain(|field| !field.starts_with("x-request-id: "));
            let texts = [&mut answer.line, &mut answer.body].into_iter().chain(&mut answer.fields);
            texts.for_each(|text| *text = self.redact(text));
        }
        answers
    }

    fn redact(&self, text: &str) -> String {
        if let Some(date) = text.strip_prefix("date: ") {
            assert!(date.len() == 29 && date.ends_with(" GMT"), "{date}");
            return "date: <date>".to_owned();
        }
        let text = text.replace(&self.server.address().to_string(), "<server>");
        // Only names of sessions have thirty-two digits in a row.
        let mut redacted = String::new();
        for piece in text.split_inclusive(|character: char| !character.is_ascii_hexdigit()) {
            let rest = piece.trim_start_matches(|character: char| character.is_ascii_hexdigit());
            match piece.len() - rest.len() {
                32 => redacted.extend(["<client>", rest]),
                // In CSV the name of a session has one more letter.
                33 => redacted.extend(["<client>c", rest]),
                _ => redacted.push_str(piece),
            }
        }
        redacted
    }
}
