//! `series-fill`: sends one device's year of measurements, in collections, over a few connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use super::Bench;
use crate::cli::SeriesFill;
use crate::devices;
use crate::error::Error;
use crate::progress::Progress;
use crate::protocol::body::Kind;
use crate::protocol::year;
use crate::report::{Posts, Report};
use crate::target::Target;
use crate::traffic::poster::Responses;

/// Runs the command.
pub(super) async fn run(bench: &Bench, settings: &SeriesFill) -> Result<Report, Error> {
    let body = format!(r#"{{"name":"Load test year","type":"{}","plat_IsDevice":{{}}}}"#, year::DEVICE_TYPE);
    let ids = devices::create_as(&bench.target, 1, &body).await?;
    let window = bench.open_window();
    let next = Arc::new(AtomicU32::new(0));
    let collections = settings.minutes.div_ceil(settings.per_post);
    let progress = Arc::new(Progress::count("sending a year", collections as usize));
    let mut senders = JoinSet::new();
    for _ in 0..settings.connections {
        let sender = Sender {
            target: Arc::clone(&bench.target),
            source: ids[0].clone(),
            next: Arc::clone(&next),
            progress: Arc::clone(&progress),
            settings: settings.clone(),
        };
        senders.spawn(sender.send());
    }
    let mut responses = Responses::new();
    while let Some(sent) = senders.join_next().await {
        responses.add(&sent.map_err(|error| Error::Refused(error.to_string()))??);
    }
    let (seconds, cpu) = bench.close_window(&window);
    let posts = Some(Posts::of_rows(&responses, seconds, settings.per_post));
    eprintln!("filled source {}", ids[0]);
    Ok(Report { seconds, clean: true, posts, cpu: Some(cpu), ..bench.report("series-fill", settings) })
}

struct Sender {
    target: Arc<Target>,
    source: String,
    next: Arc<AtomicU32>,
    progress: Arc<Progress>,
    settings: SeriesFill,
}

impl Sender {
    /// Sends collections until the year is complete; a rejected one ends it, because the year would have a
    /// gap.
    async fn send(self) -> Result<Responses, Error> {
        let SeriesFill { minutes, per_post, .. } = self.settings;
        let mut connection = self.target.connect().await?;
        let mut responses = Responses::new();
        loop {
            let first = self.next.fetch_add(per_post, Ordering::Relaxed);
            if first >= minutes {
                return Ok(responses);
            }
            let body = year::collection(&self.source, first, per_post.min(minutes - first));
            let path = Kind::Measurements(per_post).path();
            let request = self.target.post_with(self.target.quiet_post_headers(), path, &body);
            let sent = Instant::now();
            connection.expect(201, "sending a collection", &request).await?;
            responses.latency.saturating_record(sent.elapsed().as_micros() as u64);
            *responses.by_status.entry("201".to_owned()).or_default() += 1;
            self.progress.advance();
        }
    }
}
