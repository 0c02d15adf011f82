//! Connections that are slow on purpose. Whatever the server does about one, it comes again, until all end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::bayeux;
use crate::cli::Trickle;
use crate::long_polling;
use crate::report::Fact;
use crate::target::Target;

/// How long it may take until all are open at once; a server that refuses some is measured as well.
const OPENING: Duration = Duration::from_secs(15);
/// Time between two looks at how many are.
const GLANCE: Duration = Duration::from_millis(20);
/// Where the status stands in an answer.
const STATUS: std::ops::Range<usize> = 9..12;

/// In what a connection is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slow {
    /// It never says anything.
    Silent,
    /// Head and body come byte by byte.
    Head,
    /// The head comes at once, the body byte by byte.
    Body,
}

impl Slow {
    const ALL: [Self; 3] = [Self::Silent, Self::Head, Self::Body];

    /// What the figures are about.
    fn told_as(self) -> &'static str {
        match self {
            Self::Silent => "nothing sent, ended by",
            Self::Head => "head byte by byte, by",
            Self::Body => "body byte by byte, by",
        }
    }

    /// The request as it goes at once, and as it goes byte by byte.
    fn split(self, request: &[u8]) -> (&[u8], &[u8]) {
        let head = memchr::memmem::find(request, b"\r\n\r\n").map_or(request.len(), |end| end + 4);
        match self {
            Self::Silent => (&[], &[]),
            Self::Head => (&[], request),
            Self::Body => request.split_at(head),
        }
    }
}

/// How connections ended, and how often, by what they were slow in.
type Endings = BTreeMap<Slow, BTreeMap<String, u64>>;

/// What all slow connections share.
#[derive(Debug)]
struct Stage {
    target: Arc<Target>,
    request: Vec<u8>,
    every: Duration,
    open: AtomicUsize,
    endings: Mutex<Endings>,
    is_over: watch::Sender<bool>,
}

/// All of them; dropping it closes them.
#[derive(Debug)]
pub(super) struct SlowConnections {
    stage: Arc<Stage>,
    connections: JoinSet<()>,
}

impl SlowConnections {
    /// Opens them, a third of each kind, and returns when all are open, or some are not after a while.
    pub(super) async fn open(target: &Arc<Target>, settings: &Trickle) -> Self {
        let stage = Arc::new(Stage {
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
            sleep(GLANCE).await;
        }
        opened
    }

    /// How many are open now.
    pub(super) fn count(&self) -> usize {
        self.stage.open.load(Ordering::Relaxed)
    }

    /// Closes all, and tells how each ended, and those before it.
    pub(super) async fn end(mut self) -> Vec<Fact> {
        self.stage.is_over.send_replace(true);
        while self.connections.join_next().await.is_some() {}
        let endings = self.stage.endings();
        endings.iter().map(|(slow, counts)| Fact::told(slow.told_as(), format!("{counts:?}"))).collect()
    }
}

impl Stage {
    fn endings(&self) -> MutexGuard<'_, Endings> {
        self.endings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One connection after the other.
    async fn come_again(self: Arc<Self>, slow: Slow) {
        let mut is_over = self.is_over.subscribe();
        let lives = async {
            loop {
                let ending = self.live(slow).await;
                self.count(slow, ending);
                // A server that turns it away is not asked in a loop.
                sleep(self.every).await;
            }
        };
        tokio::select! {
            () = lives => {}
            _ = is_over.wait_for(|is_over| *is_over) => self.count(slow, "nobody".to_owned()),
        }
    }

    fn count(&self, slow: Slow, ending: String) {
        *self.endings().entry(slow).or_default().entry(ending).or_default() += 1;
    }

    /// One connection until the server ends it; tells by what.
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

/// One more is open while this lives.
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

    /// Slow connections against a server that reads so many bytes of each, and then answers.
    async fn stage(length: usize, answer: &'static [u8]) -> Stage {
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
        Stage {
            target: Arc::new(Target::resolve(&url, Reach::Loopback, "a", "b").unwrap()),
            request: b"POST / HTTP/1.1\r\n\r\n[]".to_vec(),
            every: Duration::from_millis(1),
            open: AtomicUsize::new(0),
            endings: Mutex::default(),
            is_over: watch::Sender::new(false),
        }
    }

    #[tokio::test]
    async fn answer_of_the_server_ends_a_slow_connection() {
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
    async fn silent_connection_is_closed_without_a_word() {
        assert_eq!(stage(0, b"").await.live(Slow::Silent).await, "close");
    }

    #[tokio::test]
    async fn connection_that_nobody_ends_is_told_of_when_all_end() {
        let stage = Arc::new(stage(1, b"").await);
        let coming = tokio::spawn(Arc::clone(&stage).come_again(Slow::Silent));
        stage.is_over.send_replace(true);
        coming.await.unwrap();
        assert_eq!(stage.endings()[&Slow::Silent], BTreeMap::from([("nobody".to_owned(), 1)]));
    }
}
