//! The threads that serve connections: first the fast lane, then actix-http.

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
use platform_front::connection::{
    Clock, Connection, HandedOver, KEEP_ALIVE, OverHttp, Pace, Serving, Stream, Terms, ToHttp, Why, upgraded,
};
use platform_front::stop::Stop;
use platform_front::tls::Tls;

use super::components::Components;
use super::expectation::{Expectation, Routes};
use crate::csv::rest_caller::RestRoutes;
use crate::health::Metrics;
use crate::lane::{Connected, Lane};
use crate::requests::middleware;
use crate::routes;
use crate::service::ServiceConnections;

/// Serves HTTP/1.1 on a listener, either only with TLS or without it.
///
/// # Errors
/// The listener cannot be used.
pub(super) fn listen(
    builder: ServerBuilder,
    listener: TcpListener,
    components: Components,
    tls: Option<Arc<Tls>>,
    table: Table,
) -> io::Result<ServerBuilder> {
    let stopping = builder.graceful_shutdown_signal();
    let address = listener.local_addr()?;
    builder.listen("http", listener, move || {
        let (components, stopping) = (components.clone(), stopping.clone());
        let tls = tls.clone().map(|tls| (tls, stopping.clone()));
        let (of_worker, of_upgrades) = (components.clone(), components.stop.clone());
        let app = App::new()
            .configure(|app| components.register(app))
            .configure(|app| table.enter(app, &components))
            .wrap(actix_web::middleware::from_fn(middleware::around))
            .into_factory()
            .map_err(|error: actix_web::Error| error.error_response());
        // The routes are created once per worker and shared by requests and upgrades.
        let routes = Rc::new(OnceCell::new());
        let (routes_of_upgrades, routes_of_expectations) = (routes.clone(), routes.clone());
        let app = Rc::new(map_config(app, |()| AppConfig::default()));
        let app = fn_factory(move || {
            let (app, routes) = (app.clone(), routes.clone());
            async move {
                let service = Rc::new(app.new_service(()).await?);
                Ok::<_, ()>(Routes(routes.get_or_init(|| service).clone()))
            }
        });
        let expectations = fn_factory(move || {
            let routes = routes_of_expectations.clone();
            async move { Ok::<_, ()>(Expectation(routes)) }
        });
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(KEEP_ALIVE)
            // The connection below has a time limit for heads, and for what a client sends after its last response.
            .client_request_timeout(Duration::ZERO)
            .client_disconnect_timeout(Duration::ZERO)
            .local_addr(address)
            .on_connect_ext(|connection: &Connection, data| drop(data.insert(connection.handle().clone())))
            .expect(expectations)
            .upgrade(fn_service(move |(request, connection): (_, Framed<Connection, Codec>)| {
                let routes: &Rc<_> =
                    routes_of_upgrades.get().expect("routes are made before connections are taken");
                let stop = of_upgrades.clone();
                let grace_over = async move { stop.grace_over().await };
                let handle = connection.io_ref().handle().clone();
                handle.upgrade(upgraded::serve(routes.clone(), request, connection, grace_over));
                ready(Ok::<(), Infallible>(()))
            }))
            .finish(app);
        fn_factory(move || {
            let (tls, components, http) = (tls.clone(), of_worker.clone(), http.new_service(()));
            async move {
                let terms = terms(&components, table);
                let clock = terms.clock.clone();
                let lane = table.lane(&components, &clock);
                let to_http = to_http(Rc::new(boxed::service(http.await?)), terms);
                Ok::<_, ()>(Entrance { tls, lane, to_http })
            }
        })
    })
}

/// Returns the terms of the connections of a worker, and starts its clock.
fn terms(components: &Components, table: Table) -> Rc<Terms> {
    let (stop, limits) = (table.stop_of(components), components.platform.limits());
    Rc::new(Terms {
        clock: Clock::start(stop.clone()),
        stop,
        unread_answer: limits.unread_answer,
        discards: Pace::of_discarded(limits),
        takes_upgrades: routes::takes_upgrades,
    })
}

/// Returns the routes of rows of the CSV protocol, which use the same components.
fn rest_routes(components: &Components) -> RestRoutes {
    let (platform, authenticator) = (components.platform.clone(), components.authenticator.clone());
    let components = components.clone();
    let table = move |app: &mut web::ServiceConfig| {
        components.register(app);
        routes::table_of_rows(app);
    };
    RestRoutes::new(platform, authenticator, Rc::new(table))
}

/// The HTTP server that holds the polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// The [`lane`](crate::lane) serves the requests that it supports.
    FastLane,
    /// actix-http serves polls like all other requests.
    Common,
}

/// The paths that a listener serves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Table {
    /// All paths, for clients.
    Clients(Transport, Metrics),
    /// Health and metrics, until the end of a stop.
    Operators,
}

impl Table {
    fn enter(self, app: &mut web::ServiceConfig, components: &Components) {
        match self {
            Self::Clients(_, metrics) => {
                app.app_data(rest_routes(components)).app_data(web::Data::new(ServiceConnections::default()));
                routes::table(app, metrics);
            }
            Self::Operators => routes::table_of_operators(app),
        }
    }

    /// Returns the stop that ends connections.
    fn stop_of(self, components: &Components) -> Arc<Stop> {
        match self {
            Self::Clients(..) => components.stop.clone().into_inner(),
            Self::Operators => Arc::default(),
        }
    }

    /// Prepares the thread of a worker for sessions. Returns its fast lane, if it has one.
    fn lane(self, components: &Components, clock: &Rc<Clock>) -> Option<Rc<Lane>> {
        let Self::Clients(transport, _) = self else { return None };
        components.platform.add_session_thread();
        match transport {
            Transport::FastLane => Some(Lane::new(components.of_lane(), routes::of_lane(), clock.clone())),
            Transport::Common => None,
        }
    }
}

/// The HTTP service of a connection.
type Http = BoxService<(Connection, actix_http::Protocol, Option<SocketAddr>), (), DispatchError>;

/// The service that accepts the connections of a worker.
struct Entrance {
    tls: Option<(Arc<Tls>, GracefulShutdownSignal)>,
    lane: Option<Rc<Lane>>,
    to_http: ToHttp,
}

impl Service<TcpStream> for Entrance {
    type Response = ();
    type Error = DispatchError;
    type Future = Serving<Connected>;

    always_ready!();

    /// The future runs as a task of its own, so a slow TLS handshake delays no other connection.
    fn call(&self, stream: TcpStream) -> Self::Future {
        let peer = stream.peer_addr().ok();
        let (tls, lane, to_http) = (self.tls.clone(), self.lane.clone(), self.to_http.clone());
        let serve = move |stream| match lane {
            Some(lane) => Serving::Lane(lane.serve(stream, peer), to_http),
            None => Serving::Http(to_http(HandedOver::unserved(stream, peer, Why::Foreign))),
        };
        match tls {
            None => serve(Stream::plain(stream)),
            Some(tls) => {
                let to_http = self.to_http.clone();
                Serving::Entering(Box::pin(async move {
                    let stream = Stream::encrypt(stream, tls).await?;
                    Ok(if matches!(stream, Stream::Plain(_)) {
                        Serving::Http(to_http(HandedOver::unserved(stream, peer, Why::Plain)))
                    } else {
                        serve(stream)
                    })
                }))
            }
        }
    }
}

/// Returns the function that passes the connections of a worker to actix-http.
fn to_http(http: Rc<Http>, terms: Rc<Terms>) -> ToHttp {
    Rc::new(move |HandedOver { stream, unread, peer, why }| {
        let connection = Connection::new(stream, &unread, why, terms.clone());
        let handle = connection.handle().clone();
        OverHttp { handle, served: http.call((connection, actix_http::Protocol::Http1, peer)) }
    })
}
