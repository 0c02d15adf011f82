//! The severity mappings of a tenant as its devices use them: read once, remembered until an option changes.

use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::Mutex;

use crate::error::Result;
use crate::model::alarm_mapping::AlarmMappings;
use crate::model::id::TenantId;
use crate::store::{self, Database};

/// What a tenant's alarms are turned into, shared by its devices.
#[derive(Debug, Default)]
pub(crate) struct RememberedMappings {
    known: RwLock<Known>,
    /// Held while they are read, so that a fleet that raises at once reads once.
    reading: Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    mappings: Option<Arc<AlarmMappings>>,
    /// Rises with each change, so that a read under way does not bring old knowledge back.
    changes: u64,
}

impl RememberedMappings {
    /// Forgets them, because an option of the tenant changed.
    pub(crate) fn forget(&self) {
        let mut known = self.known.write();
        known.changes += 1;
        known.mappings = None;
    }

    /// The mappings in force.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn get(&self, database: &Database, tenant: &TenantId) -> Result<Arc<AlarmMappings>> {
        if let Some(mappings) = self.known.read().mappings.clone() {
            return Ok(mappings);
        }
        let _reading = self.reading.lock().await;
        let changes = {
            let known = self.known.read();
            if let Some(mappings) = known.mappings.clone() {
                return Ok(mappings);
            }
            known.changes
        };
        let mappings = Arc::new(store::options::list_alarm_mappings(database, tenant).await?);
        let mut known = self.known.write();
        if known.changes == changes {
            known.mappings = Some(mappings.clone());
        }
        Ok(mappings)
    }
}
