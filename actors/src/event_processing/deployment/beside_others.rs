//! How a plan depends on the other modules of the tenant: its inputs, and whether other modules changed its meaning.

use crate::event_processing::feed::Appetite;
use crate::event_processing::plan::{Catalog, Declared, ModulePlan, Stream};

impl ModulePlan {
    /// Returns the events that the module must be fed with.
    pub(crate) fn appetite(&self) -> Appetite {
        let named = self.streams.iter().filter_map(|stream| match stream {
            Stream::Named(name, _) => Some(name.clone()),
            Stream::Input(_) | Stream::Window(_) => None,
        });
        Appetite { inputs: self.inputs, streams: named.collect() }
    }

    /// Returns whether a plan of the same text, planned beside other modules, has the same meaning.
    pub(super) fn is_same_beside_others(&self, other: &Self) -> bool {
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
