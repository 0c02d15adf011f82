//! Which application a request comes from, by the key it carries (C-05): remembered by this server until an application
//! changes anywhere, and so is that a key is nobody's.

use std::sync::Arc;

use platform_actors::store::Database;
use platform_actors::store::applications::find_application_by_key;
use quick_cache::sync::Cache;

use super::password::SecretKey;
use crate::http::error::Result;

/// Keys that are remembered. There are few applications; whoever makes keys up costs the others a look-up.
const REMEMBERED: usize = 10_000;
/// No key is longer (W-04).
const LONGEST: usize = 128;

/// See the module. Remembers keyed hashes, never keys.
pub(super) struct ApplicationKeys {
    database: Database,
    secret_key: Arc<SecretKey>,
    known: Cache<Box<str>, Known>,
}

#[derive(Clone)]
struct Known {
    /// The application's name; `None` when no application has the key.
    application: Option<Arc<str>>,
    /// See [`Database::applications_generation`].
    generation: u64,
}

impl ApplicationKeys {
    pub(super) fn new(database: Database, secret_key: Arc<SecretKey>) -> Self {
        Self { database, secret_key, known: Cache::new(REMEMBERED) }
    }

    /// The name of the key's application, or that there is none, as far as it is remembered.
    pub(super) fn known(&self, key: &str) -> Option<Option<Arc<str>>> {
        if key.len() > LONGEST {
            return Some(None);
        }
        let known = self.known.get(&*self.secret_key.hash_of_application_key(key))?;
        (known.generation == self.database.applications_generation()).then_some(known.application)
    }

    /// The name of the key's application.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn find(&self, key: &str) -> Result<Option<Arc<str>>> {
        if let Some(application) = self.known(key) {
            return Ok(application);
        }
        // Read before the look-up: what changes meanwhile makes what is found here out of date.
        let generation = self.database.applications_generation();
        let hash = self.secret_key.hash_of_application_key(key);
        let application = find_application_by_key(&self.database, &hash).await?.map(Arc::from);
        self.known.insert(hash.into(), Known { application: application.clone(), generation });
        Ok(application)
    }
}
