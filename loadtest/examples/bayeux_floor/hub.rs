//! The sessions, channels and messages, the same for every floor.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix::{Message, Recipient};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

/// A session without a poll for this long is dropped.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
/// The end of every response to a poll; it is the same for all, so that a response can be shared.
pub(crate) const CONNECT_REPLY: &str = r#"{"channel":"/meta/connect","successful":true}]"#;

/// The number of held polls; it is not part of the hub, so that a held poll needs no reference to the hub.
static PARKED: AtomicI64 = AtomicI64::new(0);

/// The destination of a session's next notification.
#[derive(Debug)]
pub(crate) enum Outlet {
    /// No poll is held; notifications are queued.
    Queue(Vec<Bytes>, Instant),
    /// A poll is held.
    Poll(oneshot::Sender<Bytes>),
    /// A WebSocket is open.
    Socket(Recipient<Frame>),
}

pub(crate) type Session = Arc<Mutex<Outlet>>;

#[derive(Debug, Default)]
pub(crate) struct Hub {
    sessions: Mutex<HashMap<String, Session>>,
    /// The sessions by channel; the wildcard is a channel like any other.
    subscribers: Mutex<HashMap<String, Vec<Session>>>,
    next_id: AtomicU64,
    random: RandomState,
}

/// One or more notifications as a JSON array, sent as a text frame.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct Frame(pub(crate) Bytes);

#[derive(Debug, Deserialize)]
pub(crate) struct Request<'a> {
    id: Option<&'a str>,
    pub(crate) channel: &'a str,
    #[serde(rename = "clientId")]
    pub(crate) client_id: Option<&'a str>,
    subscription: Option<&'a str>,
}

/// The response to a message.
#[derive(Debug)]
pub(crate) enum Response {
    /// An immediate response.
    Body(Bytes),
    /// A held poll.
    Held(Held),
}

/// The body of a held poll, once it is complete.
#[derive(Debug)]
pub(crate) struct Held(oneshot::Receiver<Bytes>);

/// The source of an alarm or a measurement.
#[derive(Debug, Deserialize)]
struct Sourced<'a> {
    #[serde(borrow)]
    source: Source<'a>,
}

#[derive(Debug, Deserialize)]
struct Source<'a> {
    id: &'a str,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the gauge that `loadtest` reads, under the name the server uses.
pub(crate) fn metrics() -> String {
    format!("platform_long_polls_parked {}\n", PARKED.load(Ordering::Relaxed))
}

impl Held {
    fn new(receiver: oneshot::Receiver<Bytes>) -> Self {
        PARKED.fetch_add(1, Ordering::Relaxed);
        Self(receiver)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        PARKED.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Future for Held {
    type Output = Bytes;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Bytes> {
        // The sender is dropped when the session polls elsewhere.
        let nothing = || Bytes::from(format!("[{CONNECT_REPLY}"));
        Pin::new(&mut self.0).poll(context).map(|batch| batch.unwrap_or_else(|_| nothing()))
    }
}

impl Hub {
    /// Returns a unique number for an id.
    pub(crate) fn number(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn session(&self, client_id: Option<&str>) -> Option<Session> {
        lock(&self.sessions).get(client_id?).cloned()
    }

    /// Processes the body of a Bayeux request; `None` unless it is the one message that loadtest sends.
    pub(crate) fn take(&self, body: &[u8]) -> Option<Response> {
        let [request] = serde_json::from_slice::<[Request<'_>; 1]>(body).ok()?;
        Some(match self.session(request.client_id) {
            Some(session) if request.channel == "/meta/connect" => connect(&session),
            _ => Response::Body(self.answer(&request).into()),
        })
    }

    /// Sends a posted object, encoded once, to all sessions on the channel of its source and on the wildcard.
    /// Returns its id.
    pub(crate) fn publish(&self, channel: &str, body: &[u8]) -> Option<u64> {
        let source = serde_json::from_slice::<Sourced<'_>>(body).ok()?.source.id;
        let data = serde_json::from_slice::<&RawValue>(body).ok()?;
        let own = format!("/{channel}/{source}");
        let batch = Bytes::from(format!(
            r#"[{{"channel":"{own}","id":"{}","data":{{"realtimeAction":"CREATE","data":{data}}}}},{CONNECT_REPLY}"#,
            self.number()
        ));
        let mut subscribers = lock(&self.subscribers);
        for channel in [own, format!("/{channel}/*")] {
            if let Some(sessions) = subscribers.get_mut(&channel) {
                sessions.retain(|session| offer(&mut lock(session), batch.clone()));
            }
        }
        Some(self.number())
    }

    /// Drops sessions that were not polled for a while.
    pub(crate) fn sweep(&self) {
        lock(&self.sessions).retain(|_, session| {
            let outlet = lock(session);
            match &*outlet {
                Outlet::Queue(_, since) => since.elapsed() < SILENCE,
                Outlet::Poll(poll) => !poll.is_closed(),
                Outlet::Socket(socket) => socket.connected(),
            }
        });
        lock(&self.subscribers).retain(|_, sessions| {
            sessions.retain(|session| Arc::strong_count(session) > 1);
            !sessions.is_empty()
        });
    }

    /// Returns the reply to a message that is not held.
    pub(crate) fn answer(&self, request: &Request<'_>) -> String {
        let (id, channel) = (request.id.unwrap_or_default(), request.channel);
        match channel {
            "/meta/handshake" => format!(
                r#"[{{"id":"{id}","channel":"{channel}","clientId":"{}","successful":true,"advice":{{"reconnect":"retry"}}}}]"#,
                self.handshake()
            ),
            "/meta/subscribe" => {
                let successful = self.subscribe(request);
                format!(r#"[{{"id":"{id}","channel":"{channel}","successful":{successful}}}]"#)
            }
            _ => format!(
                r#"[{{"id":"{id}","channel":"{channel}","successful":false,"error":"402::Unknown client"}}]"#
            ),
        }
    }

    fn handshake(&self) -> String {
        let number = self.number();
        let client_id = format!("{:016x}{:016x}", self.random.hash_one(number), number);
        let session = Arc::new(Mutex::new(Outlet::Queue(Vec::new(), Instant::now())));
        lock(&self.sessions).insert(client_id.clone(), session);
        client_id
    }

    fn subscribe(&self, request: &Request<'_>) -> bool {
        let (Some(session), Some(channel)) = (self.session(request.client_id), request.subscription) else {
            return false;
        };
        lock(&self.subscribers).entry(channel.to_owned()).or_default().push(session);
        true
    }
}

/// Gives a batch to a session; returns false when the session is dead.
fn offer(outlet: &mut Outlet, batch: Bytes) -> bool {
    match outlet {
        Outlet::Socket(socket) => {
            socket.do_send(Frame(batch));
            socket.connected()
        }
        Outlet::Queue(_, since) if since.elapsed() > SILENCE => false,
        Outlet::Queue(queue, _) => {
            queue.push(batch);
            true
        }
        Outlet::Poll(_) => {
            let queue = Outlet::Queue(Vec::new(), Instant::now());
            if let Outlet::Poll(poll) = std::mem::replace(outlet, queue)
                && let Err(unsent) = poll.send(batch)
                && let Outlet::Queue(queue, _) = outlet
            {
                queue.push(unsent);
            }
            true
        }
    }
}

/// Holds a poll, or responds with the queued notifications.
fn connect(session: &Session) -> Response {
    let mut outlet = lock(session);
    if let Outlet::Queue(queue, since) = &mut *outlet
        && !queue.is_empty()
    {
        *since = Instant::now();
        return Response::Body(join(std::mem::take(queue)));
    }
    let (sender, receiver) = oneshot::channel();
    *outlet = Outlet::Poll(sender);
    Response::Held(Held::new(receiver))
}

/// Joins several batches: each is an array of a notification and the connect reply.
fn join(mut queue: Vec<Bytes>) -> Bytes {
    if let [_] = queue[..] {
        return queue.remove(0);
    }
    let mut body = String::from("[");
    for batch in queue {
        let text = String::from_utf8_lossy(&batch);
        body += text.strip_prefix('[').and_then(|text| text.strip_suffix(CONNECT_REPLY)).unwrap_or_default();
    }
    Bytes::from(body + CONNECT_REPLY)
}
