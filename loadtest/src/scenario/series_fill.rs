//! `series-fill`: sends one device's year of measurements, in collections, over a few connections.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use futures_util::future::try_join_all;

use super::Bench;
use crate::cli::SeriesFill;
use crate::devices;
use crate::error::Error;
use crate::progress::Progress;
use crate::protocol::body::Kind;
use crate::protocol::year;
use crate::report::{Posts, Report};
use crate::traffic::poster::Responses;

/// Runs the command.
pub(super) async fn run(bench: &Bench, settings: &SeriesFill) -> Result<Report, Error> {
    let body = format!(r#"{{"name":"Load test year","type":"{}","plat_IsDevice":{{}}}}"#, year::DEVICE_TYPE);
    let ids = devices::create_as(&bench.target, 1, &body).await?;
    let window = bench.open_window();
    let SeriesFill { minutes, per_post, .. } = *settings;
    let progress = Progress::count("sending a year", minutes.div_ceil(per_post) as usize);
    let next = AtomicU32::new(0);
    // A rejected collection ends all, because the year would have a gap.
    let send_some = async || {
        let mut connection = bench.target.connect().await?;
        let mut responses = Responses::default();
        loop {
            let first = next.fetch_add(per_post, Ordering::Relaxed);
            if first >= minutes {
                return Ok::<_, Error>(responses);
            }
            let body = year::collection(&ids[0], first, per_post.min(minutes - first));
            let (headers, path) = (bench.target.quiet_post_headers(), Kind::Measurements(per_post).path());
            let request = bench.target.post_with(headers, path, &body);
            let sent = Instant::now();
            connection.expect(201, "sending a collection", &request).await?;
            responses.latency.record(sent.elapsed().as_micros() as u64);
            *responses.by_status.entry("201".to_owned()).or_default() += 1;
            progress.advance();
        }
    };
    let sent = try_join_all((0..settings.connections).map(|_| send_some())).await?;
    let mut responses = Responses::default();
    sent.iter().for_each(|sent| responses.add(sent));
    let (seconds, cpu) = bench.close_window(&window);
    let posts = Some(Posts::of_rows(&responses, seconds, settings.per_post));
    eprintln!("filled source {}", ids[0]);
    Ok(Report { seconds, clean: true, posts, cpu: Some(cpu), ..bench.report("series-fill", settings) })
}
