//! Records modules and statements of a tenant that were switched off: in the row of the module, in the audit
//! log and as an alarm. Also records, in the audit log only, modules that started anew.
//!
//! An alarm has a managed object as its source, and a tenant is not one. So a managed object represents the tenant's
//! event processing; it is created when it is first needed and looked up by its external id.

use std::sync::Arc;

use platform_model::alarm::{AlarmPatch, AlarmStatus, NewAlarm, Severity};
use platform_model::error::{Error, Result};
use platform_model::external_id::NewExternalId;
use platform_model::fragments::Fragments;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::managed_object::NewManagedObject;
use platform_model::module::StatementOff;
use platform_model::naming::naming;
use platform_model::origin::Origin;
use platform_model::timestamp::Timestamp;
use platform_store::inventory::external_ids::{get_external_id, insert_external_id};
use platform_store::modules::changes::{ChangedBy, StoredModule, change_modules};

use super::Deployments;
use super::changes::{restarted, switch_off, switch_off_statements};
use crate::device::{RaiseAlarm, UpdateAlarm};
use crate::event_processing::module_actor::Deployment;
use crate::platform::Tenant;
use crate::writes::NewObject;

/// The name that the managed object of a tenant's event processing gets when it is created.
const OBJECT: &str = "Event processing";

/// A module or statements that were switched off, or a module that started anew.
#[derive(Debug, Clone)]
pub(super) struct Off {
    pub(super) deployment: Deployment,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    /// The whole module, with the reason.
    Module(String),
    /// Some of the module's statements.
    Statements(Vec<StatementOff>),
    /// The module started anew and may have missed events, for this reason.
    Restarted(&'static str),
}

impl Off {
    /// Writes the record and raises the alarm. A module that was deployed anew meanwhile is ignored.
    ///
    /// # Errors
    /// `Contended`, `Conflict`, `Unavailable` or `Database`: then nothing was written. An alarm that cannot be raised
    /// is logged.
    pub(super) async fn record(self, deployments: &Deployments, tenant: &TenantId, fence: i64) -> Result<()> {
        let origin = Arc::new(Origin::of_server(deployments.links()));
        let by = ChangedBy { origin: &origin, ids: &deployments.ids, fence: Some(fence) };
        let (off, now) = (self.clone(), Timestamp::now());
        let decide = move |stored: &[StoredModule]| match &off.what {
            What::Module(reason) => switch_off(stored, off.deployment, reason, now),
            What::Statements(statements) => switch_off_statements(stored, off.deployment, statements),
            What::Restarted(reason) => restarted(stored, off.deployment, reason),
        };
        let Some(name) = change_modules(&deployments.database, tenant, by, decide).await? else {
            return Ok(());
        };
        let (Some(platform), Some(text)) = (deployments.platform.upgrade(), self.text(&name)) else {
            return Ok(());
        };
        let raised = raise(&platform.tenant(tenant), text, &origin).await;
        if let Err(error) = raised {
            tracing::warn!(%error, tenant.id = %tenant, module.id = %self.deployment.module,
                "the alarm about a switched-off event-processing module or statement could not be raised");
        }
        Ok(())
    }

    /// Returns the text of the alarm; `None` if none is raised.
    fn text(&self, module: &str) -> Option<String> {
        match &self.what {
            What::Module(reason) => Some(format!("The module '{module}' was switched off: {reason}")),
            What::Statements(off) => Some(format!(
                "The module '{module}' goes on without what was switched off: {}",
                StatementOff::shown(off)
            )),
            What::Restarted(_) => None,
        }
    }
}

/// Raises the alarm, or updates the active one with the newest text.
async fn raise(tenant: &Tenant, text: String, origin: &Arc<Origin>) -> Result<()> {
    let source = source(tenant, origin).await?;
    let alarm = Arc::new(NewAlarm {
        source,
        type_: naming().fragment("ModuleSwitchedOff"),
        time: Timestamp::now(),
        text: text.clone(),
        status: AlarmStatus::Active,
        severity: Severity::Major,
        fragments: Fragments::default(),
    });
    let alarm = tenant.ask_device(source, RaiseAlarm { alarm, origin: origin.clone() }).await?;
    if alarm.count == 1 || alarm.id.is_none() {
        return Ok(());
    }
    let patch =
        AlarmPatch { text: Some(text), status: None, severity: None, fragments: Fragments::default() };
    let update = UpdateAlarm { alarm, patch: Arc::new(patch), origin: origin.clone() };
    tenant.ask_device(source, update).await.map(drop)
}

/// Returns the managed object that represents the event processing of the tenant.
async fn source(tenant: &Tenant, origin: &Arc<Origin>) -> Result<ManagedObjectId> {
    let context = tenant.context();
    let type_ = naming().fragment("EventProcessing");
    let pair = NewExternalId { type_: type_.clone(), value: context.tenant.to_string() };
    match get_external_id(&context.database, &context.tenant, pair.clone()).await {
        Ok((object, _)) => return Ok(object),
        Err(Error::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    let object =
        NewManagedObject { type_: Some(type_), name: Some(OBJECT.into()), fragments: Fragments::default() };
    let made = tenant.create_managed_object(NewObject { object, origin: Origin::clone(origin) }).await?;
    let id = made.id.ok_or_else(|| Error::unavailable("the managed object has no id"))?;
    insert_external_id(&context.database, &context.tenant, id, pair).await?;
    Ok(id)
}
