//! What a plan has to do with the other modules of the tenant: what it is fed with, and whether they made another one of it.

use crate::event_processing::feed::Appetite;
use crate::event_processing::plan::{Catalog, Declared, ModulePlan, Stream};

impl ModulePlan {
    /// What it is fed with.
    pub(crate) fn appetite(&self) -> Appetite {
        let named = self.streams.iter().filter_map(|stream| match stream {
            Stream::Named(name, _) => Some(name.clone()),
            Stream::Input(_) | Stream::Window(_) => None,
        });
        Appetite { inputs: self.inputs, streams: named.collect() }
    }

    /// Whether a plan of the same text means the same, planned beside other modules.
    pub(super) fn is_same_beside_others(&self, other: &Self) -> bool {
        // Not which of them declares it, and under which name it is known.
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
