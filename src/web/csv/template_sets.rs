//! A cache of the template sets of all tenants: looked up by X-Id, compiled once (S-12, S-15, S-17).

use std::sync::Arc;

use platform_model::id::{ManagedObjectId, TenantId};
use platform_store::Database;
use platform_store::devices::inventory::template_sets::{Revision, find_template_set};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::groups::is_x_id;
use super::static_templates;
use super::template_set::TemplateSet;
use crate::http::error::Result;

/// The expected number of sets in use; the cache is bounded by their size.
const EXPECTED: usize = 1000;
/// The size of the stored sets whose compiled forms are cached, in bytes.
const REMEMBERED: u64 = 64 << 20;

/// A registered set.
#[derive(Debug)]
pub(crate) struct RegisteredSet {
    /// The managed object that stores it.
    pub(crate) object: ManagedObjectId,
    /// The compiled set.
    pub(crate) set: TemplateSet,
    revision: Revision,
    bytes: u64,
}

/// A set that rows and notifications can select.
#[derive(Debug, Clone)]
pub(crate) enum Set {
    /// The built-in set (H-01).
    Static,
    /// A registered set.
    Registered(Arc<RegisteredSet>),
}

/// The cache of template sets; see the module. An entry is valid until an external id of its tenant changes.
/// Then the set is looked up again, and compiled again if it changed. So every change is in force with the
/// next row.
#[derive(Debug)]
pub(crate) struct TemplateSets(Cache<(TenantId, Box<str>), CachedSet, BySize>);

#[derive(Debug, Clone)]
struct CachedSet {
    known: Arc<RegisteredSet>,
    /// The value of [`Database::names_generation`] before the look-up.
    generation: u64,
}

#[derive(Debug, Clone)]
struct BySize;

impl Weighter<(TenantId, Box<str>), CachedSet> for BySize {
    fn weight(&self, (_, x_id): &(TenantId, Box<str>), remembered: &CachedSet) -> u64 {
        x_id.len() as u64 + remembered.known.bytes
    }
}

impl Default for TemplateSets {
    fn default() -> Self {
        Self(Cache::with_weighter(EXPECTED, REMEMBERED, BySize))
    }
}

impl TemplateSets {
    /// Returns the set of an X-Id, if there is one.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn select(
        &self,
        database: &Database,
        tenant: &TenantId,
        x_id: &str,
    ) -> Result<Option<Set>> {
        if x_id == static_templates::x_id() {
            Ok(Some(Set::Static))
        } else {
            Ok(self.find(database, tenant, x_id).await?.map(Set::Registered))
        }
    }

    /// Returns the registered set of an X-Id, which is its name or else the id of its object (S-12).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    async fn find(
        &self,
        database: &Database,
        tenant: &TenantId,
        x_id: &str,
    ) -> Result<Option<Arc<RegisteredSet>>> {
        if !is_x_id(x_id) {
            return Ok(None);
        }
        let key = (tenant.clone(), Box::from(x_id));
        let generation = database.names_generation(tenant);
        let remembered = self.0.get(&key);
        if let Some(remembered) = remembered.as_ref().filter(|known| known.generation == generation) {
            return Ok(Some(remembered.known.clone()));
        }
        let before = remembered.map(|remembered| remembered.known);
        let stored =
            find_template_set(database, tenant, x_id, before.as_ref().map(|known| &known.revision)).await?;
        let Some(stored) = stored else {
            self.0.remove(&key);
            return Ok(None);
        };
        let known = match (stored.fragment, before) {
            (None, Some(before)) => before,
            (fragment, _) => Arc::new(RegisteredSet::compile(stored.revision, &fragment.unwrap_or_default())),
        };
        self.0.insert(key, CachedSet { known: known.clone(), generation });
        Ok(Some(known))
    }
}

impl RegisteredSet {
    /// The size of a compiled set beside the text of its templates, at least.
    const OVERHEAD: u64 = 512;

    fn compile(revision: Revision, fragment: &str) -> Self {
        let set = TemplateSet::compile(&serde_json::from_str(fragment).unwrap_or_default());
        Self { object: revision.object, set, revision, bytes: Self::OVERHEAD + fragment.len() as u64 }
    }
}
