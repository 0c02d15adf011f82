//! Workers are generators in other processes or on other machines. The generator of the command line registers devices,
//! causes the faults of servers, and judges; the workers connect the clients and post. All of them follow one schedule
//! by one clock, and their records are judged as if they were those of one generator.

mod protocol;
mod serve;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use self::protocol::{Assignment, FromWorker, Reader, ToWorker, VERSION, Writer, secret, split};
pub(crate) use self::serve::serve;
use super::generator::Share;
use super::posters::Posted;
use super::shared::Shared;
use crate::error::Error;

/// A worker that does not respond to a request within this time has another run, or is lost.
const RESPONSE_LIMIT: Duration = Duration::from_secs(10);
/// The time after which a run that has not begun shows its workers that it still needs them; it is much shorter than
/// the silence that they bear.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);
/// The number of comparisons of clocks; the fastest response counts.
const COMPARISONS: usize = 20;
/// The largest difference between clocks in microseconds with which latencies are meaningful.
const TOLERATED: u64 = 5_000;

/// The workers of a run and the file that they receive.
#[derive(Debug, Clone)]
pub(crate) struct Assignments {
    /// The addresses of the workers, as `host:port`.
    pub(crate) addresses: Vec<String>,
    /// The scenario file: its name and its text.
    pub(crate) file: (String, String),
}

/// The workers of a run.
#[derive(Debug)]
pub(super) struct Workers {
    all: Vec<Worker>,
    file: (String, String),
    _relay: JoinSet<()>,
}

/// A connected worker.
#[derive(Debug)]
struct Worker {
    address: String,
    sender: mpsc::UnboundedSender<ToWorker>,
    /// The messages of the worker except those of each second, and at the end the reason why it is lost.
    receiver: mpsc::UnboundedReceiver<Result<FromWorker, Error>>,
    /// The time of the worker's clock at the start of the run.
    began: i64,
    _tasks: JoinSet<()>,
}

/// A connection to a worker before the run.
#[derive(Debug)]
struct Connected {
    address: String,
    reader: Reader,
    writer: Writer,
}

/// Workers before the run. Tasks ask them for their clocks until it begins, because they drop clients that are silent.
#[derive(Debug)]
pub(super) struct ConnectedWorkers {
    all: Vec<JoinHandle<Result<Connected, Error>>>,
    begins: watch::Sender<()>,
    file: (String, String),
}

impl Workers {
    /// Connects to all workers.
    ///
    /// # Errors
    /// A worker does not respond, has another version or another secret; or it is on another machine although the run
    /// starts its own servers, which listen on this machine only.
    pub(super) async fn connect(
        assignments: Assignments,
        has_servers: bool,
    ) -> Result<ConnectedWorkers, Error> {
        let Assignments { addresses, file } = assignments;
        let all = try_join_all(addresses.into_iter().map(async |address| {
            let refused = |reason: String| Error::Refused(format!("worker {address}: {reason}"));
            let greeted = timeout(RESPONSE_LIMIT, Connected::to(&address, has_servers)).await;
            let busy = || refused("it does not respond; it may have another run".to_owned());
            greeted.map_err(|_| busy())?.map_err(|error| refused(error.to_string()))
        }));
        let (begins, _) = watch::channel(());
        let kept = |connected: Connected| tokio::spawn(connected.keep_until(begins.subscribe()));
        let all = all.await?.into_iter().map(kept).collect();
        Ok(ConnectedWorkers { all, begins, file })
    }

    /// Starts a phase at a time of the run.
    pub(super) fn play(&self, phase: usize, start: u64) {
        self.tell(|| ToWorker::Play { phase, start });
    }

    fn tell(&self, message: impl Fn() -> ToWorker) {
        // The loss of a worker is noticed when its next message is awaited.
        self.all.iter().for_each(|worker| drop(worker.sender.send(message())));
    }

    /// Waits until a worker is lost, and returns the reason.
    pub(super) async fn lost(&mut self) -> Error {
        let each = self.all.iter_mut().map(|worker| Box::pin(worker.next()));
        match futures_util::future::select_all(each).await.0 {
            Err(error) => error,
            Ok(message) => Error::Refused(format!("a worker sent an unexpected message: {message:?}")),
        }
    }

    /// Waits until all due posts are sent and nothing arrives any more. Adds the records of the workers to those of
    /// this process, and returns the posts of each phase.
    ///
    /// # Errors
    /// A worker is lost.
    pub(super) async fn finish(
        &mut self,
        shared: &Shared,
        quiet: Duration,
        limit: Duration,
    ) -> Result<Vec<Posted>, Error> {
        self.tell(|| ToWorker::Finish);
        let mut phases: Vec<Posted> = Vec::new();
        for worker in &mut self.all {
            let FromWorker::Posted(of_worker) = worker.next().await? else { return Err(worker.unexpected()) };
            phases.resize_with(of_worker.len().max(phases.len()), Posted::default);
            phases.iter_mut().zip(&of_worker).for_each(|(all, of_one)| all.add(of_one));
        }
        // No generator posts any more, so no notification is pending once nothing arrives.
        self.tell(|| ToWorker::Drain { quiet, limit });
        for worker in &mut self.all {
            let FromWorker::Recorded(records) = worker.next().await? else { return Err(worker.unexpected()) };
            records.add_to(shared);
        }
        Ok(phases)
    }
}

impl ConnectedWorkers {
    /// Tells all workers to connect their clients.
    ///
    /// # Errors
    /// A worker is lost, its clock cannot be compared, or its clients have no sessions.
    pub(super) async fn begin(self, shared: &Arc<Shared>) -> Result<Workers, Error> {
        let mut all = Vec::new();
        drop(self.begins);
        for kept in self.all {
            let mut connected = kept.await.map_err(std::io::Error::from)??;
            let began = connected.compare_clocks(shared).await?;
            all.push(connected.into_worker(shared, began));
        }
        let relay = relay_orders(shared, &all);
        let mut workers = Workers { all, file: self.file, _relay: relay };
        let of = workers.all.len();
        let world = serde_json::value::to_raw_value(&shared.world).map_err(std::io::Error::from)?;
        for (number, worker) in workers.all.iter().enumerate() {
            let assignment = Assignment {
                file: workers.file.clone(),
                share: Share { number, of },
                run: shared.run.id(),
                began: worker.began,
                servers: shared.targets.iter().map(|target| target.url()).collect(),
                world: world.clone(),
            };
            drop(worker.sender.send(ToWorker::Begin(Box::new(assignment))));
        }
        for worker in &mut workers.all {
            let FromWorker::Open = worker.next().await? else { return Err(worker.unexpected()) };
        }
        Ok(workers)
    }
}

/// Passes orders to clients on to all workers; each worker executes those to its own clients.
fn relay_orders(shared: &Shared, workers: &[Worker]) -> JoinSet<()> {
    let (sender, mut orders) = mpsc::unbounded_channel();
    shared.orders.relay_to(sender);
    let senders: Vec<_> = workers.iter().map(|worker| worker.sender.clone()).collect();
    let mut relay = JoinSet::new();
    relay.spawn(async move {
        while let Some((client, order)) = orders.recv().await {
            senders.iter().for_each(|sender| drop(sender.send(ToWorker::Order(client, order))));
        }
    });
    relay
}

impl Connected {
    async fn to(address: &str, has_servers: bool) -> Result<Self, Error> {
        let mut found = lookup_host(address).await?;
        let socket = found.next().ok_or_else(|| Error::Refused("the name has no address".to_owned()))?;
        if has_servers && !socket.ip().is_loopback() {
            return Err(Error::Refused(
                "it is on another machine, and the servers of this file listen on this one only; start servers and \
                 name one with --url"
                    .to_owned(),
            ));
        }
        let (reader, writer) = split(TcpStream::connect(socket).await?)?;
        let mut connected = Self { address: address.to_owned(), reader, writer };
        match connected.ask(&ToWorker::Hello { version: VERSION, secret: secret() }).await? {
            FromWorker::Hello => Ok(connected),
            FromWorker::Failed(reason) => Err(Error::Refused(reason)),
            _ => Err(Error::Refused("it does not introduce itself".to_owned())),
        }
    }

    /// Shows the worker that the run still needs it, until the run begins.
    ///
    /// # Errors
    /// The worker is lost.
    async fn keep_until(mut self, mut begins: watch::Receiver<()>) -> Result<Self, Error> {
        loop {
            tokio::select! {
                _ = begins.changed() => return Ok(self),
                () = sleep(SIGN_OF_LIFE) => {}
            }
            if let Err(error) = self.ask(&ToWorker::Clock).await {
                return Err(Error::Refused(format!("worker {}: it is gone: {error}", self.address)));
            }
        }
    }

    async fn ask(&mut self, message: &ToWorker) -> Result<FromWorker, Error> {
        self.writer.send(message).await?;
        self.reader.receive().await
    }

    /// Returns the time of the worker's clock at the start of the run.
    async fn compare_clocks(&mut self, shared: &Shared) -> Result<i64, Error> {
        let mut best: Option<(u64, i64)> = None;
        for _ in 0..COMPARISONS {
            let asked = shared.run.now();
            let FromWorker::Clock(theirs) = self.ask(&ToWorker::Clock).await? else {
                return Err(Error::Refused(format!("worker {}: it does not tell its clock", self.address)));
            };
            let took = shared.run.now() - asked;
            if best.is_none_or(|(soonest, _)| took < soonest) {
                best = Some((took, theirs as i64 - (asked + took / 2) as i64));
            }
        }
        let (took, began) = best.unwrap_or_default();
        if took / 2 > TOLERATED {
            return Err(Error::Refused(format!(
                "worker {}: its clock is known to {:.1} ms only, because its responses take {:.1} ms",
                self.address,
                took as f64 / 2000.0,
                took as f64 / 1000.0
            )));
        }
        shared.clock_error.fetch_max(took / 2, Ordering::Relaxed);
        Ok(began)
    }

    fn into_worker(self, shared: &Arc<Shared>, began: i64) -> Worker {
        let Self { address, mut reader, writer } = self;
        let (sender, messages) = mpsc::unbounded_channel();
        let (news, receiver) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(writer.send_all(messages));
        let shared = Arc::clone(shared);
        tasks.spawn(async move {
            let mut sessions = 0;
            loop {
                let received = reader.receive().await;
                if let Ok(FromWorker::Second(second, now)) = received {
                    shared.series.add(second);
                    // A decrease is added as a wrapping difference, so the sum of all workers is right.
                    let more = now.wrapping_sub(std::mem::replace(&mut sessions, now));
                    shared.sessions_elsewhere.fetch_add(more, Ordering::Relaxed);
                    continue;
                }
                let is_over = received.is_err();
                if news.send(received).is_err() || is_over {
                    return;
                }
            }
        });
        Worker { address, sender, receiver, began, _tasks: tasks }
    }
}

impl Worker {
    /// Returns the next message of the worker.
    ///
    /// # Errors
    /// The worker is lost, or cannot continue.
    async fn next(&mut self) -> Result<FromWorker, Error> {
        match self.receiver.recv().await {
            Some(Ok(FromWorker::Failed(reason))) => Err(self.refused(&reason)),
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) => Err(self.refused(&format!("it is gone: {error}"))),
            None => Err(self.refused("it is gone")),
        }
    }

    fn unexpected(&self) -> Error {
        self.refused("it sent an unexpected message")
    }

    fn refused(&self, reason: &str) -> Error {
        Error::Refused(format!("worker {}: {reason}", self.address))
    }
}
