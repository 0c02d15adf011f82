//! `hosted`: how fast a file of a hosted application is served, alone or in turns with the same file at
//! another server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Bench;
use super::download::Downloader;
use crate::cli::Hosted;
use crate::devices::random;
use crate::error::Error;
use crate::ledger::latency::Latency;
use crate::ledger::latency::Times;
use crate::progress::Progress;
use crate::report::{Fact, Reads, Report};
use crate::target::Target;

const APPLICATIONS: &str = "/application/applications";
/// The name of the file in the archive.
const FILE: &str = "file.bin";
const INDEX: &str = "<!doctype html><title>loadtest</title>";

/// The location of the file, and the results of its downloads.
struct Source {
    kind: &'static str,
    target: Arc<Target>,
    request: Vec<u8>,
    latency: Times,
    by_status: BTreeMap<u16, u64>,
    /// The size of the last body in bytes.
    bytes: usize,
    /// The megabytes per second of each turn.
    turns: Vec<f64>,
    downloads: u64,
    seconds: f64,
}

/// Runs the scenario. It is clean when every download was complete.
pub(super) async fn run(bench: &Bench, settings: &Hosted) -> Result<Report, Error> {
    let content = noise(settings.file_bytes as usize);
    if let Some(path) = &settings.write_file {
        std::fs::write(path, &content)?;
    }
    let name = format!("loadtest-{}", random::text(12));
    let id = create(&bench.target, &name, &content).await?;
    let measured = measure(bench, settings, &name).await;
    if !bench.common.keep {
        remove(&bench.target, &id).await?;
    }
    measured
}

async fn measure(bench: &Bench, settings: &Hosted, name: &str) -> Result<Report, Error> {
    let mut sources = vec![Source::new("hosted", Arc::clone(&bench.target), &format!("/apps/{name}/{FILE}"))];
    if let Some(url) = &settings.against {
        sources.push(other_server(bench, url)?);
    }
    let window = bench.open_window();
    for turn in 0..settings.turns {
        // The order is reversed each time, so that none always follows the other.
        sources.reverse();
        for source in &mut sources {
            let rate = source.take_turn(settings).await?;
            eprintln!("turn {}: {} {rate:.0} MB/s", turn + 1, source.kind);
        }
    }
    let (seconds, cpu) = bench.close_window(&window);
    sources.sort_by_key(|source| source.kind != "hosted");
    let mut facts: Vec<Fact> = sources.iter().flat_map(|source| source.facts(settings)).collect();
    if let [own, other] = &sources[..] {
        let ratio = own.megabytes_per_second() / other.megabytes_per_second();
        facts.push(Fact::any("ratio", format!("{ratio:.2} of the other server's MB/s")));
    }
    let reads = sources.iter().map(Source::reads).collect();
    let clean = facts.iter().all(|fact| fact.holds);
    Ok(Report { seconds, clean, facts, reads, cpu: Some(cpu), ..bench.report("hosted", settings) })
}

/// Returns the source of the same file at another server.
fn other_server(bench: &Bench, url: &str) -> Result<Source, Error> {
    let path_at = url.strip_prefix("http://").and_then(|rest| rest.find('/')).map(|at| at + "http://".len());
    let at = path_at.ok_or_else(|| Error::Refused(format!("{url}: a URL with a path is needed")))?;
    let (base, path) = url.split_at(at);
    let target = Target::resolve(base, bench.common.reach(), &bench.common.user, &bench.common.password)?;
    Ok(Source::new("other server", Arc::new(target), path))
}

impl Source {
    fn new(kind: &'static str, target: Arc<Target>, path: &str) -> Self {
        Self {
            kind,
            request: target.get(path),
            target,
            latency: Times::default(),
            by_status: BTreeMap::new(),
            bytes: 0,
            turns: Vec::new(),
            downloads: 0,
            seconds: 0.0,
        }
    }

    /// Downloads on all connections for the seconds of a turn; returns megabytes per second.
    async fn take_turn(&mut self, settings: &Hosted) -> Result<f64, Error> {
        let started = Instant::now();
        let end = started + Duration::from_secs(settings.seconds);
        let mut connections = JoinSet::new();
        for _ in 0..settings.connections {
            connections.spawn(download_until(end, Arc::clone(&self.target), self.request.clone()));
        }
        Progress::pass(self.kind, end).await;
        let mut bytes = 0;
        while let Some(joined) = connections.join_next().await {
            let downloads = joined.map_err(std::io::Error::other)??;
            for downloaded in downloads {
                self.latency.record(downloaded.took);
                *self.by_status.entry(downloaded.status).or_default() += 1;
                self.bytes = downloaded.bytes;
                bytes += downloaded.bytes as u64;
                self.downloads += 1;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        self.seconds += seconds;
        let rate = bytes as f64 / 1e6 / seconds;
        self.turns.push(rate);
        Ok(rate)
    }

    fn megabytes_per_second(&self) -> f64 {
        self.turns.iter().sum::<f64>() / self.turns.len().max(1) as f64
    }

    fn facts(&self, settings: &Hosted) -> [Fact; 2] {
        let turns = self.turns.iter().map(|turn| format!("{turn:.0}")).collect::<Vec<_>>().join(" ");
        let rates = format!(
            "{:.1} downloads/s, {:.0} MB/s (turns: {turns})",
            self.downloads as f64 / self.seconds,
            self.megabytes_per_second()
        );
        let whole = if self.by_status.keys().all(|status| *status == 200) { self.bytes } else { 0 };
        [Fact::any(self.kind, rates), Fact::number("bytes of the file", whole, settings.file_bytes as usize)]
    }

    fn reads(&self) -> Reads {
        let latency = Latency::of(&self.latency);
        Reads { kind: self.kind, by_status: self.by_status.clone(), bytes: self.bytes, latency }
    }
}

async fn download_until(
    end: Instant,
    target: Arc<Target>,
    request: Vec<u8>,
) -> Result<Vec<super::download::Downloaded>, Error> {
    let mut downloader = Downloader::open(&target).await?;
    let mut downloads = Vec::new();
    while Instant::now() < end {
        downloads.push(downloader.download(&request).await?);
    }
    Ok(downloads)
}

/// Creates the application and uploads its archive; returns its id.
async fn create(target: &Target, name: &str, content: &[u8]) -> Result<String, Error> {
    let body = serde_json::json!({
        "name": name, "key": name, "type": "HOSTED", "contextPath": name, "resourcesUrl": "/"
    });
    let mut connection = target.connect().await?;
    let request = target.post(APPLICATIONS, &body.to_string());
    let id = connection.created("creating the application", &request).await?;
    let step = "uploading the archive";
    let archive = archive(&[("index.html", INDEX.as_bytes()), (FILE, content)]);
    let path = format!("{APPLICATIONS}/{id}/binaries");
    let response = connection.call(step, &target.post_archive(&path, &archive)).await?;
    match response.status {
        201 | 204 => Ok(id),
        status => Err(Error::status(step, status, response.body)),
    }
}

async fn remove(target: &Target, id: &str) -> Result<(), Error> {
    let request = target.delete(&format!("{APPLICATIONS}/{id}"));
    target.connect().await?.expect(204, "removing the application", &request).await.map(drop)
}

/// Returns bytes that cannot be compressed, the same in each run.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(1).fill(&mut bytes);
    bytes
}

/// Returns a zip archive of uncompressed files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let offset = bytes.len() as u32;
        let length = content.len() as u32;
        let mut common = [20_u16, 0, 0, 0, 0].map(u16::to_le_bytes).concat();
        common.extend([crc(content), length, length].map(u32::to_le_bytes).concat());
        common.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        list.extend([b"PK\x01\x02\x14\x00", &common[..]].concat());
        list.extend([0_u16; 3].map(u16::to_le_bytes).concat());
        list.extend([0, offset].map(u32::to_le_bytes).concat());
        list.extend(name.as_bytes());
    }
    let (size, start, count) = (list.len() as u32, bytes.len() as u32, files.len() as u16);
    bytes.extend(list);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].map(u16::to_le_bytes).concat());
    bytes.extend([size, start].map(u32::to_le_bytes).concat());
    bytes.extend([0, 0]);
    bytes
}

/// Returns the CRC-32 of zip archives.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_that_of_the_format() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn noise_is_the_same_in_each_run_and_has_no_rhythm() {
        let bytes = noise(100_000);
        let different: std::collections::HashSet<_> = bytes.windows(4).collect();
        assert!(bytes == noise(100_000) && different.len() > 99_000);
    }
}
