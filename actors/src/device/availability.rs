//! The silence of a device: the alarm for it, raised and cleared by the server itself.

use std::sync::Arc;

use actix::prelude::*;

use super::{Cause, Device, DeviceActor, UpdateAlarm};
use crate::error::{Error, Result};
use crate::model::alarm::{AlarmPatch, AlarmStatus, NewAlarm, Severity};
use crate::model::fragments::Fragments;
use crate::model::id::AlarmId;
use crate::model::links::Links;
use crate::model::origin::Origin;
use crate::model::timestamp::Timestamp;
use crate::naming::naming;
use crate::store;
use crate::store::alarms::SentAlarm;

/// Raises the unavailability alarm of a silent device, unless it was heard meanwhile, is in maintenance, or there is
/// one for this silence already. Publishes CREATE, or UPDATE when an alarm of the type is open all the same.
///
/// Sent by the watch over silent devices.
///
/// # Errors
/// `Unavailable` or `Database`: then nothing was published, and the next sweep tries again.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct ReportSilence {
    /// When the device was heard last: the premise.
    pub(crate) last_message: Timestamp,
    /// How links start in what is told.
    pub(crate) links: Links,
}

/// Clears the unavailability alarm of a device that was heard again, with an audit record. Publishes UPDATE.
///
/// Sent by who writes down heartbeats, and by the watch when that one died in between. Clearing twice changes nothing.
///
/// # Errors
/// `NotFound` when the device is gone; `Unavailable` or `Database`: then the next sweep tries again.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct EndSilence {
    /// How links start in what is told.
    pub(crate) links: Links,
}

impl Handler<ReportSilence> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: ReportSilence, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.report_silence(message).await)
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
        let id = AlarmId(self.context.ids.next());
        let raised = new.raised(Some(id), None);
        let sent = SentAlarm { alarm: raised.clone(), owner: None, silent_since: Some(last_message) };

        let stored = self.write_sent(Arc::new(sent), None).await?;

        if let Some(stored) = stored {
            self.tell_raised(raised, stored, Cause::persistent(&links));
        }
        Ok(())
    }

    async fn end_silence(&mut self, EndSilence { links }: EndSilence) -> Result<()> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let open = store::alarms::find_open_alarm(database, tenant, self.id, &alarm_type()).await?;
        if let Some(alarm) = open {
            let patch = AlarmPatch {
                text: None,
                status: Some(AlarmStatus::Cleared),
                severity: None,
                fragments: Fragments::default(),
            };
            let (alarm, patch, origin) =
                (Arc::new(alarm), Arc::new(patch), Arc::new(Origin::of_server(links)));
            match self.update_alarm(UpdateAlarm { alarm, patch, origin }).await {
                // Somebody changes it all the time: it stays to be cleared.
                Ok(_) => {}
                Err(Error::NotFound { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        store::availability::end_silence(database, tenant, self.id).await
    }
}

/// `plat_UnavailabilityAlarm`
fn alarm_type() -> String {
    naming().fragment("UnavailabilityAlarm")
}
