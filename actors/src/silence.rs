//! The watch over silent devices: an alarm for each that was not heard for its interval.
//!
//! One process at a time sweeps; see [`Watch`]. A sweep reads what is due from the database, in which all processes write
//! when they heard a device; nothing depends on the memory of a process. Each alarm is raised by the device's actor, under
//! the premise that the silence still lasts and has no alarm yet; each is cleared by whoever hears the device again, or by the
//! next sweep when that one died in between.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};

use crate::device::{EndSilence, ReportSilence};
use crate::error::{Error, Result};
use crate::model::links::Links;
use crate::platform::Platform;
use crate::store::availability::{Device, SWEPT_AT_ONCE, Silent, Watch};

/// After this time a watch whose connection was lost begins anew.
const PAUSE: Duration = Duration::from_secs(1);
/// Devices that are asked at the same time: enough to share group commits.
const AT_ONCE: usize = 64;
/// Who sits still for so many sweeps, or for ten seconds, loses the watch to another process.
const PATIENCE: u32 = 3;

impl Platform {
    /// Raises an alarm for each device that falls silent, and sees to it that alarms of past silences are cleared. Runs until
    /// it is dropped. `links`: how links start in what is told, for no request causes it.
    pub async fn watch_silence(self: Arc<Self>, links: Links) {
        loop {
            let Err(error) = self.keep_watch(&links).await;
            tracing::debug!(%error, "the watch over silent devices begins anew");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sweeps whenever it is this process' turn, until the connection is lost.
    async fn keep_watch(&self, links: &Links) -> Result<Infallible> {
        let sweep = self.limits().silence_sweep;
        let patience = (sweep * PATIENCE).max(Duration::from_secs(10));
        let mut watch = Watch::open(self.database(), patience).await?;
        loop {
            if watch.sweeps().await? {
                self.sweep(&watch, links).await?;
            }
            tokio::time::sleep(sweep).await;
        }
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
        unless_gone(self.tenant(&tenant).ask_device(device, report).await);
    }

    async fn end_silence(&self, (tenant, device): Device, links: &Links) {
        let end = EndSilence { links: links.clone() };
        unless_gone(self.tenant(&tenant).ask_device(device, end).await);
    }
}

/// What fails for a reason of the moment is tried again by the next sweep; a device that was deleted is silent for good.
fn unless_gone(outcome: Result<()>) {
    match outcome {
        Ok(()) | Err(Error::NotFound { .. }) => {}
        Err(error) => tracing::warn!(%error, "a silent device is looked at again with the next sweep"),
    }
}
