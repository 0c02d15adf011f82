//! Sessions with sockets: which connection receives the notifications.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::*;

/// A socket whose peer reads slowly or not at all.
pub(super) struct SlowSocket {
    received: Vec<String>,
    endings: Vec<&'static str>,
    /// How long a frame takes to write; `None` means for ever.
    pause: Option<Duration>,
}

impl SlowSocket {
    pub(super) fn that_reads() -> Addr<Self> {
        Self::that_takes(Some(Duration::ZERO))
    }

    /// A socket that takes the first frame and never finishes writing it.
    fn that_hangs() -> Addr<Self> {
        Self::that_takes(None)
    }

    fn that_takes(pause: Option<Duration>) -> Addr<Self> {
        Self { received: Vec::new(), endings: Vec::new(), pause }.start()
    }
}

impl Actor for SlowSocket {
    type Context = Context<Self>;
}

impl Handler<SocketMessage> for SlowSocket {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, message: SocketMessage, _: &mut Self::Context) -> Self::Result {
        match message {
            SocketMessage::Frame(frame) => {
                let notifications = frame.take();
                let texts = notifications.iter().map(|n| String::from_utf8_lossy(n.json()).into_owned());
                self.received.extend(texts);
                return self.after_the_pause(move || frame.written(notifications.len()));
            }
            SocketMessage::Ended(_) => self.endings.push("ended"),
            SocketMessage::Gone(_) => self.endings.push("gone"),
            SocketMessage::Leave => self.endings.push("leave"),
        }
        self.after_the_pause(|| ())
    }
}

impl SlowSocket {
    /// Like a WebSocket whose connection is blocked, it handles no further message during the pause.
    fn after_the_pause(&self, written: impl FnOnce() + 'static) -> AtomicResponse<Self, ()> {
        let pause = self.pause;
        let pausing = async move {
            match pause {
                Some(Duration::ZERO) => {}
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
            written();
        };
        AtomicResponse::new(Box::pin(actix::fut::wrap_future(pausing)))
    }
}

#[derive(Message)]
#[rtype(result = "(Vec<String>, Vec<&'static str>)")]
struct Received;

impl Handler<Received> for SlowSocket {
    type Result = MessageResult<Received>;

    fn handle(&mut self, _: Received, _: &mut Self::Context) -> Self::Result {
        MessageResult((self.received.clone(), self.endings.clone()))
    }
}

pub(super) async fn received(socket: &Addr<SlowSocket>) -> Vec<String> {
    settle().await;
    socket.send(Received).await.expect("the socket lives").0
}

async fn endings(socket: &Addr<SlowSocket>) -> Vec<&'static str> {
    settle().await;
    socket.send(Received).await.expect("the socket lives").1
}

/// A connection of the session's thread that takes a number of frames.
pub(super) struct Connection {
    room: Cell<usize>,
    frames: RefCell<Vec<u8>>,
}

impl Connection {
    pub(super) fn that_takes(frames: usize) -> Rc<Self> {
        Rc::new(Self { room: Cell::new(frames), frames: RefCell::default() })
    }

    fn frames(&self) -> String {
        String::from_utf8_lossy(&self.frames.borrow()).into_owned()
    }
}

impl FrameWriter for Connection {
    fn write(&self, frame: &[u8]) -> bool {
        let Some(room) = self.room.get().checked_sub(1) else { return false };
        self.room.set(room);
        self.frames.borrow_mut().extend_from_slice(frame);
        true
    }
}

fn heartbeat(bench: &Bench) -> oneshot::Receiver<ConnectResponse> {
    bench.connect_with(|connect| connect.carries = ResponseContent::Heartbeat)
}

#[actix::test]
async fn frames_wait_for_a_peer_that_does_not_read_and_go_to_the_next_socket_once() {
    let bench = start(Limits { queued_notifications: 10, ..Limits::default() });
    let (hanging, next) = (SlowSocket::that_hangs(), SlowSocket::that_reads());
    bench.attach(&hanging).await;
    (0..4).for_each(|n| bench.notify(&n.to_string()));
    settle().await;

    bench.attach(&next).await;

    // The first notification was in the hands of the connection; the frame behind it was not.
    assert_eq!(received(&next).await, ["1", "2", "3"]);
}

#[actix::test]
async fn long_poll_takes_over_from_an_older_socket() {
    let bench = start(Limits::default());
    let hanging = SlowSocket::that_hangs();
    bench.attach(&hanging).await;
    let _heartbeat = heartbeat(&bench);
    (0..3).for_each(|n| bench.notify(&n.to_string()));
    settle().await;

    let first = bench.connect().await.expect("a response");
    let second = bench.connect();
    bench.notify("3");

    assert_eq!(texts(&first), ["1", "2"]);
    assert_eq!(texts(&second.await.expect("a response")), ["3"]);
}

#[actix::test]
async fn open_socket_does_not_keep_a_session_alive_whose_client_connects_no_more() {
    let bench = start(Limits::default());
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;
    pass(Duration::from_secs(10)).await;
    let within_the_interval = bench.lives();

    pass(Duration::from_secs(1)).await;

    assert!(within_the_interval && !bench.lives());
    assert_eq!(endings(&socket).await, ["gone"]);
}

#[actix::test]
async fn connect_over_a_socket_keeps_the_session_alive() {
    let bench = start(Limits::default());
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;
    let _heartbeat = heartbeat(&bench);
    pass(Duration::from_secs(1000)).await;

    bench.notify("1");

    assert_eq!(received(&socket).await, ["1"]);
}

#[actix::test]
async fn closed_socket_starts_the_sessions_time() {
    let bench = start(Limits::default());
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;
    drop(heartbeat(&bench));
    bench.session.do_send(Abandoned { unwritten: None });
    pass(Duration::from_secs(5)).await;

    bench.session.do_send(SocketClosed { socket: socket.recipient() });

    pass(Duration::from_secs(10)).await;
    assert!(bench.lives());
    pass(Duration::from_secs(1)).await;
    assert!(!bench.lives());
}

#[actix::test]
async fn session_that_acknowledges_is_served_by_connect_replies_over_a_socket_too() {
    let bench = start_acknowledging();
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;
    let first = heartbeat(&bench);

    bench.notify("1");

    let first = first.await.expect("a response");
    assert_eq!((texts(&first), first.delivery.batch), (vec!["1"], Some(1)));
    assert!(received(&socket).await.is_empty(), "no frame of its own");
}

#[actix::test]
async fn unacknowledged_batch_of_a_long_poll_comes_with_the_next_connect_over_a_socket() {
    let bench = start_acknowledging();
    bench.notify("1");
    let lost = bench.connect().await.expect("a response");
    bench.attach(&SlowSocket::that_reads()).await;

    let again = bench.connect_with(|connect| {
        (connect.carries, connect.acknowledged) =
            (ResponseContent::Heartbeat, Some(AcknowledgedTo::Batch(0)));
    });

    assert_eq!((texts(&lost), texts(&again.await.expect("a response"))), (vec!["1"], vec!["1"]));
}

#[actix::test]
async fn disconnect_ends_the_connect_and_leaves_the_socket_open() {
    let bench = start(Limits::default());
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;
    let heartbeat = heartbeat(&bench);

    assert!(bench.session.send(Disconnect { user: USER.into() }).await.expect("the session lives"));

    let answer = heartbeat.await.expect("a response");
    assert!(answer.error.is_none() && answer.advice.is_none());
    assert_eq!(endings(&socket).await, ["ended"]);
}

#[actix::test]
async fn stopping_server_responds_to_the_connect_before_its_socket_closes() {
    let bench = start(Limits::default());
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;
    let heartbeat = heartbeat(&bench);

    bench.session.do_send(Release { interval: Duration::from_secs(3) });

    assert!(heartbeat.await.expect("a response").advice.is_some());
    assert_eq!(endings(&socket).await, ["leave"]);
}

#[actix::test]
async fn session_lives_while_a_backlog_is_written_to_its_socket_and_its_interval_after_that() {
    let bench = start(Limits::default());
    // Each notification fills a frame of its own.
    (0..4).for_each(|n| bench.notify(&n.to_string().repeat(70_000)));
    let socket = SlowSocket::that_takes(Some(Duration::from_secs(8)));

    bench.attach(&socket).await;
    for _ in 0..4 {
        pass(Duration::from_secs(9)).await;
    }
    let while_it_is_written = bench.lives();
    pass(Duration::from_secs(10)).await;
    let within_the_interval = bench.lives();
    pass(Duration::from_secs(1)).await;

    assert_eq!((while_it_is_written, within_the_interval, bench.lives()), (true, true, false));
    assert_eq!(received(&socket).await.len(), 4);
}

#[actix::test]
async fn socket_stays_open_for_the_next_session_when_its_session_ends() {
    let bench = start(Limits::default());
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;
    let aside = || SetSocketAside { socket: socket.clone().recipient() };

    assert!(bench.session.send(aside()).await.expect("the session lives"), "it holds no connect");
    bench.notify("1");
    assert!(received(&socket).await.is_empty());
    bench.attach(&socket).await;
    assert_eq!(received(&socket).await, ["1"], "its client came back");

    let _heartbeat = heartbeat(&bench);
    assert!(!bench.session.send(aside()).await.expect("the session lives"), "its client waits there");
}

#[actix::test]
async fn frame_goes_to_the_connection_of_the_same_thread_and_to_the_actor_when_the_connection_is_busy() {
    let bench = start(Limits::default());
    let (socket, connection) = (SlowSocket::that_reads(), Connection::that_takes(2));
    let registration = FrameWriterRegistration::new(connection.clone());
    bench.attach_with(&socket, registration.key()).await;

    for n in 0..4 {
        bench.notify(&n.to_string());
        settle().await;
    }

    assert_eq!(connection.frames(), "\u{fffd}\u{3}[0]\u{fffd}\u{3}[1]");
    assert_eq!(received(&socket).await, ["2", "3"]);
}

#[actix::test]
async fn connection_that_can_write_again_gets_no_notification_before_those_that_its_actor_holds() {
    let bench = start(Limits::default());
    let (socket, connection) = (SlowSocket::that_hangs(), Connection::that_takes(0));
    let registration = FrameWriterRegistration::new(connection.clone());
    bench.attach_with(&socket, registration.key()).await;
    bench.notify("1");
    settle().await;

    connection.room.set(5);
    bench.notify("2");
    settle().await;

    assert_eq!(connection.frames(), "");
    let next = SlowSocket::that_reads();
    bench.attach(&next).await;
    assert_eq!(received(&next).await, ["2"]);
}

#[actix::test]
async fn closed_connection_gets_nothing_even_if_its_session_still_has_its_key() {
    let bench = start(Limits::default());
    let (socket, connection) = (SlowSocket::that_reads(), Connection::that_takes(5));
    let registration = FrameWriterRegistration::new(connection.clone());
    bench.attach_with(&socket, registration.key()).await;

    drop(registration);
    let _other = FrameWriterRegistration::new(connection.clone());
    bench.notify("1");

    assert_eq!(received(&socket).await, ["1"]);
    assert_eq!(connection.frames(), "");
}

#[actix::test]
async fn session_that_acknowledges_uses_no_direct_writes() {
    let (bench, connection) = (start_acknowledging(), Connection::that_takes(5));
    let registration = FrameWriterRegistration::new(connection.clone());
    bench.attach_with(&SlowSocket::that_reads(), registration.key()).await;
    let answer = heartbeat(&bench);

    bench.notify("1");

    assert_eq!(texts(&answer.await.expect("a response")), ["1"]);
    assert_eq!(connection.frames(), "");
}

#[actix::test]
async fn large_notification_is_written_by_the_actor() {
    let (bench, connection) = (start(Limits::default()), Connection::that_takes(5));
    let (socket, registration) = (SlowSocket::that_reads(), FrameWriterRegistration::new(connection.clone()));
    bench.attach_with(&socket, registration.key()).await;

    bench.notify(&"1".repeat(20 << 10));

    assert_eq!(received(&socket).await.len(), 1);
    assert_eq!(connection.frames(), "");
}
