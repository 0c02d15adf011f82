//! The floor for notifications: the least an actix-web program must do to hold Bayeux polls and broadcast.
//!
//! Polls are streaming bodies that own a oneshot receiver and nothing else; notifications live in process memory.
//! No authentication, no tenants, no database, no expiry beyond forgetting silent sessions. The same `loadtest`
//! subcommands run against it as against the server, so a figure of the server can be read as a multiple of the
//! floor: `cargo run --release -p loadtest --example bayeux_floor -- --listen 127.0.0.1:18080`.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::convert::Infallible;
use std::hash::BuildHasher as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix::{Actor, ActorContext as _, AsyncContext as _, Handler, Message, Recipient, StreamHandler};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use actix_web_actors::ws;
use bytes::Bytes;
use clap::Parser;
use futures_util::Stream;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

/// A session without a poll for this long is forgotten.
const SILENCE: Duration = Duration::from_secs(10);
/// End of every answer to a poll; the same for all, so that an answer can be shared.
const CONNECT_REPLY: &str = r#"{"channel":"/meta/connect","successful":true}]"#;

/// Holds Bayeux polls and broadcasts, as lean as actix-web allows.
#[derive(Debug, Parser)]
struct Settings {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:18080")]
    listen: String,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

/// Where the next notification of a session goes.
#[derive(Debug)]
enum Outlet {
    /// No poll is held; notifications wait here.
    Queue(Vec<Bytes>, Instant),
    /// A poll is held.
    Poll(oneshot::Sender<Bytes>),
    /// A WebSocket is open.
    Socket(Recipient<Frame>),
}

type Session = Arc<Mutex<Outlet>>;

#[derive(Debug, Default)]
struct Hub {
    sessions: Mutex<HashMap<String, Session>>,
    /// Sessions by channel; the wildcard is a channel like any other.
    subscribers: Mutex<HashMap<String, Vec<Session>>>,
    next_id: AtomicU64,
    random: RandomState,
}

/// One or more notifications as a JSON array, sent as a text frame.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
struct Frame(Bytes);

#[derive(Debug, Deserialize)]
struct Request<'a> {
    id: Option<&'a str>,
    channel: &'a str,
    #[serde(rename = "clientId")]
    client_id: Option<&'a str>,
    subscription: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct Alarm<'a> {
    #[serde(borrow)]
    source: Source<'a>,
}

#[derive(Debug, Deserialize)]
struct Source<'a> {
    id: &'a str,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    fn number(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn handshake(&self) -> String {
        let number = self.number();
        let client_id = format!("{:016x}{:016x}", self.random.hash_one(number), number);
        let session = Arc::new(Mutex::new(Outlet::Queue(Vec::new(), Instant::now())));
        lock(&self.sessions).insert(client_id.clone(), session);
        client_id
    }

    fn session(&self, client_id: Option<&str>) -> Option<Session> {
        lock(&self.sessions).get(client_id?).cloned()
    }

    /// Hands an alarm to everybody on its channel and on the wildcard; encoded once.
    fn publish(&self, source: &str, alarm: &RawValue) {
        let notification = format!(
            r#"[{{"channel":"/alarms/{source}","id":"{}","data":{{"realtimeAction":"CREATE","data":{alarm}}}}},{CONNECT_REPLY}"#,
            self.number()
        );
        let batch = Bytes::from(notification);
        let mut subscribers = lock(&self.subscribers);
        for channel in [format!("/alarms/{source}").as_str(), "/alarms/*"] {
            if let Some(sessions) = subscribers.get_mut(channel) {
                sessions.retain(|session| offer(&mut lock(session), batch.clone()));
            }
        }
    }

    /// Forgets sessions nobody has polled for a while.
    fn sweep(&self) {
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

    fn subscribe(&self, request: &Request<'_>) -> bool {
        let (Some(session), Some(channel)) = (self.session(request.client_id), request.subscription) else {
            return false;
        };
        lock(&self.subscribers).entry(channel.to_owned()).or_default().push(session);
        true
    }

    /// Answers a message that is not held.
    fn answer(&self, request: &Request<'_>) -> String {
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
}

/// Gives a batch to a session; false when the session is dead.
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

/// The body of a held poll.
struct HeldPoll(Option<oneshot::Receiver<Bytes>>);

impl Stream for HeldPoll {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(receiver) = &mut self.0 else { return Poll::Ready(None) };
        let batch = match Pin::new(receiver).poll(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(batch) => batch,
        };
        self.0 = None;
        Poll::Ready(Some(Ok(batch.unwrap_or_else(|_| Bytes::from(format!("[{CONNECT_REPLY}"))))))
    }
}

/// Holds a poll, or answers it with what waits.
fn connect(session: &Session) -> HttpResponse {
    let mut outlet = lock(session);
    if let Outlet::Queue(queue, since) = &mut *outlet
        && !queue.is_empty()
    {
        *since = Instant::now();
        return json(join(std::mem::take(queue)));
    }
    let (sender, receiver) = oneshot::channel();
    *outlet = Outlet::Poll(sender);
    HttpResponse::Ok().content_type("application/json").streaming(HeldPoll(Some(receiver)))
}

/// Several batches as one: every batch is an array of one notification and the connect reply.
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

fn json(body: impl Into<Bytes>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(body.into())
}

async fn notifications(hub: web::Data<Hub>, body: Bytes) -> HttpResponse {
    let Ok([request]) = serde_json::from_slice::<[Request<'_>; 1]>(&body) else {
        return HttpResponse::BadRequest().finish();
    };
    match hub.session(request.client_id) {
        Some(session) if request.channel == "/meta/connect" => {
            drop(body);
            connect(&session)
        }
        _ => json(hub.answer(&request)),
    }
}

struct Socket {
    hub: web::Data<Hub>,
}

impl Actor for Socket {
    type Context = ws::WebsocketContext<Self>;
}

impl Handler<Frame> for Socket {
    type Result = ();

    fn handle(&mut self, Frame(batch): Frame, context: &mut Self::Context) {
        // The frame holds the notification alone; the connect stays pending.
        let text = String::from_utf8_lossy(&batch);
        let notification = text.strip_suffix(CONNECT_REPLY).and_then(|text| text.strip_suffix(','));
        context.text(format!("{}]", notification.unwrap_or("[")));
    }
}

impl StreamHandler<Result<ws::Message, ws::ProtocolError>> for Socket {
    fn handle(&mut self, message: Result<ws::Message, ws::ProtocolError>, context: &mut Self::Context) {
        match message {
            Ok(ws::Message::Text(text)) => self.text(&text, context),
            Ok(ws::Message::Ping(payload)) => context.pong(&payload),
            Ok(_) => {}
            Err(_) => context.stop(),
        }
    }
}

impl Socket {
    fn text(&self, text: &str, context: &mut ws::WebsocketContext<Self>) {
        let Ok([request]) = serde_json::from_str::<[Request<'_>; 1]>(text) else { return context.stop() };
        match self.hub.session(request.client_id) {
            Some(session) if request.channel == "/meta/connect" => {
                let socket = Outlet::Socket(context.address().recipient());
                if let Outlet::Queue(queue, _) = std::mem::replace(&mut *lock(&session), socket) {
                    queue.into_iter().for_each(|batch| context.notify(Frame(batch)));
                }
            }
            _ => context.text(self.hub.answer(&request)),
        }
    }
}

async fn upgrade(
    hub: web::Data<Hub>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, actix_web::Error> {
    ws::start(Socket { hub }, &request, payload)
}

async fn post_alarm(hub: web::Data<Hub>, body: Bytes) -> HttpResponse {
    let parsed = serde_json::from_slice::<Alarm<'_>>(&body);
    let (Ok(alarm), Ok(text)) = (parsed, serde_json::from_slice::<&RawValue>(&body)) else {
        return HttpResponse::UnprocessableEntity().finish();
    };
    hub.publish(alarm.source.id, text);
    created(hub.number())
}

/// Takes the body although it ignores it: actix-web closes a connection whose request was not read.
async fn post_device(hub: web::Data<Hub>, _body: Bytes) -> HttpResponse {
    created(hub.number())
}

fn created(id: u64) -> HttpResponse {
    HttpResponse::Created().content_type("application/json").body(format!(r#"{{"id":"{id}"}}"#))
}

async fn delete_device() -> HttpResponse {
    HttpResponse::NoContent().finish()
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let settings = Settings::parse();
    let hub = web::Data::new(Hub::default());
    let swept = hub.clone();
    actix_web::rt::spawn(async move {
        loop {
            tokio::time::sleep(SILENCE).await;
            swept.sweep();
        }
    });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(hub.clone())
            .route("/notification/realtime", web::post().to(notifications))
            .route("/notification/realtime", web::get().to(upgrade))
            .route("/alarm/alarms", web::post().to(post_alarm))
            .route("/inventory/managedObjects", web::post().to(post_device))
            .route("/inventory/managedObjects/{id}", web::delete().to(delete_device))
    });
    server
        .workers(settings.workers)
        .backlog(4096)
        .h1_allow_half_closed(false)
        // The head of a held poll goes out early; without this its body waits for the acknowledgement of the head.
        .tcp_nodelay(true)
        .keep_alive(Duration::from_secs(75))
        .shutdown_timeout(1)
        .bind(&settings.listen)?
        .run()
        .await
}
