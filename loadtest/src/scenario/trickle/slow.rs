//! Connections that are slow on purpose. Each reconnects when the server ends it, until all are ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cli::Trickle;
use crate::protocol::bayeux;
use crate::protocol::bayeux::long_polling;
use crate::report::Fact;
use crate::target::Target;

/// The longest time until all are open at once; a server that rejects some is measured as well.
const OPENING: Duration = Duration::from_secs(15);
/// The interval at which open connections are counted.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// The position of the status in a response.
const STATUS: std::ops::Range<usize> = 9..12;

/// The way in which a connection is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slow {
    /// It never sends anything.
    Silent,
    /// Head and body are sent byte by byte.
    Head,
    /// The head is sent at once, the body byte by byte.
    Body,
}

impl Slow {
    const ALL: [Self; 3] = [Self::Silent, Self::Head, Self::Body];

    /// Returns the name of its figures.
    fn label(self) -> &'static str {
        match self {
            Self::Silent => "nothing sent, ended by",
            Self::Head => "head byte by byte, by",
            Self::Body => "body byte by byte, by",
        }
    }

    /// Returns the part of the request that is sent at once, and the part that is sent byte by byte.
    fn split(self, request: &[u8]) -> (&[u8], &[u8]) {
        let head = memchr::memmem::find(request, b"\r\n\r\n").map_or(request.len(), |end| end + 4);
        match self {
            Self::Silent => (&[], &[]),
            Self::Head => (&[], request),
            Self::Body => request.split_at(head),
        }
    }
}

/// The numbers of endings, by the way in which the connections were slow.
type Endings = BTreeMap<Slow, BTreeMap<String, u64>>;

/// The state that all slow connections share.
#[derive(Debug)]
struct SlowState {
    target: Arc<Target>,
    request: Vec<u8>,
    every: Duration,
    open: AtomicUsize,
    endings: Mutex<Endings>,
    is_over: watch::Sender<bool>,
}

/// All slow connections; dropping it closes them.
#[derive(Debug)]
pub(super) struct SlowConnections {
    stage: Arc<SlowState>,
    connections: JoinSet<()>,
}

impl SlowConnections {
    /// Opens them, a third of each kind, and returns when all are open, or after a time limit.
    pub(super) async fn open(target: &Arc<Target>, settings: &Trickle) -> Self {
        let stage = Arc::new(SlowState {
            target: Arc::clone(target),
            request: target.post(bayeux::REALTIME, &long_polling::handshake()),
            every: Duration::from_millis(settings.every),
            open: AtomicUsize::new(0),
            endings: Mutex::default(),
            is_over: watch::Sender::new(false),
        });
        let mut connections = JoinSet::new();
        for (_, slow) in (0..settings.connections).zip(Slow::ALL.into_iter().cycle()) {
            connections.spawn(Arc::clone(&stage).come_again(slow));
        }
        let opened = Self { stage, connections };
        let latest = Instant::now() + OPENING;
        while opened.count() < settings.connections as usize && Instant::now() < latest {
            sleep(CHECK_INTERVAL).await;
        }
        opened
    }

    /// Returns how many are open now.
    pub(super) fn count(&self) -> usize {
        self.stage.open.load(Ordering::Relaxed)
    }

    /// Closes all, and returns how each ended, including earlier ones.
    pub(super) async fn end(mut self) -> Vec<Fact> {
        self.stage.is_over.send_replace(true);
        while self.connections.join_next().await.is_some() {}
        let endings = self.stage.endings.lock();
        endings.iter().map(|(slow, counts)| Fact::any(slow.label(), format!("{counts:?}"))).collect()
    }
}

impl SlowState {
    /// Runs one connection after the other.
    async fn come_again(self: Arc<Self>, slow: Slow) {
        let mut is_over = self.is_over.subscribe();
        let lives = async {
            loop {
                let ending = self.live(slow).await;
                self.count(slow, ending);
                // A server that rejects it is not called in a tight loop.
                sleep(self.every).await;
            }
        };
        tokio::select! {
            () = lives => {}
            _ = is_over.wait_for(|is_over| *is_over) => self.count(slow, "nobody".to_owned()),
        }
    }

    fn count(&self, slow: Slow, ending: String) {
        *self.endings.lock().entry(slow).or_default().entry(ending).or_default() += 1;
    }

    /// Runs a connection until the server ends it; returns the kind of ending.
    async fn live(&self, slow: Slow) -> String {
        let Ok(mut stream) = self.target.open_stream().await else { return "no connection".to_owned() };
        let _open = Open::count(&self.open);
        let (at_once, slowly) = slow.split(&self.request);
        if stream.write_all(at_once).await.is_err() {
            return "reset".to_owned();
        }
        let mut bytes = slowly.chunks(1);
        let mut answer = [0; STATUS.end];
        loop {
            match (timeout(self.every, stream.read_exact(&mut answer)).await, bytes.next()) {
                (Ok(Ok(_)), _) => return String::from_utf8_lossy(&answer[STATUS]).into_owned(),
                (Ok(Err(error)), _) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return "close".to_owned();
                }
                (Ok(Err(_)), _) => return "reset".to_owned(),
                (Err(_), Some(byte)) if stream.write_all(byte).await.is_err() => return "reset".to_owned(),
                (Err(_), _) => {}
            }
        }
    }
}

/// A counted open connection, until it is dropped.
struct Open<'a>(&'a AtomicUsize);

impl<'a> Open<'a> {
    fn count(open: &'a AtomicUsize) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::target::Reach;

    /// Creates slow connections to a server that reads this many bytes of each, and then responds.
    async fn stage(length: usize, answer: &'static [u8]) -> SlowState {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let serve = async |mut stream: TcpStream| {
                stream.read_exact(&mut vec![0; length]).await.unwrap();
                stream.write_all(answer).await.unwrap();
            };
            while let Ok((stream, _)) = listener.accept().await {
                serve(stream).await;
            }
        });
        SlowState {
            target: Arc::new(Target::resolve(&url, Reach::Loopback, "a", "b").unwrap()),
            request: b"POST / HTTP/1.1\r\n\r\n[]".to_vec(),
            every: Duration::from_millis(1),
            open: AtomicUsize::new(0),
            endings: Mutex::default(),
            is_over: watch::Sender::new(false),
        }
    }

    #[tokio::test]
    async fn response_of_the_server_ends_a_slow_connection() {
        let stage = stage(5, b"HTTP/1.1 408 Request Timeout\r\n\r\n").await;
        assert_eq!(stage.live(Slow::Head).await, "408");
        assert_eq!(stage.open.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn body_follows_its_head_byte_by_byte() {
        let stage = stage(b"POST / HTTP/1.1\r\n\r\n[]".len(), b"HTTP/1.1 200 OK\r\n\r\n").await;
        assert_eq!(stage.live(Slow::Body).await, "200");
    }

    #[tokio::test]
    async fn silent_connection_is_closed_without_a_response() {
        assert_eq!(stage(0, b"").await.live(Slow::Silent).await, "close");
    }

    #[tokio::test]
    async fn connection_that_the_server_does_not_end_is_reported_at_the_end() {
        let stage = Arc::new(stage(1, b"").await);
        let coming = tokio::spawn(Arc::clone(&stage).come_again(Slow::Silent));
        stage.is_over.send_replace(true);
        coming.await.unwrap();
        assert_eq!(stage.endings.lock()[&Slow::Silent], BTreeMap::from([("nobody".to_owned(), 1)]));
    }
}
