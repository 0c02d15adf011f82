//! Alarms about a tenant as a whole.
//!
//! The source of an alarm is a managed object, which a tenant is not. So a managed object represents the part of the
//! tenant that the alarm is about. It is created when it is first needed, and is found by its external id.

use std::sync::Arc;

use platform_model::data::alarm::{AlarmPatch, AlarmStatus, NewAlarm, Severity};
use platform_model::devices::external_id::NewExternalId;
use platform_model::devices::managed_object::NewManagedObject;
use platform_model::error::{Error, Result};
use platform_model::fragments::Fragments;
use platform_model::id::ManagedObjectId;
use platform_model::naming::naming;
use platform_model::origin::Origin;
use platform_model::timestamp::Timestamp;
use platform_store::devices::inventory::external_ids::{get_external_id, insert_external_id};

use crate::device::{RaiseAlarm, UpdateAlarm};
use crate::platform::Tenant;
use crate::writes::NewObject;

/// A part of a tenant that alarms can be about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartOfTenant {
    /// The type of its managed object and of the external id, without the vendor's prefix.
    pub(crate) type_: &'static str,
    /// The name of its managed object when it is created.
    pub(crate) name: &'static str,
}

/// An alarm about a part of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct TenantAlarm {
    pub(crate) of: PartOfTenant,
    /// The type of the alarm, without the vendor's prefix.
    pub(crate) type_: &'static str,
    pub(crate) text: String,
}

impl TenantAlarm {
    /// Raises the alarm, or updates the active one with the newest text.
    ///
    /// # Errors
    /// `DiskFull`, `Contended`, `Unavailable` or `Database`.
    pub(crate) async fn raise(self, tenant: &Tenant, origin: &Arc<Origin>) -> Result<()> {
        let source = self.of.source(tenant, origin).await?;
        let alarm = Arc::new(NewAlarm {
            source,
            type_: naming().fragment(self.type_),
            time: Timestamp::now(),
            text: self.text.clone(),
            status: AlarmStatus::Active,
            severity: Severity::Major,
            fragments: Fragments::default(),
        });
        let alarm = tenant.ask_device(source, RaiseAlarm { alarm, origin: origin.clone() }).await?;
        if alarm.count == 1 || alarm.id.is_none() {
            return Ok(());
        }
        let text = Some(self.text);
        let patch = AlarmPatch { text, status: None, severity: None, fragments: Fragments::default() };
        let update = UpdateAlarm { alarm, patch: Arc::new(patch), origin: origin.clone() };
        tenant.ask_device(source, update).await.map(drop)
    }
}

impl PartOfTenant {
    /// Returns the managed object that represents the part.
    async fn source(self, tenant: &Tenant, origin: &Arc<Origin>) -> Result<ManagedObjectId> {
        let context = tenant.context();
        let type_ = naming().fragment(self.type_);
        let pair = NewExternalId { type_: type_.clone(), value: context.tenant.to_string() };
        match get_external_id(&context.database, &context.tenant, pair.clone()).await {
            Ok((object, _)) => return Ok(object),
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let (name, fragments) = (Some(self.name.into()), Fragments::default());
        let object = NewManagedObject { type_: Some(type_), name, fragments };
        let made = tenant.create_managed_object(NewObject { object, origin: Origin::clone(origin) }).await?;
        let id = made.id.ok_or_else(|| Error::unavailable("the managed object has no id"))?;
        insert_external_id(&context.database, &context.tenant, id, pair).await?;
        Ok(id)
    }
}
