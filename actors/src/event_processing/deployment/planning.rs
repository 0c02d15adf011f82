//! Plans of the modules of a tenant, which see each other's schemas and streams.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event_processing::language::parse;
use crate::event_processing::plan::{Catalog, ModulePlan, plan};
use crate::model::id::ModuleId;

/// A module as far as it is planned: its id, the name in force, its text.
pub(crate) type Text = (ModuleId, Arc<str>, Arc<str>);

/// What became of modules that were planned together.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) plans: HashMap<ModuleId, Arc<ModulePlan>>,
    /// Those that do not go together with the others, and why, as their author is shown it.
    pub(crate) refused: HashMap<ModuleId, String>,
}

/// Plans modules together. Of two that contradict each other the later one is refused.
pub(crate) fn plan_together(texts: &[Text]) -> Planned {
    let mut planned = Planned::default();
    for (id, _, text) in texts {
        match parse(text).and_then(|module| plan(&module, &Catalog::default())) {
            Ok(plan) => drop(planned.plans.insert(*id, Arc::new(plan))),
            Err(mistake) => drop(planned.refused.insert(*id, mistake.shown(text).to_string())),
        }
    }
    planned
}
