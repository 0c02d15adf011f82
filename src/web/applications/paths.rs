//! Maps a tenant and a context path to an application. The results are cached until an application or a subscription
//! changes on any server.

use std::sync::Arc;

use platform_model::applications::application::{Application, ApplicationType, TenantRelation};
use platform_model::error::{Error, Noun};
use platform_model::id::TenantId;
use platform_store::Database;
use platform_store::applications::find_application_at;
use quick_cache::sync::Cache;

use crate::http::error::{ApiError, Result};

/// The maximum number of cached pairs of tenant and context path.
const REMEMBERED: usize = 10_000;
/// The maximum length of a context path (W-04).
const LONGEST: usize = 255;

/// The cache that maps a tenant and a context path to an application.
#[derive(Debug)]
pub struct ApplicationPaths(Cache<(TenantId, Box<str>), Remembered>);

#[derive(Debug, Clone)]
struct Remembered {
    application: Arc<Application>,
    relation: TenantRelation,
    /// See [`Database::applications_generation`].
    generation: u64,
}

impl Default for ApplicationPaths {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl ApplicationPaths {
    /// Looks up the application of this kind that a tenant uses at a context path.
    ///
    /// # Errors
    /// `NotFound` for an application that the tenant cannot see, `Forbidden` for one of the market to which it is not
    /// subscribed; `Unavailable` or `Database`.
    pub(crate) async fn used(
        &self,
        database: &Database,
        tenant: &TenantId,
        context_path: &str,
        kind: ApplicationType,
    ) -> Result<Arc<Application>> {
        let unknown = || {
            let shown: String = context_path.chars().take(64).collect();
            ApiError::from(Error::not_found(Noun::Application, shown))
        };
        if context_path.len() > LONGEST || context_path.contains('\0') {
            return Err(unknown());
        }
        let found = self.find(database, tenant, context_path).await?;
        match found.filter(|known| known.application.kind == kind) {
            Some(known) if known.relation == TenantRelation::Uses => Ok(known.application),
            Some(_) => Err(ApiError::forbidden_because("the tenant does not subscribe to the application")),
            None => Err(unknown()),
        }
    }

    async fn find(
        &self,
        database: &Database,
        tenant: &TenantId,
        context_path: &str,
    ) -> Result<Option<Remembered>> {
        let key = (tenant.clone(), Box::from(context_path));
        let generation = database.applications_generation();
        if let Some(known) = self.0.get(&key).filter(|known| known.generation == generation) {
            return Ok(Some(known));
        }
        let Some((application, relation)) = find_application_at(database, tenant, context_path).await? else {
            self.0.remove(&key);
            return Ok(None);
        };
        let known = Remembered { application: Arc::new(application), relation, generation };
        self.0.insert(key, known.clone());
        Ok(Some(known))
    }
}
