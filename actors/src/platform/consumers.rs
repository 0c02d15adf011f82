//! Named consumers of notifications: their readers at this server, and the upkeep of their backlogs.

use std::sync::Arc;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::links::Links;
use platform_model::origin::Origin;
use platform_store::consumers::lapse::{self, Lapsed};
use platform_store::consumers::reading;
use platform_store::realtime::announcements::Change;

use super::Platform;
use crate::consumers::{ConsumerReader, NewReader};
use crate::tenant_alarms::{PartOfTenant, TenantAlarm};

/// The managed object that carries the alarms about consumers of a tenant.
const CONSUMERS: PartOfTenant =
    PartOfTenant { type_: "NotificationConsumers", name: "Consumers of notifications" };

impl Platform {
    /// Begins to read a consumer of a tenant. An earlier reader is superseded, also at another server.
    ///
    /// # Errors
    /// `NotFound` for an unknown consumer and for one of another user; `Invalid` for an acknowledgement of a
    /// notification that does not exist; `Unavailable` or `Database`.
    pub async fn read_consumer(&self, tenant: &TenantId, new: NewReader) -> Result<ConsumerReader> {
        let readers = self.tenant(tenant).context().consumers.clone();
        ConsumerReader::begin(readers, new).await
    }

    /// Lets consumers lapse whose backlog exceeds a bound, with an alarm for each, and notes which consumers are no
    /// longer read here. Links in notifications start with `links`, because no request causes them.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn keep_consumers(&self, links: &Links) -> Result<()> {
        for lapsed in lapse::lapse(&self.database).await? {
            self.consumer_changed(&lapsed.tenant, &lapsed.name);
            self.raise_alarm_about(&lapsed, links).await;
        }
        let ended = |(tenant, here): (TenantId, Arc<super::Tenant>)| {
            let names = here.context().consumers.take_ended();
            names.into_iter().map(move |name| (tenant.clone(), name))
        };
        let ended: Vec<_> = self.known_tenants().into_iter().flat_map(ended).collect();
        reading::end_reading(&self.database, &ended).await
    }

    /// Raises the alarms about consumers that lapsed while their server ended or while the alarm could not be stored.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn raise_outstanding_alarms(&self, links: &Links) -> Result<()> {
        for lapsed in lapse::claim_alarms(&self.database).await? {
            self.raise_alarm_about(&lapsed, links).await;
        }
        Ok(())
    }

    async fn raise_alarm_about(&self, lapsed: &Lapsed, links: &Links) {
        let (tenant, name) = (&lapsed.tenant, &lapsed.name);
        let text = format!(
            "The consumer '{name}' lapsed: what it has not acknowledged became more or older than it may. It continues \
             with the next notification when it is read, and what is lost is in the response."
        );
        let alarm = TenantAlarm { of: CONSUMERS, type_: "ConsumerLapsed", text };
        let origin = Arc::new(Origin::of_server(links.clone()));
        let raised = async {
            alarm.raise(&self.tenant(tenant), &origin).await?;
            lapse::end_alarm(&self.database, lapsed).await
        };
        if let Err(error) = raised.await {
            let failure = "the alarm about a consumer that lapsed could not be raised and is tried again";
            tracing::warn!(tenant.id = %tenant, consumer = name, %error, "{failure}");
        }
    }

    /// Interrupts the readers of consumers that a change concerns, because their clients have to be checked again.
    pub(super) fn interrupt_readers(&self, change: &Change) {
        match change {
            Change::Consumer(tenant, name) => self.consumer_changed(tenant, name),
            Change::Users(tenant, _) | Change::Rights(tenant, ..) | Change::Tenant(tenant) => {
                self.all_consumers_changed(tenant)
            }
            Change::Anything => {
                self.known_tenants().iter().for_each(|(tenant, _)| self.all_consumers_changed(tenant))
            }
            _ => {}
        }
    }

    /// Interrupts the reader of a consumer at this server.
    fn consumer_changed(&self, tenant: &TenantId, consumer: &str) {
        if let Some(tenant) = self.tenants.read().get(tenant) {
            tenant.context().consumers.changed(consumer);
        }
    }

    /// Interrupts all readers of a tenant at this server, because rights of users changed.
    pub(super) fn all_consumers_changed(&self, tenant: &TenantId) {
        if let Some(tenant) = self.tenants.read().get(tenant) {
            tenant.context().consumers.all_changed();
        }
    }
}
