//! A cache of shapes: their definitions, and which sources are known to send them. Both never change once they are
//! stored, so cached entries stay valid, unless a tenant is imported with the rows that it had earlier.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use quick_cache::sync::Cache;

use platform_model::data::measurement::Shape;
use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};

use crate::query::prepared::PreparedQueries;

const FIND: &str = include_str!("../../../../../sql/queries/measurements/find_shapes.sql");

/// The number of cached pairs of source and shape; a fleet of a hundred thousand devices sends a few shapes each.
const SEEN: usize = 1_000_000;
/// The number of cached definitions.
const DEFINITIONS: usize = 10_000;

/// The shapes this process has met.
pub struct Shapes {
    seen: Cache<(ManagedObjectId, i64), ()>,
    definitions: Cache<(TenantId, i64), Arc<Shape>>,
}

impl Default for Shapes {
    fn default() -> Self {
        Self { seen: Cache::new(SEEN), definitions: Cache::new(DEFINITIONS) }
    }
}

impl Shapes {
    /// Returns whether a source is known to send a shape; both are stored then.
    pub fn are_seen(&self, source: ManagedObjectId, shape: i64) -> bool {
        self.seen.get(&(source, shape)).is_some()
    }

    /// Notes that a source sends a shape. It must be called after the commit.
    pub fn saw(&self, source: ManagedObjectId, shape: i64) {
        self.seen.insert((source, shape), ());
    }

    /// Forgets which sources send which shapes.
    pub fn forget_sources(&self) {
        self.seen.clear();
    }

    /// Returns the copy of a shape that all its measurements in memory share, because windows of modules retain many
    /// measurements.
    pub fn share(&self, tenant: &TenantId, number: i64, shape: Shape) -> Arc<Shape> {
        let key = (tenant.clone(), number);
        self.definitions.get(&key).unwrap_or_else(|| {
            let shape = Arc::new(shape);
            self.definitions.insert(key, shape.clone());
            shape
        })
    }

    /// Returns the definitions of shapes of a tenant, by number.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn definitions(
        &self,
        client: &deadpool_postgres::Client,
        tenant: &TenantId,
        wanted: impl IntoIterator<Item = i64>,
    ) -> Result<HashMap<i64, Arc<Shape>>> {
        let mut found = HashMap::new();
        let mut unknown = HashSet::new();
        for shape in wanted {
            match self.definitions.get(&(tenant.clone(), shape)) {
                Some(definition) => drop(found.insert(shape, definition)),
                None => drop(unknown.insert(shape)),
            }
        }
        if unknown.is_empty() {
            return Ok(found);
        }
        let unknown: Vec<i64> = unknown.into_iter().collect();
        for row in client.rows(FIND, &[&tenant.as_str(), &unknown]).await? {
            let definition: tokio_postgres::types::Json<Shape> = row.try_get(1)?;
            let definition = Arc::new(definition.0);
            self.definitions.insert((tenant.clone(), row.get(0)), definition.clone());
            found.insert(row.get(0), definition);
        }
        if unknown.iter().all(|shape| found.contains_key(shape)) {
            Ok(found)
        } else {
            Err(Error::unavailable("a shape of measurements was deleted concurrently"))
        }
    }
}
