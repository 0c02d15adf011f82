//! The severity mappings of a tenant for its devices. They are read once and cached until an option changes.

use std::sync::Arc;

use parking_lot::RwLock;
use platform_model::data::alarm_mapping::AlarmMappings;
use platform_model::error::Result;
use platform_model::id::TenantId;
use tokio::sync::Mutex;

use platform_store::{self, Database};

/// The cached severity mappings of a tenant, shared by its devices.
#[derive(Debug, Default)]
pub(crate) struct CachedMappings {
    cache: RwLock<Cache>,
    /// Held while the mappings are read, so that many alarms at once cause one read.
    reading: Mutex<()>,
}

#[derive(Debug, Default)]
struct Cache {
    mappings: Option<Arc<AlarmMappings>>,
    /// Counts changes, so that a read that was under way during a change is not cached.
    changes: u64,
}

impl CachedMappings {
    /// Drops the cached mappings, because an option of the tenant changed.
    pub(crate) fn forget(&self) {
        let mut cache = self.cache.write();
        cache.changes += 1;
        cache.mappings = None;
    }

    /// Returns the current mappings.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn get(&self, database: &Database, tenant: &TenantId) -> Result<Arc<AlarmMappings>> {
        if let Some(mappings) = self.cache.read().mappings.clone() {
            return Ok(mappings);
        }
        let _reading = self.reading.lock().await;
        let changes = {
            let cache = self.cache.read();
            if let Some(mappings) = cache.mappings.clone() {
                return Ok(mappings);
            }
            cache.changes
        };
        let mappings =
            Arc::new(platform_store::tenancy::tenants::options::list_alarm_mappings(database, tenant).await?);
        let mut cache = self.cache.write();
        if cache.changes == changes {
            cache.mappings = Some(mappings.clone());
        }
        Ok(mappings)
    }
}
