//! The size of an event that a module retains: the memory of the server is compared after events with a
//! window, and after the same without a module.

use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;

use super::Sending;
use super::deployed::Deployed;
use crate::error::Error;
use crate::protocol::body::Kind;
use crate::report::Fact;

/// The number of measurements in a post, which is not measured here.
const PER_POST: u32 = 100;
/// The number of connections that post.
const CONNECTIONS: usize = 8;

/// Fills a window, and returns the size of each event in it.
pub(super) async fn measure(sending: &Sending<'_>) -> Result<Vec<Fact>, Error> {
    // The first measurements allocate what the server keeps in any case, before anything is read.
    send(sending).await?;
    let plain = grown(sending).await?;
    let length = sending.settings.retained;
    let text =
        format!("@Name('window') select count(*) as events from MeasurementCreated.win:length({length});\n");
    let module = Deployed::create(&sending.bench.target, "loadtest_retained", &text).await?;
    let filled = filled(sending, &module).await;
    let removed = module.remove().await;
    let (held, row) = filled?;
    let events = row.get("events").and_then(Value::as_f64).unwrap_or_default();
    let each = held.zip(plain).map(|(held, plain)| (held - plain) as f64 / f64::from(length));
    let own = Kind::Measurement.body("1000000000000", sending.run.mark_of(0, 1)).len();
    let facts = [
        Fact::number("events in the window", events as usize, length as usize),
        Fact::any("memory, without", bytes(plain)),
        Fact::any("memory, with the window", bytes(held)),
        Fact::any(
            "for each event",
            each.map_or("unknown".to_owned(), |each| format!("{each:.0} bytes; its JSON has {own} bytes")),
        ),
    ];
    Ok(facts.into_iter().chain(removed?).collect())
}

/// Returns by how much memory grows while the window is filled, and the module's row after that.
async fn filled(sending: &Sending<'_>, module: &Deployed) -> Result<(Option<i64>, Value), Error> {
    let grown = grown(sending).await?;
    Ok((grown, module.row(sending).await?))
}

/// Returns by how many bytes the memory of the server grows while measurements are sent.
async fn grown(sending: &Sending<'_>) -> Result<Option<i64>, Error> {
    let before = sending.bench.memory_at_rest().await;
    send(sending).await?;
    let after = sending.bench.memory_at_rest().await;
    Ok(after.zip(before).map(|(after, before)| after as i64 - before as i64))
}

/// Sends as many measurements as the window holds.
async fn send(sending: &Sending<'_>) -> Result<(), Error> {
    let posts = sending.settings.retained.div_ceil(PER_POST) as usize;
    let mut connections = JoinSet::new();
    for first in 0..CONNECTIONS {
        let (ids, run) = (Arc::clone(&sending.ids), Arc::clone(&sending.run));
        let mut poster = sending.poster(Kind::Measurements(PER_POST));
        connections.spawn(async move {
            for post in (first..posts).step_by(CONNECTIONS) {
                let device = post % ids.len();
                poster.post(device as u32, &ids[device], run.now()).await;
            }
            poster.responses.failures()
        });
    }
    let failures = connections.join_all().await.into_iter().sum::<u64>();
    match failures {
        0 => Ok(()),
        _ => Err(Error::Refused(format!("{failures} posts of measurements were refused"))),
    }
}

fn bytes(bytes: Option<i64>) -> String {
    bytes.map_or("unknown".to_owned(), |bytes| format!("{:.1} MiB more", bytes as f64 / 1_048_576.0))
}
