//! The sweep for silent devices: it raises an alarm for each device without a message for its response interval
//!
//!
//! One process at a time sweeps; see [`Watch`]. A sweep reads the silent devices from the database, where every
//! process writes its heartbeats, and depends on no process's memory. The device's actor raises the alarm, on
//! condition that the silence still lasts and has no alarm yet. The alarm is cleared by the process that records the
//! next heartbeat, or by the next sweep if that process died in between.

use std::sync::Weak;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use platform_model::error::{Error, Result};
use platform_model::links::Links;
use platform_store::devices::availability::{Device, SWEPT_AT_ONCE, Silent, Watch};

use crate::device::{EndSilence, ReportSilence};
use crate::heartbeats::ClearAlarm;
use crate::platform::Platform;

/// The number of devices that are handled concurrently, which is enough to share group commits.
const AT_ONCE: usize = 64;
/// A process that makes no sweep for this many intervals, or for ten seconds, loses the watch to another process.
const MISSED_SWEEPS: u32 = 3;

/// The connection with which this process looks for silent devices.
#[derive(Debug, Default)]
pub struct SilenceWatch(Option<Watch>);

impl Platform {
    /// Raises an alarm for each device that became silent, and clears alarms of past silences, if it is this process's
    /// turn. It connects when the first device is watched, and after an error the next call connects anew. Links in
    /// notifications start with `links`, because no request causes them.
    ///
    /// # Errors
    /// `Unavailable` when the connection is lost; `Database`.
    pub async fn look_for_silence(&self, watch: &mut SilenceWatch, links: &Links) -> Result<()> {
        let mut open = match watch.0.take() {
            Some(open) => open,
            None if !Watch::is_needed(self.database()).await? => return Ok(()),
            None => self.open_silence_watch().await?,
        };
        if open.sweeps().await? {
            self.sweep(&open, links).await?;
        }
        watch.0 = Some(open);
        Ok(())
    }

    async fn open_silence_watch(&self) -> Result<Watch> {
        let patience = (self.limits().silence_sweep * MISSED_SWEEPS).max(Duration::from_secs(10));
        Watch::open(self.database(), patience).await
    }

    async fn sweep(&self, watch: &Watch, links: &Links) -> Result<()> {
        let heard = watch.list_heard_again().await?;
        let ending = heard.into_iter().map(|device| self.end_silence(device, links));
        stream::iter(ending).for_each_concurrent(AT_ONCE, |one| one).await;
        let mut last: Option<Silent> = None;
        loop {
            let silent = watch.list_silent(self.limits().silence_grace, last.as_ref()).await?;
            let reporting = silent.iter().cloned().map(|silent| self.report_silence(silent, links));
            stream::iter(reporting).for_each_concurrent(AT_ONCE, |one| one).await;
            if (silent.len() as i64) < SWEPT_AT_ONCE {
                return Ok(());
            }
            last = silent.into_iter().next_back();
        }
    }

    async fn report_silence(&self, silent: Silent, links: &Links) {
        let (tenant, device) = silent.device;
        let report = ReportSilence { last_message: silent.last_message, links: links.clone() };
        log_failure(self.tenant(&tenant).ask_device(device, report).await);
    }

    async fn end_silence(&self, (tenant, device): Device, links: &Links) {
        let end = EndSilence { links: links.clone() };
        log_failure(self.tenant(&tenant).ask_device(device, end).await);
    }
}

/// Returns what clears the unavailability alarm of a device that was silent when its next heartbeat is written.
pub(crate) fn clear_alarm(platform: Weak<Platform>) -> ClearAlarm {
    Box::new(move |(tenant, device), links| {
        let platform = platform.upgrade();
        Box::pin(async move {
            let Some(platform) = platform else { return };
            if let Err(error) = platform.tenant(&tenant).ask_device(device, EndSilence { links }).await {
                tracing::debug!(%error, "an unavailability alarm could not be cleared; the next sweep retries");
            }
        })
    })
}

/// Logs an error, because the next sweep retries. A deleted device is not an error.
fn log_failure(outcome: Result<()>) {
    match outcome {
        Ok(()) | Err(Error::NotFound { .. }) => {}
        Err(error) => tracing::warn!(%error, "a silent device could not be handled; the next sweep retries"),
    }
}
