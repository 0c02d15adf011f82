//! Tenant resolution by host name (C-01).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use platform_actors::model::id::TenantId;
use platform_actors::store::{self, Database};

use crate::http::error::{ApiError, Result};

/// Which host name means which tenant; dropped when a tenant changes, read again when needed.
pub(super) struct Domains {
    database: Database,
    default_tenant: TenantId,
    known: RwLock<Option<Arc<Known>>>,
    /// Rises when it is forgotten, so that a reading under way does not bring old knowledge back.
    forgotten: AtomicU64,
}

#[derive(Default)]
struct Known {
    by_domain: HashMap<String, TenantId>,
    ids: HashSet<String>,
}

impl Domains {
    pub(super) fn new(database: Database, default_tenant: TenantId) -> Self {
        Self { database, default_tenant, known: RwLock::default(), forgotten: AtomicU64::new(0) }
    }

    pub(super) fn forget(&self) {
        let mut known = self.known.write();
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        *known = None;
    }

    /// The tenant of a host: a registered domain, else the default tenant. A host whose first label is a tenant's id
    /// but not its domain is refused: the id must not be guessed to be a host name.
    pub(super) async fn tenant_of(&self, host: &str) -> Result<TenantId> {
        let known = self.known().await?;
        let host = host.to_ascii_lowercase();
        let name = without_port(&host);
        if let Some(tenant) = known.of_domain(&host) {
            return Ok(tenant.clone());
        }
        match name.split_once('.') {
            Some((label, _)) if known.ids.contains(label) => {
                Err(ApiError::forbidden_because("use <tenant>/<user> on this host"))
            }
            _ => Ok(self.default_tenant.clone()),
        }
    }

    /// As [`Domains::tenant_of`], but whose request it is does not matter: there is always somebody who is served.
    pub(super) async fn tenant_served_at(&self, host: &str) -> Result<TenantId> {
        let known = self.known().await?;
        Ok(known.of_domain(&host.to_ascii_lowercase()).unwrap_or(&self.default_tenant).clone())
    }

    async fn known(&self) -> Result<Arc<Known>> {
        if let Some(known) = &*self.known.read() {
            return Ok(known.clone());
        }
        let before = self.forgotten.load(Ordering::Acquire);
        let mut known = Known::default();
        for (tenant, domain) in store::tenants::list_domains(&self.database).await? {
            known.ids.insert(tenant.to_string());
            known.by_domain.insert(domain, tenant);
        }
        let known = Arc::new(known);
        let mut remembered = self.known.write();
        if self.forgotten.load(Ordering::Acquire) == before {
            *remembered = Some(known.clone());
        }
        Ok(known)
    }
}

impl Known {
    fn of_domain(&self, host: &str) -> Option<&TenantId> {
        self.by_domain.get(host).or_else(|| self.by_domain.get(without_port(host)))
    }
}

fn without_port(host: &str) -> &str {
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}
