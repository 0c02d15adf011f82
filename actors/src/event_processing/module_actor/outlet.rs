//! Passes on the effects of a module: to the subscribers of its channels, to the platform as writes, to other modules.

use std::sync::Arc;

use platform_epl::plan::ModulePlan;
use platform_epl::runtime::Effect;
use platform_model::id::{ModuleId, TenantId};

use crate::event_processing::writes::Writes;
use crate::writes::WriteContext;

/// The destinations of the effects of one module.
pub(crate) struct Outlet {
    pub(crate) module: ModuleId,
    /// The name in force: the first part of the module's channels.
    pub(crate) name: Arc<str>,
    pub(crate) context: WriteContext,
    pub(crate) writes: Writes,
}

impl Outlet {
    pub(super) fn tenant(&self) -> &TenantId {
        &self.context.tenant
    }

    pub(super) fn rename(&mut self, name: Arc<str>) {
        self.name = name;
    }

    /// Passes on the effects, in order, without waiting.
    pub(super) fn emit(&self, plan: &ModulePlan, effects: Vec<Effect>) {
        let name = |statement: usize| plan.statements[statement].name.clone();
        for effect in effects {
            match effect {
                Effect::Publish { statement, row } => {
                    if self.context.has_receivers_for_rows() {
                        self.context.publish_row(&self.name, &name(statement), row.to_json());
                    }
                }
                Effect::Perform { statement, stream, row, depth } => {
                    self.writes.perform(statement, name(statement), stream, row, depth);
                }
                Effect::Forward { stream, row } => self.context.feeds.forward(self.module, &stream, &row),
            }
        }
    }
}
