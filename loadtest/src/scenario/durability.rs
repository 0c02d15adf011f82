//! `durability`: the server is started, loaded with writes of several kinds, and killed at a random moment,
//! by SIGKILL or by an immediate stop of its PostgreSQL. After the restart it must hold everything with a 2xx
//! response exactly once, everything without a response at most once, and each collection completely or not
//! at all.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::Bench;
use crate::body::Kind;
use crate::cli::{Durability, Stop};
use crate::devices;
use crate::error::Error;
use crate::ledger::{Outcome, Watch};
use crate::object_kind::ObjectKind;
use crate::poster::{Poster, Responses};
use crate::random;
use crate::read_back::{DEVICES, read_back};
use crate::report::{Report, Round};
use crate::run::Run;
use crate::schedule::Schedule;
use crate::server_child::{ServerChild, run_command};

/// The posting time before the earliest kill.
const EARLIEST_END: Duration = Duration::from_secs(1);
/// The posting time after the kill, against a server that is down or starting.
const AFTERMATH: Duration = Duration::from_millis(1500);
/// The pause after a post without a response.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);
/// The seconds of the schedule of a round, which is always stopped before.
const LONGEST_ROUND: u64 = 86_400;
/// One measurement in this many is sent as a collection.
const COLLECTION_EVERY: u64 = 4;
const COLLECTION_ROWS: u32 = 10;

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Durability) -> Result<Report, Error> {
    let window = Instant::now();
    let mut server =
        ServerChild::start(&bench.target, &settings.server_command, &settings.server_log).await?;
    let mut rounds = Vec::new();
    let mut all_ids = Vec::new();
    for number in 1..=settings.rounds {
        let stop = settings.stop.in_round(number);
        let ids = Arc::new(devices::create(&bench.target, settings.devices as usize).await?);
        let (round, next) = play(bench, settings, server, number, stop, &ids).await?;
        server = next;
        eprintln!("{}", round.row());
        rounds.push(round);
        all_ids.extend(Arc::unwrap_or_clone(ids));
    }
    let devices_left = bench.remove_devices(all_ids).await;
    server.stop().await?;
    let clean = rounds.iter().all(Round::is_clean);
    let seconds = window.elapsed().as_secs_f64();
    Ok(Report { seconds, clean, rounds, devices_left, ..bench.report("durability", settings) })
}

/// Runs one round; returns the server that runs afterwards.
async fn play(
    bench: &Bench,
    settings: &Durability,
    server: ServerChild,
    number: u32,
    stop: Stop,
    ids: &Arc<Vec<String>>,
) -> Result<(Round, ServerChild), Error> {
    let run = Arc::new(Run::new(ids.len()));
    let receiver = run.add_receiver(Watch::All);
    let over = Arc::new(AtomicBool::new(false));
    let writers = tokio::spawn(write(
        Arc::clone(&run),
        Arc::clone(ids),
        bench.target.clone(),
        settings.clone(),
        Arc::clone(&over),
    ));
    let ends_after = random_moment(Duration::from_secs(settings.seconds));
    tokio::time::sleep(ends_after).await;

    let ended = Instant::now();
    let server = match stop {
        Stop::Kill => {
            server.kill().await?;
            None
        }
        Stop::Postgres => {
            match &settings.stop_command {
                Some(command) => run_command(command).await?,
                None => server.stop_private_postgres(&settings.data_dir)?,
            }
            Some(server)
        }
        Stop::Alternate => return Err(Error::Refused("a round ends one way".to_owned())),
    };
    tokio::time::sleep(AFTERMATH).await;
    if let (Stop::Postgres, Some(command)) = (stop, &settings.start_command) {
        run_command(command).await?;
    }
    // A server may end with its database; restarting it is its supervisor's task, which is done here.
    let mut server = match server.and_then(ServerChild::running) {
        Some(mut server) => {
            server.wait_until_ready(&bench.target).await?;
            server
        }
        None => restart(bench, settings).await?,
    };
    let ready_after = ended.elapsed();
    over.store(true, Ordering::Relaxed);
    let responses = writers.await.map_err(|error| Error::Refused(error.to_string()))?;

    server.wait_until_ready(&bench.target).await?;
    let kinds: Vec<Kind> = settings.kinds.iter().map(|written| written.kind()).collect();
    read_back(&bench.target, &run, receiver, &kinds, ids, DEVICES).await?;
    let round = Round {
        number,
        stop: stop.name(),
        ended_after_ms: ends_after.as_millis() as u64,
        ready_after_ms: ready_after.as_millis() as u64,
        refused: responses.refused(),
        by_status: responses.by_status,
        ledger: run.audit(),
    };
    Ok((round, server))
}

async fn restart(bench: &Bench, settings: &Durability) -> Result<ServerChild, Error> {
    let log: &Path = &settings.server_log;
    ServerChild::start(&bench.target, &settings.server_command, log).await
}

/// Writes at a fixed rate over many connections until it is stopped.
async fn write(
    run: Arc<Run>,
    ids: Arc<Vec<String>>,
    target: Arc<crate::target::Target>,
    settings: Durability,
    over: Arc<AtomicBool>,
) -> Responses {
    let schedule = Schedule::constant(run.now(), settings.rate, LONGEST_ROUND);
    let (sender, dues) = mpsc::unbounded_channel();
    let dues = Arc::new(Mutex::new((0, dues)));
    let mut writers = JoinSet::new();
    let headers: Arc<str> = target.quiet_post_headers().into();
    for _ in 0..settings.connections {
        let poster = Poster::new(&target, &run, u64::MAX).with(Kind::Alarm, &headers);
        let (dues, ids, kinds) = (Arc::clone(&dues), Arc::clone(&ids), settings.kinds.clone());
        writers.spawn(write_some(poster, dues, ids, kinds, Arc::clone(&over)));
    }
    let paced = Arc::clone(&run);
    let pacer = std::thread::spawn(move || schedule.pace(&paced, &[sender]));
    let mut responses = Responses::new();
    while let Some(Ok(writer)) = writers.join_next().await {
        responses.add(&writer);
    }
    drop(dues);
    pacer.join().ok();
    responses
}

type Dues = Arc<Mutex<(u64, mpsc::UnboundedReceiver<u64>)>>;

async fn write_some(
    mut poster: Poster,
    dues: Dues,
    ids: Arc<Vec<String>>,
    kinds: Vec<ObjectKind>,
    over: Arc<AtomicBool>,
) -> Responses {
    while !over.load(Ordering::Relaxed) {
        let index = {
            let mut dues = dues.lock().await;
            if dues.1.recv().await.is_none() {
                break;
            }
            dues.0 += 1;
            dues.0
        };
        let device = index as usize / kinds.len() % ids.len();
        let kind = kind(&kinds, index);
        let due = 0;
        if poster.post_one(kind, device as u32, &ids[device], due).await == Outcome::Unknown {
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
    }
    poster.responses
}

/// Returns the kinds in turn; some of the measurements in collections.
fn kind(kinds: &[ObjectKind], index: u64) -> Kind {
    let (turn, written) = (index / kinds.len() as u64, kinds[index as usize % kinds.len()]);
    match written.kind() {
        Kind::Measurement if turn % COLLECTION_EVERY == 0 => Kind::Measurements(COLLECTION_ROWS),
        kind => kind,
    }
}

/// Returns a random time of at least a second and at most `latest`, to the microsecond.
fn random_moment(latest: Duration) -> Duration {
    let span = latest.saturating_sub(EARLIEST_END).as_micros() as u64;
    EARLIEST_END + Duration::from_micros(random::below(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_take_turns_and_some_measurements_come_together() {
        let kinds = [ObjectKind::Alarm, ObjectKind::Event, ObjectKind::Measurement];
        let written: Vec<_> = (0..12).map(|index| kind(&kinds, index)).collect();
        assert_eq!(written[..3], [Kind::Alarm, Kind::Event, Kind::Measurements(COLLECTION_ROWS)]);
        assert_eq!(written[3..6], [Kind::Alarm, Kind::Event, Kind::Measurement]);
        let together = written.iter().filter(|kind| kind.rows() > 1).count();
        assert_eq!(together, 1);
    }

    #[test]
    fn moments_differ_and_lie_in_the_span() {
        let moments: Vec<_> = (0..20).map(|_| random_moment(Duration::from_secs(8))).collect();
        assert!(moments.iter().all(|moment| (EARLIEST_END..Duration::from_secs(8)).contains(moment)));
        assert!(moments.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
