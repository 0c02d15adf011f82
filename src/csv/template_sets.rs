//! The template sets of all tenants, as far as they are in use: looked up by X-Id, compiled once (S-12, S-15, S-17).

use std::sync::Arc;

use platform_actors::model::id::{ManagedObjectId, TenantId};
use platform_actors::store::Database;
use platform_actors::store::template_sets::find_template_set;

use super::groups::is_x_id;
use super::template_set::TemplateSet;
use crate::http::error::Result;

/// A registered set.
#[derive(Debug)]
pub(crate) struct Known {
    /// The managed object that holds it.
    pub(crate) object: ManagedObjectId,
    /// What it holds.
    pub(crate) set: TemplateSet,
}

/// See the module.
#[derive(Debug, Default)]
pub struct TemplateSets {}

impl TemplateSets {
    /// The set of an X-Id: by its name, else by the id of its object (S-12).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn find(
        &self,
        database: &Database,
        tenant: &TenantId,
        x_id: &str,
    ) -> Result<Option<Arc<Known>>> {
        if !is_x_id(x_id) {
            return Ok(None);
        }
        let stored = find_template_set(database, tenant, x_id).await?;
        Ok(stored.map(|stored| {
            let set = TemplateSet::compile(&stored.fragment);
            Arc::new(Known { object: stored.object, set })
        }))
    }
}
