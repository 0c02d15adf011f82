//! Accepts connections and serves them: first the fast lane, then actix-http over a [`line`].

mod clock;
mod framing;
mod line;
mod patience;
mod serving;
mod stream;
mod upgraded;

use std::cell::OnceCell;
use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_codec::Framed;
use actix_http::HttpService;
use actix_http::error::DispatchError;
use actix_http::h1::Codec;
use actix_server::{GracefulShutdownSignal, ServerBuilder};
use actix_service::boxed::{self, BoxService};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, always_ready, fn_factory, fn_service,
    map_config,
};
use actix_web::dev::AppConfig;
use actix_web::rt::net::TcpStream;
use actix_web::{App, web};
pub(crate) use clock::{Clock, Place};
pub(crate) use framing::OVERLONG;
use line::Connection;
pub(crate) use line::{BodyIs, FOR_A_SILENT_PEER, Line};
pub(crate) use patience::Pace;
use patience::Taking;
use serving::{OverHttp, Serving};
pub(crate) use stream::{Socket, Stream};

use crate::csv::rest_caller::RestRoutes;
use crate::http::middleware;
use crate::lane::Lane;
use crate::routes;
use crate::server::Edge;
use crate::service::ServiceConnections;
use crate::tls::Tls;

/// The time for which an idle connection is kept, long enough for devices that return every minute.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// The time within which a request head must have arrived.
pub(crate) const REQUEST_HEAD: Duration = Duration::from_secs(20);

/// Serves HTTP/1.1 on a listener, either only with TLS or without it.
///
/// # Errors
/// When the listener cannot be used.
pub fn listen(
    builder: ServerBuilder,
    listener: TcpListener,
    edge: web::Data<Edge>,
    tls: Option<Arc<Tls>>,
    transport: Transport,
) -> io::Result<ServerBuilder> {
    let stopping = builder.graceful_shutdown_signal();
    let address = listener.local_addr()?;
    builder.listen("http", listener, move || {
        let (edge, stopping) = (edge.clone(), stopping.clone());
        let tls = tls.clone().map(|tls| (tls, stopping.clone()));
        let (of_worker, of_upgrades) = (edge.clone(), edge.stop.clone());
        let app = App::new()
            .app_data(RestRoutes::new(edge.clone()))
            .app_data(web::Data::new(ServiceConnections::default()))
            .app_data(edge)
            .configure(routes::table)
            .wrap(actix_web::middleware::from_fn(middleware::around))
            .into_factory()
            .map_err(|error: actix_web::Error| error.error_response());
        // The routes are created once per worker and shared by requests and upgrades.
        let routes = Rc::new(OnceCell::new());
        let routes_of_upgrades = routes.clone();
        let app = Rc::new(map_config(app, |()| AppConfig::default()));
        let app = fn_factory(move || {
            let (app, routes) = (app.clone(), routes.clone());
            async move {
                let service = Rc::new(app.new_service(()).await?);
                Ok::<_, ()>(routes.get_or_init(|| service).clone())
            }
        });
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(KEEP_ALIVE)
            .client_request_timeout(REQUEST_HEAD)
            .local_addr(address)
            .on_connect_ext(|connection: &Connection, data| drop(data.insert(connection.line().clone())))
            .upgrade(fn_service(move |(request, connection): (_, Framed<Connection, Codec>)| {
                let routes: &Rc<_> =
                    routes_of_upgrades.get().expect("routes are made before connections are taken");
                let stop = of_upgrades.clone();
                let grace_over = async move { stop.grace_over().await };
                let line = connection.io_ref().line().clone();
                line.upgrade(upgraded::serve(routes.clone(), request, connection, grace_over));
                ready(Ok::<(), Infallible>(()))
            }))
            .finish(app);
        fn_factory(move || {
            let (tls, edge, http) = (tls.clone(), of_worker.clone(), http.new_service(()));
            async move {
                let clock = Clock::start(edge.stop.clone());
                let lane = match transport {
                    Transport::FastLane => Some(Lane::new(edge.clone(), clock.clone())),
                    Transport::Common => None,
                };
                Ok::<_, ()>(Entrance { edge, clock, tls, lane, http: Rc::new(boxed::service(http.await?)) })
            }
        })
    })
}

/// The HTTP server that holds the polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// The [`lane`](crate::lane) serves the requests that it supports.
    FastLane,
    /// actix-http serves polls like all other requests.
    Common,
}

/// The HTTP service of a connection.
type Http = BoxService<(Connection, actix_http::Protocol, Option<SocketAddr>), (), DispatchError>;

/// The service that accepts the connections of a worker.
struct Entrance {
    edge: web::Data<Edge>,
    clock: Rc<Clock>,
    tls: Option<(Arc<Tls>, GracefulShutdownSignal)>,
    lane: Option<Rc<Lane>>,
    http: Rc<Http>,
}

impl Service<TcpStream> for Entrance {
    type Response = ();
    type Error = DispatchError;
    type Future = Serving;

    always_ready!();

    /// The future runs as a task of its own, so a slow TLS handshake delays no other connection.
    fn call(&self, stream: TcpStream) -> Self::Future {
        let (tls, lane, http) = (self.tls.clone(), self.lane.clone(), self.http.clone());
        let stop = self.edge.stop.clone();
        let taking = Taking::new(self.clock.clone(), self.edge.limits().unread_answer);
        Serving::Entering(Box::pin(async move {
            let peer = stream.peer_addr().ok();
            let mut stream = Stream::open(stream, tls).await?;
            let mut unread = Vec::new();
            if let Some(lane) = lane {
                match lane.serve(stream, peer).await? {
                    Some(left) => (stream, unread) = left,
                    None => return Ok(None),
                }
            }
            let connection = Connection::new(stream, &unread, stop, taking);
            let line = connection.line().clone();
            Ok(Some(OverHttp { line, served: http.call((connection, actix_http::Protocol::Http1, peer)) }))
        }))
    }
}
