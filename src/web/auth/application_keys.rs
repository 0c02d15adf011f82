//! A cache of application keys (C-05). An entry, also of an unknown key, is valid until an application
//! changes at any server.

use std::sync::Arc;

use platform_front::secrets::password::SecretKey;
use platform_store::Database;
use platform_store::applications::find_application_by_key;
use quick_cache::sync::Cache;

use crate::http::error::Result;

/// The number of cached keys. There are few applications; requests with invented keys only cause additional
/// queries.
const REMEMBERED: usize = 10_000;
/// The longest key (W-04).
const LONGEST: usize = 128;

/// The cache of application keys; see the module. It stores keyed hashes, never keys.
pub(super) struct ApplicationKeys {
    database: Database,
    secret_key: Arc<SecretKey>,
    known: Cache<Box<str>, CachedKey>,
}

#[derive(Clone)]
struct CachedKey {
    /// The application's name; `None` when no application has the key.
    application: Option<Arc<str>>,
    /// The value of [`Database::applications_generation`] before the look-up.
    generation: u64,
}

impl ApplicationKeys {
    pub(super) fn new(database: Database, secret_key: Arc<SecretKey>) -> Self {
        Self { database, secret_key, known: Cache::new(REMEMBERED) }
    }

    /// Returns the cached name of the key's application; the inner `None` means that no application has the
    /// key.
    pub(super) fn known(&self, key: &str) -> Option<Option<Arc<str>>> {
        if key.len() > LONGEST {
            return Some(None);
        }
        let known = self.known.get(&*self.secret_key.hash_of_application_key(key))?;
        (known.generation == self.database.applications_generation()).then_some(known.application)
    }

    /// Returns the name of the key's application.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn find(&self, key: &str) -> Result<Option<Arc<str>>> {
        if let Some(application) = self.known(key) {
            return Ok(application);
        }
        // The generation is read before the look-up, so that a concurrent change makes the entry outdated.
        let generation = self.database.applications_generation();
        let hash = self.secret_key.hash_of_application_key(key);
        let application = find_application_by_key(&self.database, &hash).await?.map(Arc::from);
        self.known.insert(hash.into(), CachedKey { application: application.clone(), generation });
        Ok(application)
    }
}
