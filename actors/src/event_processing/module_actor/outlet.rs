//! Where what comes out of a module goes: to whoever listens to its channels, to the platform as writes, to other modules.

use std::sync::Arc;

use crate::device;
use crate::event_processing::deployment::hold::Hold;
use crate::event_processing::plan::ModulePlan;
use crate::event_processing::runtime::Effect;
use crate::model::id::{ModuleId, TenantId};

/// The ways out of one module.
pub(crate) struct Outlet {
    pub(crate) module: ModuleId,
    /// The name in force: the first part of its channels.
    pub(crate) name: Arc<str>,
    pub(crate) context: device::Context,
    pub(crate) hold: Arc<Hold>,
}

impl Outlet {
    pub(super) fn tenant(&self) -> &TenantId {
        &self.context.tenant
    }

    pub(super) fn rename(&mut self, name: Arc<str>) {
        self.name = name;
    }

    /// Hands on, in order.
    pub(super) fn give(&self, plan: &ModulePlan, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Tell { statement, row } => {
                    let Some(statement) = plan.statements.get(statement) else { continue };
                    self.context.publish_row(&self.name, &statement.name, || row.to_json());
                }
                Effect::Perform { .. } => {}
                Effect::Forward { stream, row } => self.context.feeds.forward(self.module, &stream, &row),
            }
        }
    }
}
