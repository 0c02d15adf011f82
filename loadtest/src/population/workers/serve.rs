//! Serves as a worker: waits for a run, executes a share of it, and waits for the next one.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use super::super::generator::Generator;
use super::super::plan::Plan;
use super::super::shared::Shared;
use super::super::world::World;
use super::protocol::{Assignment, FromWorker, Reader, SECRET, ToWorker, VERSION, secret, split};
use crate::cli::Common;
use crate::cli::interruption::interrupted;
use crate::error::Error;
use crate::ledger::run::Run;
use crate::ledger::session::TOPICS;
use crate::target::{self, Target};

/// Reads the plan from a scenario file; `None` if the file describes no devices.
pub(crate) type ReadPlan = fn(&Path, &str, &Common) -> Result<Option<Plan>, Error>;

/// The longest time until whoever connects has introduced itself, and the most bytes of that.
const GREETING_LIMIT: Duration = Duration::from_secs(5);
const LONGEST_GREETING: u32 = 4096;
/// The longest silence of a run that has not begun. An idle client would otherwise keep all runs out.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// The messages of a run that are received before those before them are processed.
const UNREAD: usize = 64;

/// Serves one run after the other, until Ctrl-C.
///
/// # Errors
/// The address is in use, or it is reachable from outside and the secret is missing.
pub(crate) async fn serve(listen: SocketAddr, common: &Common, read_plan: ReadPlan) -> Result<(), Error> {
    let secret = secret();
    if !listen.ip().is_loopback() && secret.is_empty() {
        return Err(Error::Refused(format!(
            "{listen}: everybody who reaches this address could load servers from here; set {SECRET} here and where \
             `run` is called, or listen on a loopback address"
        )));
    }
    let listener = TcpListener::bind(listen).await?;
    eprintln!("worker {} waits for runs", listener.local_addr()?);
    loop {
        let (stream, from) = tokio::select! {
            accepted = listener.accept() => accepted?,
            signal = interrupted() => return Ok(signal?),
        };
        tokio::select! {
            worked = work(stream, &secret, common, read_plan) => match worked {
                Ok(()) => eprintln!("the run of {from} is over"),
                Err(error) => eprintln!("the run of {from}: {error}"),
            },
            signal = interrupted() => return Ok(signal?),
        }
    }
}

/// Executes the share of one run.
async fn work(stream: TcpStream, secret: &str, common: &Common, read_plan: ReadPlan) -> Result<(), Error> {
    let clock = Instant::now();
    let (mut reader, mut writer) = split(stream)?;
    // The other side is unknown until it has sent the secret.
    let hello = timeout(GREETING_LIMIT, reader.receive_up_to(LONGEST_GREETING)).await;
    let hello = hello.map_err(|_| Error::Refused("it did not introduce itself in time".to_owned()))??;
    let greeting = match hello {
        ToWorker::Hello { version: VERSION, secret: theirs } if theirs == secret => FromWorker::Hello,
        ToWorker::Hello { version: VERSION, .. } => {
            FromWorker::Failed(format!("the secret is another one; set {SECRET}"))
        }
        ToWorker::Hello { version, .. } => {
            FromWorker::Failed(format!("it speaks version {VERSION}, not {version}; use the same program"))
        }
        _ => return Err(Error::Refused("it did not introduce itself".to_owned())),
    };
    writer.send(&greeting).await?;
    if let FromWorker::Failed(reason) = greeting {
        return Err(Error::Refused(reason));
    }
    let (news, messages) = mpsc::unbounded_channel();
    let mut writing = JoinSet::new();
    writing.spawn(writer.send_all(messages));
    let worked = follow(reader, &news, clock, common, read_plan).await;
    if let Err(error) = &worked {
        drop(news.send(FromWorker::Failed(error.to_string())));
    }
    drop(news);
    writing.join_next().await;
    worked
}

/// Responds with the clock until the run begins, and returns the share of this worker.
///
/// # Errors
/// The connection ended, or the run is silent for too long.
async fn assigned(
    reader: &mut Reader,
    news: &mpsc::UnboundedSender<FromWorker>,
    clock: Instant,
) -> Result<Box<Assignment>, Error> {
    loop {
        let received = timeout(SILENCE_LIMIT, reader.receive()).await;
        let silent = || Error::Refused("it did not begin its run and sent nothing".to_owned());
        match received.map_err(|_| silent())?? {
            ToWorker::Clock => drop(news.send(FromWorker::Clock(clock.elapsed().as_micros() as u64))),
            ToWorker::Begin(assignment) => return Ok(assignment),
            other => return Err(Error::Refused(format!("unexpected message before the run: {other:?}"))),
        }
    }
}

/// Executes the orders of the run until the records are sent.
async fn follow(
    mut reader: Reader,
    news: &mpsc::UnboundedSender<FromWorker>,
    clock: Instant,
    common: &Common,
    read_plan: ReadPlan,
) -> Result<(), Error> {
    let tell = |message| drop(news.send(message));
    let assignment = assigned(&mut reader, news, clock).await?;
    eprintln!(
        "share {} of {}: {}",
        assignment.share.number + 1,
        assignment.share.of,
        assignment.servers.join(", ")
    );
    let mut generator = tokio::select! {
        begun = begin(*assignment, clock, common, read_plan) => begun?,
        gone = reader.receive::<ToWorker>() => {
            let flooded = || Error::Refused("the run sent too many messages at once".to_owned());
            return Err(gone.err().unwrap_or_else(flooded));
        }
    };
    let shared = Arc::clone(generator.shared());
    tell(FromWorker::Open);
    let _seconds = report_seconds(&shared, news);
    let (mut orders, _reading) = received(reader);
    loop {
        match next(&mut orders).await? {
            ToWorker::Play { phase, start } => generator.play(phase, start)?,
            ToWorker::Order(client, order) => shared.orders.give(client, order),
            ToWorker::Finish => {
                let posted = unless_gone(&mut orders, &shared, generator.finish()).await?;
                tell(FromWorker::Posted(posted));
            }
            ToWorker::Drain { quiet, limit } => {
                unless_gone(&mut orders, &shared, shared.drain(quiet, limit)).await?;
                tell(FromWorker::Recorded(Box::new(generator.end().await)));
                return Ok(());
            }
            other => return Err(unexpected(&other)),
        }
    }
}

/// The messages of the run, in order, and the error that ends them.
type Received = mpsc::Receiver<Result<ToWorker, Error>>;

/// Receives messages while the worker does something else.
fn received(mut reader: Reader) -> (Received, JoinSet<()>) {
    let (sender, receiver) = mpsc::channel(UNREAD);
    let mut reading = JoinSet::new();
    reading.spawn(async move {
        loop {
            let message = reader.receive().await;
            let is_over = message.is_err();
            if sender.send(message).await.is_err() || is_over {
                return;
            }
        }
    });
    (receiver, reading)
}

async fn next(orders: &mut Received) -> Result<ToWorker, Error> {
    orders.recv().await.unwrap_or_else(|| Err(Error::Refused("the run is gone".to_owned())))
}

fn unexpected(message: &ToWorker) -> Error {
    Error::Refused(format!("unexpected message during the run: {message:?}"))
}

/// Waits for work of this worker, and executes orders meanwhile. A run that is gone removes its devices, so work for it
/// would wait for clients that never come back, and keep the next run out.
async fn unless_gone<T>(
    orders: &mut Received,
    shared: &Shared,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done),
            message = next(orders) => match message? {
                ToWorker::Order(client, order) => shared.orders.give(client, order),
                other => return Err(unexpected(&other)),
            }
        }
    }
}

/// Connects the clients of this worker.
async fn begin(
    assignment: Assignment,
    clock: Instant,
    common: &Common,
    read_plan: ReadPlan,
) -> Result<Generator, Error> {
    let Assignment { file: (name, text), share, run, began, servers, world } = assignment;
    if share.number >= share.of {
        return Err(Error::Refused(format!("invalid share {} of {}", share.number, share.of)));
    }
    let world: World = serde_json::from_str(world.get()).map_err(std::io::Error::from)?;
    let plan = read_plan(Path::new(&name), &text, common)?;
    let plan = &plan.ok_or_else(|| Error::Refused("the file describes no devices".to_owned()))?;
    target::expect_open_files(plan.clients().div_ceil(share.of))?;
    // Workers on one machine use different source addresses.
    let target = |url: &String| {
        Target::resolve(url, common.reach(), "", "").map(|it| it.starting_at_source(share.number))
    };
    let targets =
        servers.iter().map(target).collect::<Result<Vec<_>, _>>()?.into_iter().map(Arc::new).collect();
    let offset = Duration::from_micros(began.unsigned_abs());
    let started = if began < 0 { clock.checked_sub(offset) } else { clock.checked_add(offset) };
    let started = started.ok_or_else(|| Error::Refused(format!("{began} is not a time of this clock")))?;
    let run = Run::of(run, started, world.devices.len() * TOPICS as usize);
    let (shared, specs) = Shared::new(plan, run, world, targets, share);
    Generator::start(&shared, plan, share, specs, common.connecting).await
}

/// Sends the events of each second once a second.
fn report_seconds(shared: &Arc<Shared>, news: &mpsc::UnboundedSender<FromWorker>) -> JoinSet<()> {
    let (shared, news) = (Arc::clone(shared), news.clone());
    let mut reporting = JoinSet::new();
    reporting.spawn(async move {
        let mut ticks = interval(Duration::from_secs(1));
        loop {
            ticks.tick().await;
            if news.send(FromWorker::Second(shared.series.take(), shared.sessions())).is_err() {
                return;
            }
        }
    });
    reporting
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Program;

    /// Returns the error with which a worker ends its work for a client.
    async fn refusal(talk: impl AsyncFnOnce(&mut Reader, &mut super::super::protocol::Writer)) -> String {
        let common = Program::parse_from(["loadtest", "explain"]).common;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = async {
            let (mut reader, mut writer) = split(TcpStream::connect(address).await.unwrap()).unwrap();
            let hello = ToWorker::Hello { version: VERSION, secret: String::new() };
            writer.send(&hello).await.unwrap();
            let FromWorker::Hello = reader.receive().await.unwrap() else { panic!("no greeting") };
            talk(&mut reader, &mut writer).await;
            // The client stays connected until the worker ends the connection.
            while reader.receive::<FromWorker>().await.is_ok() {}
        };
        let worker = async {
            let (stream, _) = listener.accept().await.unwrap();
            work(stream, "", &common, |_, _, _| panic!("no run begins")).await.unwrap_err().to_string()
        };
        tokio::join!(worker, client).0
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_is_silent_before_its_run_is_dropped() {
        let begun = tokio::time::Instant::now();
        assert_eq!(refusal(async |_, _| {}).await, "it did not begin its run and sent nothing");
        assert_eq!(begun.elapsed().as_secs(), SILENCE_LIMIT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_asks_for_the_clock_is_kept() {
        let begun = tokio::time::Instant::now();
        let error = refusal(async |reader, writer| {
            for _ in 0..10 {
                tokio::time::sleep(SILENCE_LIMIT / 2).await;
                writer.send(&ToWorker::Clock).await.unwrap();
                let FromWorker::Clock(_) = reader.receive().await.unwrap() else { panic!("no clock") };
            }
        });
        assert_eq!(error.await, "it did not begin its run and sent nothing");
        assert_eq!(begun.elapsed().as_secs(), 6 * SILENCE_LIMIT.as_secs());
    }
}
