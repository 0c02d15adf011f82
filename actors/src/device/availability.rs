//! The unavailability alarm of a silent device, which the server itself raises and clears.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::data::alarm::{AlarmPatch, AlarmStatus, NewAlarm, Severity};
use platform_model::error::{Error, Result};
use platform_model::fragments::Fragments;
use platform_model::id::AlarmId;
use platform_model::links::Links;
use platform_model::naming::naming;
use platform_model::origin::Origin;
use platform_model::timestamp::Timestamp;
use platform_store::data::alarms::{SentAlarm, find_open_alarm};

use super::{Device, DeviceActor, UpdateAlarm};

/// Raises the unavailability alarm of a silent device, unless the device sent something meanwhile, is in
/// maintenance, or has an alarm for this silence already. Publishes CREATE, or UPDATE when an alarm of the type is
/// open for another reason.
///
/// Sent by the sweep for silent devices.
///
/// # Errors
/// `Unavailable` or `Database`; nothing was published then, and the next sweep retries.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct ReportSilence {
    /// The time of the device's last message, which must still be the last one.
    pub(crate) last_message: Timestamp,
    /// The base address of links in notifications.
    pub(crate) links: Links,
}

/// Clears the unavailability alarm of a device that sent something again, with an audit record. Publishes UPDATE.
///
/// Sent after a heartbeat was written, and by the sweep if the process that wrote it died before it sent this.
/// Clearing twice changes nothing.
///
/// # Errors
/// `NotFound` when the device does not exist; `Unavailable` or `Database`, and the next sweep retries then.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct EndSilence {
    /// The base address of links in notifications.
    pub(crate) links: Links,
}

/// Clears the open alarm of a type, with an audit record. Publishes UPDATE. Clearing twice changes nothing.
///
/// Sent when the server itself raised the alarm and its cause is gone.
///
/// # Errors
/// `NotFound` when the device does not exist; `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct ClearAlarm {
    /// The type of the alarm.
    pub(crate) type_: String,
    /// The base address of links in notifications.
    pub(crate) links: Links,
}

impl Handler<ReportSilence> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: ReportSilence, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.report_silence(message).await)
    }
}

impl Handler<ClearAlarm> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: ClearAlarm, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.clear_alarm(&message.type_, message.links).await)
    }
}

impl Handler<EndSilence> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: EndSilence, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.end_silence(message).await)
    }
}

impl Device {
    async fn report_silence(&mut self, ReportSilence { last_message, links }: ReportSilence) -> Result<()> {
        let new = NewAlarm {
            source: self.id,
            type_: alarm_type(),
            time: Timestamp::now(),
            text: format!("No communication with device since {last_message}"),
            status: AlarmStatus::Active,
            severity: Severity::Major,
            fragments: Fragments::default(),
        };
        let id = AlarmId(self.context.ids.next()?);
        let alarm = new.raised(Some(id), None);
        let sent = SentAlarm { alarm, owner: None, silent_since: Some(last_message) };
        self.write_sent(Arc::new(sent), &Origin::of_server(links)).await?;
        Ok(())
    }

    async fn end_silence(&mut self, EndSilence { links }: EndSilence) -> Result<()> {
        match self.clear_alarm(&alarm_type(), links).await {
            // If others change the alarm all the time it stays open, and the next sweep clears it.
            Ok(()) => {}
            Err(Error::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        platform_store::devices::availability::end_silence(database, tenant, self.id).await
    }

    async fn clear_alarm(&mut self, type_: &str, links: Links) -> Result<()> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let open = find_open_alarm(database, tenant, self.id, type_).await?;
        let Some(alarm) = open else { return Ok(()) };
        let patch = AlarmPatch {
            text: None,
            status: Some(AlarmStatus::Cleared),
            severity: None,
            fragments: Fragments::default(),
        };
        let (alarm, patch, origin) = (Arc::new(alarm), Arc::new(patch), Arc::new(Origin::of_server(links)));
        self.update_alarm(UpdateAlarm { alarm, patch, origin }).await.map(drop)
    }
}

/// Returns `plat_UnavailabilityAlarm`.
fn alarm_type() -> String {
    naming().fragment("UnavailabilityAlarm")
}
