//! The connection under HTTP: a TCP stream, encrypted or not, that can hold a head back until its body comes, and that can be asked whether
//! its peer is still there.
//!
//! The answer to a held poll has its head ready long before its body. Written at once it costs a system call of its own
//! and wakes the client for nothing, so the poll withholds it for a while: if the body comes soon, both leave as one
//! write.

mod stream;
mod upgraded;

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_http::HttpService;
use actix_http::error::DispatchError;
use actix_server::{GracefulShutdownSignal, ServerBuilder};
use actix_service::boxed::{self, BoxService};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, always_ready, fn_factory, fn_service,
    map_config,
};
use actix_web::dev::AppConfig;
use actix_web::rt::net::TcpStream;
use actix_web::{App, web};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
pub(crate) use stream::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::csv::rest_caller::RestRoutes;
use crate::http::middleware;
use crate::lane::Lane;
use crate::routes;
use crate::server::Edge;
use crate::service::ServiceConnections;
use crate::tls::Tls;

/// Idle connections are kept for devices that come back within a minute.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// A request head must have arrived within this time.
pub(crate) const REQUEST_HEAD: Duration = Duration::from_secs(20);
/// No head of ours is larger; what is, is written at once.
const WITHHELD: usize = 1024;

/// Serves HTTP/1.1 on a listener, with TLS only or without.
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
        let lane = (edge.clone(), stopping.clone());
        let app = App::new()
            .app_data(RestRoutes::new(edge.clone()))
            .app_data(web::Data::new(ServiceConnections::default()))
            .app_data(edge)
            .configure(routes::table)
            .wrap(actix_web::middleware::from_fn(middleware::around))
            .into_factory()
            .map_err(|error: actix_web::Error| error.error_response());
        // Made once for a worker, and shared by requests and upgrades.
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
            // Else a client that closes its held poll is never noticed.
            .h1_allow_half_closed(false)
            .local_addr(address)
            .on_connect_ext(|connection: &Connection, data| drop(data.insert(connection.line.clone())))
            .upgrade(fn_service(move |(request, connection)| {
                let routes: &Rc<_> =
                    routes_of_upgrades.get().expect("routes are made before connections are taken");
                upgraded::serve(routes.clone(), request, connection)
            }))
            .finish(app);
        fn_factory(move || {
            let (tls, (edge, stopping), http) = (tls.clone(), lane.clone(), http.new_service(()));
            async move {
                let lane = match transport {
                    Transport::FastLane => Some(Lane::new(edge, stopping)),
                    Transport::Common => None,
                };
                Ok::<_, ()>(Entrance { tls, lane, http: Rc::new(boxed::service(http.await?)) })
            }
        })
    })
}

/// By what way polls are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// By [`lane`](crate::lane), as far as it goes.
    FastLane,
    /// By actix-http, as everything else.
    Common,
}

/// What speaks HTTP on a connection.
type Http = BoxService<(Connection, actix_http::Protocol, Option<SocketAddr>), (), DispatchError>;

/// Where the connections of a worker arrive.
struct Entrance {
    tls: Option<(Arc<Tls>, GracefulShutdownSignal)>,
    lane: Option<Rc<Lane>>,
    http: Rc<Http>,
}

impl Service<TcpStream> for Entrance {
    type Response = ();
    type Error = DispatchError;
    type Future = LocalBoxFuture<'static, Result<(), DispatchError>>;

    always_ready!();

    /// The future runs as a task of its own, so a slow handshake keeps nobody else waiting.
    fn call(&self, stream: TcpStream) -> Self::Future {
        let (tls, lane, http) = (self.tls.clone(), self.lane.clone(), self.http.clone());
        Box::pin(async move {
            let peer = stream.peer_addr().ok();
            let mut stream = Stream::open(stream, tls).await?;
            let mut unread = Vec::new();
            if let Some(lane) = lane {
                match lane.serve(stream, peer).await? {
                    Some(left) => (stream, unread) = left,
                    None => return Ok(()),
                }
            }
            http.call((Connection::new(stream, unread.into()), actix_http::Protocol::Http1, peer)).await
        })
    }
}

/// A stream that its handlers can reach as a [`Line`].
pub struct Connection {
    line: Line,
    /// What was read of it already.
    unread: Bytes,
}

/// The way from a handler to its connection: `HttpRequest::conn_data::<Line>()`.
#[derive(Debug, Clone)]
pub struct Line(Rc<LineState>);

#[derive(Debug)]
struct LineState {
    stream: RefCell<Stream>,
    head: Head,
}

/// The head of an answer that waits for its body.
#[derive(Debug, Default)]
struct Head {
    withhold: Cell<bool>,
    withheld: RefCell<Vec<u8>>,
    released: Cell<bool>,
}

impl Line {
    /// Withholds the head of the answer that is given next, until the first byte of its body, or until it is released.
    pub fn withhold_head(&self) {
        self.0.head.withhold.set(true);
        self.0.head.released.set(false);
    }

    /// Lets a withheld head go with the next flush. A body that is polled is followed by a flush, whether or not it had
    /// something.
    pub fn release_head(&self) {
        self.0.head.released.set(true);
    }

    /// Whether the peer closed or reset the connection, as far as the system knows at this moment: the worker may not
    /// have come to notice it. Asked while the connection is polled.
    pub fn peer_is_gone(&self, cx: &Context<'_>) -> bool {
        self.0.stream.borrow_mut().peer_is_gone(cx)
    }
}

impl Head {
    /// Keeps what is written when it is a head and nothing else: an answer to a pipelined request must not wait.
    fn takes(&self, written: &[u8]) -> bool {
        if !self.withhold.take() {
            return false;
        }
        let end = end_of_head(written);
        let alone = end == Some(written.len()) && written.len() <= WITHHELD;
        if alone {
            *self.withheld.borrow_mut() = written.to_vec();
        }
        alone
    }
}

fn end_of_head(written: &[u8]) -> Option<usize> {
    written.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

impl Connection {
    fn new(stream: Stream, unread: Bytes) -> Self {
        let stream = RefCell::new(stream);
        Self { line: Line(Rc::new(LineState { stream, head: Head::default() })), unread }
    }

    fn stream(&self) -> RefMut<'_, Stream> {
        self.line.0.stream.borrow_mut()
    }

    fn head(&self) -> &Head {
        &self.line.0.head
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            let most = buffer.remaining().min(self.unread.len());
            buffer.put_slice(&self.get_mut().unread.split_to(most));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut *self.stream()).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        if self.head().takes(buffer) {
            return Poll::Ready(Ok(buffer.len()));
        }
        let mut withheld = self.head().withheld.borrow_mut();
        while !withheld.is_empty() {
            let both = [IoSlice::new(&withheld), IoSlice::new(buffer)];
            let written = ready!(Pin::new(&mut *self.stream()).poll_write_vectored(cx, &both))?;
            if written == 0 {
                return Poll::Ready(Ok(0));
            }
            if written < withheld.len() {
                withheld.drain(..written);
                continue;
            }
            let of_buffer = written - withheld.len();
            *withheld = Vec::new();
            if of_buffer > 0 {
                return Poll::Ready(Ok(of_buffer));
            }
        }
        Pin::new(&mut *self.stream()).poll_write(cx, buffer)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.head().released.get() {
            let mut withheld = self.head().withheld.borrow_mut();
            while !withheld.is_empty() {
                match ready!(Pin::new(&mut *self.stream()).poll_write(cx, &withheld))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    written => drop(withheld.drain(..written)),
                }
            }
            *withheld = Vec::new();
            self.head().released.set(false);
        }
        Pin::new(&mut *self.stream()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream()).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use socket2::SockRef;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the peer is gone, and whether whoever polls the connection was woken.
    fn asked(line: &Line) -> (bool, bool) {
        let woken = Arc::new(Woken::default());
        let gone = line.peer_is_gone(&Context::from_waker(&Waker::from(woken.clone())));
        (gone, woken.0.load(Ordering::Relaxed) > 0)
    }

    /// Waits, past the event loop, until the system has something to read or the end.
    fn arrived(connection: &Connection) {
        let stream = connection.stream();
        let tcp = match &*stream {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(stream) => stream.get_ref().0,
        };
        while SockRef::from(tcp).peek(&mut [MaybeUninit::uninit()]).is_err() {}
    }

    async fn encrypted() -> (Connection, tokio_rustls::client::TlsStream<TcpStream>) {
        let (server, client) = crate::tls::tests::connected().await;
        (Connection::new(Stream::Tls(server), Bytes::new()), client)
    }

    #[tokio::test]
    async fn peer_that_says_farewell_or_hangs_up_is_gone_before_the_event_loop_knows() {
        for farewell in [true, false] {
            let (connection, mut client) = encrypted().await;
            assert_eq!(asked(&connection.line), (false, false));

            if farewell {
                client.get_mut().1.send_close_notify();
                client.flush().await.expect("room");
            } else {
                drop(client.into_inner());
            }
            arrived(&connection);

            assert!(asked(&connection.line).0);
        }
    }

    #[tokio::test]
    async fn request_that_is_found_while_the_peer_is_looked_for_is_not_lost() {
        let (mut connection, mut client) = encrypted().await;
        client.write_all(b"GET /").await.expect("room");
        client.flush().await.expect("room");
        arrived(&connection);

        assert_eq!(
            asked(&connection.line),
            (false, true),
            "whoever waits for the socket finds nothing there"
        );
        assert_eq!(asked(&connection.line), (false, false));
        let mut read = [0; 5];
        connection.read_exact(&mut read).await.expect("what was sent");
        assert_eq!(&read, b"GET /");
    }

    #[test]
    fn only_a_head_that_stands_alone_is_withheld() {
        let head = Head::default();
        let lone = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let pipelined = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]HTTP/1.1 200 OK\r\n\r\n";

        assert!(!head.takes(lone), "nobody asked for it");
        head.withhold.set(true);
        assert!(!head.takes(pipelined));
        assert!(!head.takes(lone), "the wish was for one answer only");
        head.withhold.set(true);
        assert!(head.takes(lone));
        assert_eq!(*head.withheld.borrow(), lone);
    }
}
