use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use actix_rt::net::TcpStream;
use platform_model::limits::Limits;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::connection::patience::Pace;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns whether the peer is gone, and whether the task that polls the connection was woken.
fn asked(handle: &ConnectionHandle) -> (bool, bool) {
    let woken = Arc::new(Woken::default());
    let gone = handle.peer_is_gone(&Context::from_waker(&Waker::from(woken.clone())));
    (gone, woken.0.load(Ordering::Relaxed) > 0)
}

/// Waits, without the event loop, until the operating system has bytes to read or reports the end.
fn arrived(connection: &Connection) {
    let stream = connection.0.stream();
    let tcp = match &*stream {
        Stream::Plain(tcp) => tcp,
        Stream::Tls(stream) => stream.get_ref().0.tcp(),
    };
    while SockRef::from(tcp).peek(&mut [MaybeUninit::uninit()]).is_err() {}
}

async fn encrypted() -> (Connection, tokio_rustls::client::TlsStream<TcpStream>) {
    encrypted_by(&Clock::new()).await
}

/// Creates a connection whose client must accept bytes within a second.
async fn encrypted_by(clock: &Rc<Clock>) -> (Connection, tokio_rustls::client::TlsStream<TcpStream>) {
    encrypted_because(clock, Why::Foreign).await
}

async fn encrypted_because(
    clock: &Rc<Clock>,
    why: Why,
) -> (Connection, tokio_rustls::client::TlsStream<TcpStream>) {
    let (server, client) = crate::tls::tests::connected().await;
    crate::connection::stream::bound_unsent(server.get_ref().0.tcp());
    let terms = Terms {
        clock: clock.clone(),
        stop: Arc::default(),
        unread_answer: Duration::from_secs(1),
        discards: Pace::of_discarded(&Limits::default()),
        takes_upgrades: |_| false,
    };
    (Connection::new(Stream::Tls(server), &[], why, Rc::new(terms)), client)
}

#[tokio::test]
async fn peer_that_says_farewell_or_hangs_up_is_gone_before_the_event_loop_knows() {
    for farewell in [true, false] {
        let (connection, mut client) = encrypted().await;
        assert_eq!(asked(connection.handle()), (false, false));

        if farewell {
            client.get_mut().1.send_close_notify();
            client.flush().await.expect("room");
        } else {
            drop(client.into_inner());
        }
        arrived(&connection);

        assert!(asked(connection.handle()).0);
    }
}

#[tokio::test]
async fn request_that_is_found_while_the_peer_is_looked_for_is_not_lost() {
    let (mut connection, mut client) = encrypted().await;
    client.write_all(REQUEST).await.expect("room");
    client.flush().await.expect("room");
    arrived(&connection);

    assert_eq!(asked(connection.handle()), (false, true), "whoever waits for the socket finds nothing there");
    assert_eq!(asked(connection.handle()), (false, false));
    let mut read = [0; REQUEST.len()];
    connection.read_exact(&mut read).await.expect("what was sent");
    assert_eq!(read, REQUEST);
}

#[tokio::test]
async fn connection_whose_request_is_late_passes_one_that_replaces_it() {
    let (mut connection, _client) = encrypted_because(&Clock::new(), Why::Late).await;

    let mut read = [0; 16];
    connection.read_exact(&mut read).await.expect("a request");

    assert_eq!(&read, b"GET /%replaced H");
    assert_eq!(connection.handle().flaw(), Some(Flaw::Slow));
}

/// Writes more than the operating system buffers, so much that a peer that takes 64 KiB in ten milliseconds needs two
/// seconds. Returns the result.
async fn written(connection: &mut Connection, clock: Rc<Clock>) -> io::Result<()> {
    let bytes = vec![0; 14 << 20];
    let writing = async {
        connection.write_all(&bytes).await?;
        connection.flush().await
    };
    tokio::select! {
        written = writing => written,
        () = clock.run(Arc::default()) => unreachable!("it goes on for ever"),
    }
}

#[tokio::test]
async fn peer_that_takes_nothing_for_too_long_is_gone() {
    let clock = Clock::new();
    let (mut connection, client) = encrypted_by(&clock).await;

    let written = written(&mut connection, clock).await;

    assert_eq!(written.expect_err("nobody reads").kind(), io::ErrorKind::TimedOut);
    drop(client);
}

#[tokio::test]
async fn peer_that_takes_what_is_written_slowly_is_waited_for() {
    let clock = Clock::new();
    let (mut connection, mut client) = encrypted_by(&clock).await;
    let reading = async {
        let mut room = vec![0; 64 << 10];
        while client.read(&mut room).await.is_ok_and(|count| count > 0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };

    tokio::select! {
        written = written(&mut connection, clock) => written.expect("somebody reads"),
        () = reading => panic!("nothing ends it"),
    }
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

#[test]
fn withheld_head_says_once_that_the_connection_closes() {
    let head = Head::default();
    head.say_close();
    assert!(head.withheld.borrow().is_empty(), "there is none");

    head.withhold.set(true);
    assert!(head.takes(b"HTTP/1.1 200 OK\r\na: b\r\n\r\n"));
    head.say_close();
    head.say_close();

    assert_eq!(*head.withheld.borrow(), b"HTTP/1.1 200 OK\r\na: b\r\nconnection: close\r\n\r\n");
}
