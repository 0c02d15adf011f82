//! `service`: the additional cost of calling a microservice through the platform. The generator plays the
//! microservice, and sends the same requests to it directly and through `/service/…`, in turns.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Bench;
use crate::cli::Service;
use crate::error::Error;
use crate::ledger::latency::Latency;
use crate::ledger::latency::Times;
use crate::ledger::run::Run;
use crate::report::{Fact, Reads, Report};
use crate::target::connection::Connection;
use crate::target::{Reach, Target};
use crate::traffic::schedule::Schedule;

/// The time between the start of a schedule and its first request, in microseconds.
const LEAD: u64 = 50_000;
/// The longest time until the route leads to the generator.
const ROUTED: Duration = Duration::from_secs(120);
/// The response of the microservice.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

/// One of the two paths to the microservice.
#[derive(Debug)]
struct CallPath {
    kind: &'static str,
    target: Arc<Target>,
    path: String,
    heard: CallResults,
}

/// The responses; latency is measured from the due time to the response.
#[derive(Debug, Default)]
struct CallResults {
    by_status: BTreeMap<u16, u64>,
    broken: u64,
    latency: Times,
}

impl CallResults {
    fn add(&mut self, other: &Self) {
        for (status, count) in &other.by_status {
            *self.by_status.entry(*status).or_default() += count;
        }
        self.broken += other.broken;
        self.latency.add(&other.latency);
    }
}

/// Runs the scenario. It is clean when all responses are 200, and the path through the platform is within its
/// limit.
pub(super) async fn run(bench: &Bench, settings: &Service) -> Result<Report, Error> {
    serve(settings.listen)?;
    let path = format!("/service/{}/hello", settings.application);
    create(bench, &settings.application).await?;
    lead_here(bench, settings, &path).await?;
    let direct = Target::resolve(&format!("http://{}", settings.listen), Reach::Loopback, "nobody", "")?;
    let way = |kind, target, path| CallPath { kind, target, path, heard: CallResults::default() };
    let mut ways = [
        way("direct", Arc::new(direct), "/hello".to_owned()),
        way("through the platform", Arc::clone(&bench.target), path),
    ];
    let window = bench.open_window();
    for _ in 0..settings.turns {
        for way in &mut ways {
            let heard = way.send(settings).await?;
            way.heard.add(&heard);
        }
    }
    let (seconds, cpu) = bench.close_window(&window);
    let facts = facts(&ways, settings);
    Ok(Report {
        seconds,
        clean: facts.iter().all(|fact| fact.holds),
        cpu: Some(cpu),
        reads: ways.iter().map(CallPath::reads).collect(),
        facts,
        ..bench.report("service", settings)
    })
}

impl CallPath {
    /// Sends requests on a fixed schedule.
    async fn send(&self, settings: &Service) -> Result<CallResults, Error> {
        let run = Arc::new(Run::new(1));
        let start = run.now() + LEAD;
        let measured_from = start + settings.warmup * 1_000_000;
        let schedule = Schedule::constant(start, settings.rate, settings.warmup + settings.seconds);
        let (sender, dues) = mpsc::unbounded_channel();
        let (dues, request) = (Arc::new(Mutex::new(dues)), Arc::new(self.target.get(&self.path)));
        let mut workers = JoinSet::new();
        for _ in 0..settings.connections {
            let connection = self.target.connect().await?;
            let (run, dues, request) = (Arc::clone(&run), Arc::clone(&dues), Arc::clone(&request));
            workers.spawn(work(connection, run, dues, request, measured_from));
        }
        let pacer = {
            let run = Arc::clone(&run);
            std::thread::spawn(move || schedule.pace(&run, &[sender]))
        };
        let mut heard = CallResults::default();
        while let Some(Ok(of_worker)) = workers.join_next().await {
            heard.add(&of_worker);
        }
        pacer.join().ok();
        Ok(heard)
    }

    fn reads(&self) -> Reads {
        let latency = Latency::of(&self.heard.latency);
        Reads { kind: self.kind, by_status: self.heard.by_status.clone(), bytes: 5, latency }
    }
}

/// Takes due times, concurrently with other free connections, until the schedule is over or the connection
/// breaks.
async fn work(
    mut connection: Connection,
    run: Arc<Run>,
    dues: Arc<Mutex<mpsc::UnboundedReceiver<u64>>>,
    request: Arc<Vec<u8>>,
    measured_from: u64,
) -> CallResults {
    let mut heard = CallResults::default();
    loop {
        let due = dues.lock().await.recv().await;
        let Some(due) = due else { return heard };
        let Ok(answer) = connection.call("calling", &request).await else {
            heard.broken += 1;
            return heard;
        };
        *heard.by_status.entry(answer.status).or_default() += 1;
        if due >= measured_from {
            heard.latency.record(run.now().saturating_sub(due));
        }
    }
}

fn facts([direct, through]: &[CallPath; 2], settings: &Service) -> Vec<Fact> {
    let at = |way: &CallPath, quantile| way.heard.latency.micros(quantile) as i64;
    let more = |quantile| at(through, quantile) - at(direct, quantile);
    let expected =
        u64::from(settings.rate) * (settings.warmup + settings.seconds) * u64::from(settings.turns);
    let answered = |way: &CallPath| way.heard.by_status.get(&200).copied().unwrap_or_default();
    let fact = |what, found: String, expected: String, holds| Fact { what, found, expected, holds };
    let limit = settings.limit as i64;
    vec![
        fact("longer at p50", format!("{} us", more(0.5)), "any".into(), true),
        fact(
            "longer at p99",
            format!("{} us", more(0.99)),
            format!("at most {limit} us"),
            more(0.99) <= limit,
        ),
        fact(
            "responses with 200",
            format!("{} + {}", answered(direct), answered(through)),
            format!("{expected} each"),
            [direct, through].iter().all(|way| answered(way) == expected && way.heard.broken == 0),
        ),
    ]
}

/// Creates the microservice unless it exists.
async fn create(bench: &Bench, name: &str) -> Result<(), Error> {
    let step = "creating the microservice";
    let body = json!({"name": name, "key": format!("{name}-key"), "type": "MICROSERVICE"}).to_string();
    let mut connection = bench.target.connect().await?;
    let request = bench.target.post("/application/applications", &body);
    let response = connection.call(step, &request).await?;
    match response.status {
        201 | 409 => Ok(()),
        status => Err(Error::status(step, status, response.body)),
    }
}

/// Sets the route, or prints how, and waits until calls arrive here.
async fn lead_here(bench: &Bench, settings: &Service, path: &str) -> Result<(), Error> {
    match &settings.route_command {
        Some(command) => {
            let ended = Command::new("sh").arg("-c").arg(command).status().await?;
            if !ended.success() {
                return Err(Error::Refused(format!("--route-command ended with {ended}")));
            }
        }
        None => eprintln!(
            "waiting for: platform admin application route {} http://{}",
            settings.application, settings.listen
        ),
    }
    let arrives = async {
        loop {
            let mut connection = bench.target.connect().await?;
            let response = connection.call("calling", &bench.target.get(path)).await?;
            if response.status == 200 && response.body == b"hello" {
                return Ok(());
            }
            sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(ROUTED, arrives).await.map_err(|_| Error::Timeout("a call of the microservice"))?
}

/// Plays the microservice, on its own thread.
fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || runtime.block_on(accept_all(listener)));
    Ok(())
}

/// Ends only when the listener fails; then calls fail, which the report shows.
async fn accept_all(listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer_all(stream));
    }
}

/// Responds to every request on a connection; none has a body.
async fn answer_all(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut buffer, mut came) = (vec![0; 8 << 10], Vec::new());
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        came.extend_from_slice(&buffer[..count]);
        while let Some(end) = came.windows(4).position(|window| window == b"\r\n\r\n") {
            came.drain(..end + 4);
            stream.write_all(ANSWER).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_request_gets_a_response_also_when_its_head_is_split() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        tokio::spawn(answer_all(listener.accept().await.unwrap().0));
        for part in ["GET /1 HTTP/1.1\r\n", "\r\nGET /2 HTTP/1.1\r\n\r", "\n"] {
            client.write_all(part.as_bytes()).await.unwrap();
        }
        let mut came = vec![0; 2 * ANSWER.len()];
        client.read_exact(&mut came).await.unwrap();
        assert_eq!(came, [ANSWER, ANSWER].concat());
    }
}
