//! Samples servers, PostgreSQL, clients and the generator once a second.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use super::live::Live;
use crate::population::Observer;
use crate::population::series::{Second, quantile};
use crate::target::process::Process;

const INTERVAL: Duration = Duration::from_secs(1);
/// Expensive values are read only once in this many samples: the memory of all processes of PostgreSQL, files, the size
/// of the database.
const SELDOM: u64 = 10;
/// Where no bar shows the progress, each fifth sample is a line on standard error.
const SHOWN_EVERY: u64 = 5;
/// The largest number of points of which all pairs are compared.
const MOST_POINTS: usize = 600;

/// The state in one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// The seconds since the start of the run.
    pub(super) at: f64,
    /// The known values: memory and sizes in bytes, CPU in percent of a core, counts of the second, latencies in
    /// milliseconds.
    #[serde(flatten)]
    pub(super) values: BTreeMap<String, f64>,
}

impl Sample {
    /// Returns a value, if it is known.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    fn set(&mut self, name: &str, value: Option<f64>) {
        self.values.extend(value.map(|value| (name.to_owned(), value)));
    }
}

/// Takes samples until it is stopped.
#[derive(Debug)]
pub(super) struct Sampler {
    samples: Arc<Mutex<Vec<Sample>>>,
    task: JoinHandle<()>,
}

impl Sampler {
    /// Starts sampling the server and the population, if present.
    pub(super) fn start(
        started: Instant,
        server: Option<Process>,
        observer: Option<Observer>,
        live: Arc<Live>,
    ) -> Self {
        let samples = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&samples);
        let task = tokio::spawn(async move {
            let mut look = Look::new(server, observer).await;
            let mut ticks = tokio::time::interval(INTERVAL);
            ticks.tick().await;
            loop {
                ticks.tick().await;
                let (sample, events) = look.take(started).await;
                live.add(&sample, events.as_ref());
                if look.count.is_multiple_of(SHOWN_EVERY) && !std::io::stderr().is_terminal() {
                    line(&sample, live.p99s()).iter().for_each(|line| eprintln!("{line}"));
                }
                taken.lock().push(sample);
            }
        });
        Self { samples, task }
    }

    /// Stops sampling and returns all samples.
    pub(super) fn stop(self) -> Vec<Sample> {
        self.task.abort();
        std::mem::take(&mut *self.samples.lock())
    }
}

/// The state of the sampler task.
struct Look {
    server: Option<Process>,
    observer: Option<Observer>,
    database: Option<Client>,
    postgres: Vec<Process>,
    /// The CPU seconds of each process at the last sample.
    cpu: HashMap<Process, f64>,
    looked: Instant,
    count: u64,
}

impl Look {
    async fn new(server: Option<Process>, observer: Option<Observer>) -> Self {
        let url = observer.as_ref().and_then(|observer| observer.database_url.clone());
        let database = match url {
            Some(url) => tokio_postgres::connect(&url, NoTls).await.ok().map(|(client, connection)| {
                tokio::spawn(connection);
                client
            }),
            None => None,
        };
        let (cpu, looked) = (HashMap::new(), Instant::now());
        Self { server, observer, database, postgres: Vec::new(), cpu, looked, count: 0 }
    }

    async fn take(&mut self, started: Instant) -> (Sample, Option<Second>) {
        let mut sample = Sample { at: started.elapsed().as_secs_f64(), ..Sample::default() };
        let servers = match self.observer.as_ref().and_then(Observer::servers) {
            Some(servers) => servers,
            None => self.server.into_iter().collect(),
        };
        let is_seldom = self.count.is_multiple_of(SELDOM);
        self.count += 1;
        let sum = |read: &dyn Fn(Process) -> Option<u64>, of: &[Process]| {
            let all: Vec<u64> = of.iter().filter_map(|process| read(*process)).collect();
            (!all.is_empty()).then(|| all.iter().sum::<u64>() as f64)
        };
        sample.set("server_memory", sum(&Process::memory, &servers));
        if is_seldom {
            let keeper = self.observer.as_ref().and_then(Observer::keeper);
            let roots: Vec<Process> = servers.iter().copied().chain(keeper).collect();
            self.postgres = Process::postgres_below(&roots);
            sample.set("postgres_memory", sum(&Process::memory, &self.postgres));
            sample.set("server_files", sum(&Process::open_files, &servers));
            sample.set("database_size", self.database_size().await);
        }
        self.cpu(&mut sample, &servers);
        let events = self.population(&mut sample);
        (sample, events)
    }

    async fn database_size(&self) -> Option<f64> {
        let query = "SELECT pg_database_size(current_database())";
        let row = self.database.as_ref()?.query_one(query, &[]).await.ok()?;
        Some(row.get::<_, i64>(0) as f64)
    }

    fn cpu(&mut self, sample: &mut Sample, servers: &[Process]) {
        let seconds = self.looked.elapsed().as_secs_f64();
        self.looked = Instant::now();
        let postgres = std::mem::take(&mut self.postgres);
        for (name, processes) in [
            ("server_cpu_percent", servers),
            ("postgres_cpu_percent", &postgres),
            ("generator_cpu_percent", &[Process::own()]),
        ] {
            let mut used = None;
            for process in processes {
                let Some(now) = process.cpu_seconds() else { continue };
                if let Some(before) = self.cpu.insert(*process, now) {
                    *used.get_or_insert(0.0) += now - before;
                }
            }
            sample.set(name, used.map(|used| 100.0 * used / seconds));
        }
        self.postgres = postgres;
    }

    fn population(&self, sample: &mut Sample) -> Option<Second> {
        let observer = self.observer.as_ref()?;
        let second = observer.second();
        for (name, count) in [
            ("posts", second.posted.len() as u64),
            ("failed", second.failed),
            ("notified", second.notified.len() as u64),
            ("reconnects", second.reconnects),
            ("sessions", observer.sessions() as u64),
        ] {
            sample.set(name, Some(count as f64));
        }
        for (name, times, q) in [
            ("notified_p50_ms", &second.notified, 0.5),
            ("notified_p99_ms", &second.notified, 0.99),
            ("notified_max_ms", &second.notified, 1.0),
            ("posts_p50_ms", &second.posted, 0.5),
            ("posts_p99_ms", &second.posted, 0.99),
        ] {
            sample.set(name, quantile(times, q));
        }
        Some(second)
    }
}

/// Returns how it goes, for people who watch the log of a run; `None` without groups of devices.
fn line(sample: &Sample, so_far: [Option<f64>; 2]) -> Option<String> {
    let count = |name| sample.value(name).unwrap_or_default();
    let posts = sample.value("posts")?;
    let mut line = format!(
        "{:>7.1} s: {posts:.0} posts/s, {:.0} failed, {:.0} notified/s",
        sample.at,
        count("failed"),
        count("notified")
    );
    line += &format!(", {:.0} sessions", count("sessions"));
    for (what, p99) in ["notified", "posts"].into_iter().zip(so_far) {
        line += &p99.map_or(String::new(), |p99| format!(", p99 of {what} so far {p99:.0} ms"));
    }
    Some(line)
}

/// Returns the growth of a value per second: the median of the slopes between all pairs of samples.
pub(super) fn slope(samples: &[Sample], name: &str) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        samples.iter().filter_map(|sample| Some((sample.at, sample.value(name)?))).collect();
    let points: Vec<(f64, f64)> =
        known.iter().step_by(known.len().div_ceil(MOST_POINTS).max(1)).copied().collect();
    let mut slopes = Vec::new();
    for (number, (from, before)) in points.iter().enumerate() {
        slopes.extend(points[number + 1..].iter().map(|(to, after)| (after - before) / (to - from)));
    }
    median(&mut slopes)
}

/// Returns the median.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_says_how_it_goes() {
        let mut sample = Sample { at: 12.04, ..Sample::default() };
        assert_eq!(line(&sample, [None; 2]), None);
        for (name, value) in [("posts", 300.0), ("failed", 2.0), ("notified", 600.0), ("sessions", 730.0)] {
            sample.set(name, Some(value));
        }
        assert_eq!(
            line(&sample, [Some(12.4), Some(5.0)]).unwrap(),
            "   12.0 s: 300 posts/s, 2 failed, 600 notified/s, 730 sessions, p99 of notified so far 12 ms, p99 of \
            posts so \
             far 5 ms"
        );
    }

    #[test]
    fn slope_is_that_of_most_pairs() {
        let samples: Vec<Sample> = (0..2000)
            .map(|second| {
                let peak = if second == 700 { 1e9 } else { 0.0 };
                let mut sample = Sample { at: f64::from(second), ..Sample::default() };
                sample.set("x", Some(5.0 + 3.0 * f64::from(second) + peak));
                sample
            })
            .collect();
        assert!((slope(&samples, "x").unwrap() - 3.0).abs() < 1e-9);
        assert_eq!((slope(&samples[..1], "x"), slope(&samples, "y")), (None, None));
    }
}
