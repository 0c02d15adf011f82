//! Whether other modules of the tenant changed the meaning of a plan.

use super::{Catalog, Declared, ModulePlan};

impl ModulePlan {
    /// Returns whether a plan of the same text, planned beside other modules, has the same meaning.
    pub fn is_same_beside_others(&self, other: &Self) -> bool {
        // The name of the module that declares a stream does not matter.
        let are_same = |one: &Catalog, other: &Catalog| {
            one.len() == other.len()
                && one.iter().all(|(name, one)| {
                    let is_same =
                        |other: &Declared| (&one.columns, one.manner) == (&other.columns, other.manner);
                    other.get(name).is_some_and(is_same)
                })
        };
        are_same(&self.uses, &other.uses) && are_same(&self.declares, &other.declares)
    }
}
