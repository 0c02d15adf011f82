//! Microservices behind the platform (W-14): requests, responses, and hostile clients and microservices.
//!
//! The microservice of most tests is a listener of the test itself, so that each test shows every byte of both sides;
//! [`sample`] has a whole one.

mod access;
mod bounds;
mod cancelling;
mod command;
mod faults;
mod forwarding;
mod headers;
mod health;
mod sample;
mod smuggling;
mod streaming;
mod websocket;

use std::net::SocketAddr;

use platform_front::config::Settings;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, MutexGuard};

use crate::harness::prelude::*;
use crate::harness::service::{answer_all, create_microservice, field, route};

/// A complete response of a microservice, the last on its connection.
const OK: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
/// A complete response of a microservice that keeps the connection open.
const KEPT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server, and the test acting as the microservice `rules` of tenant `main`.
struct Behind {
    server: TestServer,
    listener: TcpListener,
    /// Id of the microservice.
    application: String,
    /// Other tests wait for their turn on the same server.
    _turn: Option<MutexGuard<'static, Option<(TestServer, String)>>>,
}

/// The server whose microservice tests are one after the other, and the id of the microservice.
static IN_TURN: Mutex<Option<(TestServer, String)>> = Mutex::const_new(None);

impl Behind {
    /// The microservice of a server that other tests use before and after this one. It suffices for a test that changes
    /// neither users nor applications nor options.
    async fn in_turn() -> Self {
        let mut turn = IN_TURN.lock().await;
        if turn.is_none() {
            let Self { server, application, .. } = Self::start().await;
            *turn = Some((server, application));
        }
        let (server, application) = turn.as_ref().expect("it was started");
        let (server, application) = (server.share(), application.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let behind = Self { server, listener, application, _turn: Some(turn) };
        behind.route_below("").await;
        behind
    }

    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::of(TestServer::start_with(change).await).await
    }

    async fn of(server: TestServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let application = create_microservice(&server.admin(), "rules").await;
        let behind = Self { server, listener, application, _turn: None };
        behind.route_below("").await;
        behind
    }

    fn with_admin(self) -> (Self, Caller) {
        let admin = self.server.admin();
        (self, admin)
    }

    /// Both ends of a call that the microservice has received and not responded to.
    async fn called(&self) -> (RawConnection, RawConnection) {
        let (mut client, lines) = self.client().await;
        client.send(format!("GET /service/rules/x HTTP/1.1\r\n{lines}\r\n")).await;
        let (service, _) = tokio::select! {
            asked = self.asked() => asked,
            head = client.read_until("\r\n\r\n") => panic!("the platform itself responds: {head}"),
        };
        (client, service)
    }

    /// Sets the route of the microservice to its listener, with a base path.
    async fn route_below(&self, base: &str) {
        let address = format!("http://{}{base}", self.address());
        route(self.server.database(), &self.application, Some(&address)).await.unwrap();
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// The next connection of the platform.
    async fn accept(&self) -> RawConnection {
        RawConnection::accepted(soon("a connection to the service", self.listener.accept()).await.unwrap().0)
    }

    /// The next connection, with the head of the request on it.
    async fn asked(&self) -> (RawConnection, String) {
        let mut connection = self.accept().await;
        let head = connection.read_until("\r\n\r\n").await;
        (connection, head)
    }

    /// Sends a request and responds to it as the microservice. Returns the request that the service received, and the
    /// response.
    async fn answered(&self, request: Request, answer: &str) -> (String, Response) {
        let service = async {
            let (mut connection, head) = self.asked().await;
            connection.send(answer).await;
            (head, connection)
        };
        let ((head, _connection), answer) = tokio::join!(service, request.send());
        (head, answer)
    }

    /// Returns the request as the service received it, and sends a response.
    async fn heard(&self, request: Request) -> String {
        let (head, answer) = self.answered(request, OK).await;
        assert_eq!((answer.status, &*answer.text), (200, "ok"));
        head
    }

    /// Checks that the service receives this marker next, so that no earlier request has reached it.
    async fn hears_nothing_of_what_was_before(&self) {
        let head = self.heard(self.server.admin().request("GET", "/service/rules/marker")).await;
        assert!(head.starts_with("GET /marker HTTP/1.1\r\n"), "{head}");
    }

    /// A connection of a client, and the two lines that every request of `admin` has.
    async fn client(&self) -> (RawConnection, String) {
        let authorization = self.server.admin().authorization().unwrap();
        let lines = format!("Host: {}\r\nAuthorization: {authorization}\r\n", self.server.address());
        (RawConnection::open(self.server.address()).await, lines)
    }
}

/// Lower-case `name: value` lines of a head, sorted.
fn lines(head: &str) -> Vec<String> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let mut lines: Vec<String> =
        fields.map(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase())).collect();
    lines.sort();
    lines
}
