//! The floors on actix-web: a poll is held by its handler, or by the body of its response.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use actix::{Actor, ActorContext as _, AsyncContext as _, Handler, StreamHandler};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use actix_web_actors::ws;
use bytes::Bytes;
use futures_util::FutureExt as _;

use crate::hub::{self, CONNECT_REPLY, Frame, Hub, Outlet, Request, Response, lock};
use crate::{Holds, Settings};

/// Serves until it is stopped.
pub(crate) async fn serve(settings: Settings, hub: web::Data<Hub>) -> io::Result<()> {
    let holds = settings.holds;
    let server = HttpServer::new(move || {
        App::new()
            .app_data(hub.clone())
            .app_data(web::Data::new(holds))
            .route("/notification/realtime", web::post().to(notifications))
            .route("/notification/operations", web::post().to(notifications))
            .route("/notification/realtime", web::get().to(upgrade))
            .route("/alarm/alarms", web::post().to(post_alarm))
            .route("/event/events", web::post().to(post_event))
            .route("/measurement/measurements", web::post().to(post_measurement))
            .route("/inventory/managedObjects", web::post().to(post_device))
            .route("/inventory/managedObjects/{id}", web::delete().to(delete_device))
            .route("/metrics", web::get().to(metrics))
    });
    server
        .workers(settings.workers)
        .backlog(crate::BACKLOG)
        .h1_allow_half_closed(false)
        // The head of a held poll is sent early; with Nagle's algorithm the body would wait for the head's
        // acknowledgement.
        .tcp_nodelay(true)
        .keep_alive(Duration::from_secs(75))
        .shutdown_timeout(1)
        .bind(&settings.listen)?
        .run()
        .await
}

async fn notifications(hub: web::Data<Hub>, holds: web::Data<Holds>, body: Bytes) -> HttpResponse {
    let answer = hub.take(&body);
    drop(body);
    match answer {
        None => HttpResponse::BadRequest().finish(),
        Some(Response::Body(body)) => json(body),
        Some(Response::Held(held)) if **holds == Holds::Handler => json(held.await),
        Some(Response::Held(held)) => HttpResponse::Ok()
            .content_type("application/json")
            .streaming(held.map(Ok::<_, Infallible>).into_stream()),
    }
}

fn json(body: impl Into<Bytes>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(body.into())
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
        // The frame has only the notification; the connect stays pending.
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
    published(hub.publish("alarms", &body))
}

async fn post_event(hub: web::Data<Hub>, body: Bytes) -> HttpResponse {
    published(hub.publish("events", &body))
}

async fn post_measurement(hub: web::Data<Hub>, body: Bytes) -> HttpResponse {
    published(hub.publish("measurements", &body))
}

fn published(id: Option<u64>) -> HttpResponse {
    id.map_or_else(|| HttpResponse::UnprocessableEntity().finish(), created)
}

/// Reads the body although it is ignored: actix-web closes a connection whose request was not read.
async fn post_device(hub: web::Data<Hub>, _body: Bytes) -> HttpResponse {
    created(hub.number())
}

fn created(id: u64) -> HttpResponse {
    HttpResponse::Created().content_type("application/json").body(format!(r#"{{"id":"{id}"}}"#))
}

async fn delete_device() -> HttpResponse {
    HttpResponse::NoContent().finish()
}

async fn metrics() -> String {
    hub::metrics()
}
