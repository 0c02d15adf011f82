//! `alarms`: how many alarms the server commits per second. Every connection posts its next alarm when it has
//! the response to the one before.

use std::sync::Arc;

use super::Bench;
use super::closed_loop::{self, Load};
use crate::cli::Alarms;
use crate::devices;
use crate::error::Error;
use crate::poster::Poster;
use crate::report::{Posts, Report};
use crate::run::Run;

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Alarms) -> Result<Report, Error> {
    let ids = Arc::new(devices::create(&bench.target, settings.devices as usize).await?);
    let run = Arc::new(Run::new(ids.len()));
    let &Alarms { connections, warmup, seconds, .. } = settings;
    let load = Load { connections, warmup, seconds };
    let poster = |measured_from| Poster::new(&bench.target, &run, measured_from);
    let (responses, seconds, cpu) = closed_loop::post_all(bench, &run, &ids, load, poster).await;
    Ok(Report {
        seconds,
        clean: responses.failures() == 0,
        posts: Some(Posts::of(&responses, seconds)),
        cpu: Some(cpu),
        devices_left: bench.remove_devices(Arc::unwrap_or_clone(ids)).await,
        ..bench.report("alarms", settings)
    })
}
