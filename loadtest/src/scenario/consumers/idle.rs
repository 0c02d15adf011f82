//! Consumers without anything to read: the memory and the CPU of each held poll. One write then reaches all of them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::{Instant, sleep};

use super::crowd::Crowd;
use super::{Measured, Measuring};
use crate::error::Error;
use crate::ledger::latency::{Delay, Latency, Times};
use crate::ledger::run::Run;
use crate::protocol::consumer::reader::{Reader, Reading};
use crate::report::{Fact, Memory};
use crate::target::Target;

const MAX_BYTES: u64 = 67_108_864;
/// The longest time of a held poll that the server accepts, in seconds.
const WAIT: u64 = 50;
/// The goal for a held poll, in bytes.
const MOST_BYTES: f64 = 3000.0;

/// Measures the memory before and while all polls are held.
pub(super) async fn measure(measuring: &Measuring<'_>) -> Result<(Measured, Option<Memory>), Error> {
    let (bench, count) = (measuring.bench, measuring.settings.idle);
    let run = measuring.new_run();
    let mut crowd = Crowd::create(&bench.target, &run, measuring.ids.len(), (count, MAX_BYTES)).await?;
    let measured = held(measuring, &run, &crowd).await;
    let left = crowd.remove().await;
    let (mut facts, memory, times) = measured?;
    facts.push(Fact::number("consumers left behind", left, 0));
    let delays = vec![Delay { kind: "from the write to each consumer", latency: Latency::of(&times) }];
    Ok((Measured { facts, delays }, memory))
}

async fn held(
    measuring: &Measuring<'_>,
    run: &Arc<Run>,
    crowd: &Crowd,
) -> Result<(Vec<Fact>, Option<Memory>, Times), Error> {
    let (bench, settings) = (measuring.bench, measuring.settings);
    let before = bench.memory_at_rest().await;
    let reading = Reading { way: settings.way, batch: settings.batch, wait: WAIT };
    let mut readers = Vec::new();
    for name in crowd.names() {
        let mut reader = Reader::connect(&bench.target, name, reading, None).await?;
        reader.ask(&bench.target).await?;
        readers.push(reader);
    }
    let held = bench.memory_at_rest().await;
    let window = bench.open_window();
    sleep(Duration::from_secs(settings.seconds)).await;
    let (_, cpu) = bench.close_window(&window);
    let due = run.now();
    measuring.poster(run, 1, 0).post(0, &measuring.ids[0], due).await;
    let (times, failures) = received(&mut readers, &bench.target).await;
    let after = bench.memory_at_rest().await;
    let memory = bench.memory_of(readers.len(), before, held, after);
    let mut facts = vec![
        Fact::number("consumers that received a write", times.len() as usize, settings.idle as usize),
        Fact::any("CPU of holding them", cpu.brief()),
    ];
    facts.extend(memory.as_ref().and_then(Memory::per_poll).map(|bytes| Fact {
        what: "memory of each",
        found: format!("{bytes:.0} bytes"),
        expected: format!("at most {MOST_BYTES}"),
        holds: bytes <= MOST_BYTES,
    }));
    if let Some(first) = failures.first() {
        facts.push(Fact::number("failed reads", failures.len(), 0));
        facts.push(Fact::any("the first one", first.clone()));
    }
    Ok((facts, memory, times))
}

/// Waits until all readers have received a notification. Returns the times from now on, and the failures.
async fn received(readers: &mut [Reader], target: &Target) -> (Times, Vec<String>) {
    let written = Instant::now();
    let mut waiting: FuturesUnordered<_> =
        readers.iter_mut().map(|reader| Box::pin(first(reader, target))).collect();
    let (mut times, mut failures) = (Times::default(), Vec::new());
    while let Some(received) = waiting.next().await {
        match received {
            Ok(()) => times.record(written.elapsed().as_micros() as u64),
            Err(error) => failures.push(error.to_string()),
        }
    }
    (times, failures)
}

/// Waits for the first notification.
async fn first(reader: &mut Reader, target: &Target) -> Result<(), Error> {
    while reader.receive(target).await?.notifications.is_empty() {}
    Ok(())
}
