//! The template sets of all tenants, as far as they are in use: looked up by X-Id, compiled once (S-12, S-15, S-17).

use std::sync::Arc;

use platform_actors::model::id::{ManagedObjectId, TenantId};
use platform_actors::store::Database;
use platform_actors::store::template_sets::{Revision, find_template_set};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::groups::is_x_id;
use super::static_templates;
use super::template_set::TemplateSet;
use crate::http::error::Result;

/// Sets that are expected to be in use at once; what bounds them is their size.
const EXPECTED: usize = 1000;
/// Bytes of stored sets whose compiled forms are remembered.
const REMEMBERED: u64 = 64 << 20;

/// A registered set.
#[derive(Debug)]
pub(crate) struct Known {
    /// The managed object that holds it.
    pub(crate) object: ManagedObjectId,
    /// What it holds.
    pub(crate) set: TemplateSet,
    revision: Revision,
    bytes: u64,
}

/// A set that rows and notifications can name.
#[derive(Debug, Clone)]
pub(crate) enum Set {
    /// The one that is built in (H-01).
    Static,
    /// One that was registered.
    Registered(Arc<Known>),
}

/// See the module. A set stays remembered until a name of its tenant changes; then it is looked up again, and compiled again
/// when it has changed itself. So a change is in force with the next row, whoever made it and however.
#[derive(Debug)]
pub struct TemplateSets(Cache<(TenantId, Box<str>), Remembered, BySize>);

#[derive(Debug, Clone)]
struct Remembered {
    known: Arc<Known>,
    /// See [`Database::names_generation`].
    generation: u64,
}

#[derive(Debug, Clone)]
struct BySize;

impl Weighter<(TenantId, Box<str>), Remembered> for BySize {
    fn weight(&self, (_, x_id): &(TenantId, Box<str>), remembered: &Remembered) -> u64 {
        x_id.len() as u64 + remembered.known.bytes
    }
}

impl Default for TemplateSets {
    fn default() -> Self {
        Self(Cache::with_weighter(EXPECTED, REMEMBERED, BySize))
    }
}

impl TemplateSets {
    /// What an X-Id names, if anything.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn select(
        &self,
        database: &Database,
        tenant: &TenantId,
        x_id: &str,
    ) -> Result<Option<Set>> {
        match x_id == static_templates::x_id() {
            true => Ok(Some(Set::Static)),
            false => Ok(self.find(database, tenant, x_id).await?.map(Set::Registered)),
        }
    }

    /// The registered set of an X-Id: by its name, else by the id of its object (S-12).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    async fn find(&self, database: &Database, tenant: &TenantId, x_id: &str) -> Result<Option<Arc<Known>>> {
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
            (fragment, _) => Arc::new(Known::compile(stored.revision, &fragment.unwrap_or_default())),
        };
        self.0.insert(key, Remembered { known: known.clone(), generation });
        Ok(Some(known))
    }
}

impl Known {
    /// What a compiled set holds beside the text of its templates, at least.
    const OVERHEAD: u64 = 512;

    fn compile(revision: Revision, fragment: &str) -> Self {
        let set = TemplateSet::compile(&serde_json::from_str(fragment).unwrap_or_default());
        Self { object: revision.object, set, revision, bytes: Self::OVERHEAD + fragment.len() as u64 }
    }
}
