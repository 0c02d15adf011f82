//! Records modules and statements of a tenant that were switched off: in the row of the module, in the audit
//! log and as an alarm. Also records, in the audit log only, modules that restarted.

use std::sync::Arc;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::origin::Origin;
use platform_model::realtime::module::StatementOff;
use platform_model::timestamp::Timestamp;
use platform_store::applications::modules::changes::{ChangedBy, StoredModule, change_modules};

use super::Deployments;
use super::changes::{restarted, switch_off, switch_off_statements};
use crate::event_processing::module_actor::Deployment;
use crate::tenant_alarms::{PartOfTenant, TenantAlarm};

/// The part of a tenant that is the source of alarms about modules.
const EVENT_PROCESSING: PartOfTenant = PartOfTenant { type_: "EventProcessing", name: "Event processing" };

/// A module or statements that were switched off, or a module that restarted.
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
    /// The module restarted for this reason, and may have missed events.
    Restarted(&'static str),
}

impl Off {
    /// Writes the record and raises the alarm. A module that was redeployed meanwhile is ignored.
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
        let alarm = TenantAlarm { of: EVENT_PROCESSING, type_: "ModuleSwitchedOff", text };
        let raised = alarm.raise(&platform.tenant(tenant), &origin).await;
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
                "The module '{module}' continues without the statements that were switched off: {}",
                StatementOff::shown(off)
            )),
            What::Restarted(_) => None,
        }
    }
}
