//! Tenant resolution by host name (C-01), with or without a region's label in front
//! (docs/rules.md#tenants-and-credentials).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use platform_model::id::TenantId;
use platform_model::tenancy::tenant::TenantStatus;
use platform_store::{self, Database};

use crate::http::error::{ApiError, Result};

/// A cache of the tenants by host name; dropped when a tenant changes, and read again when needed.
pub(super) struct Domains {
    database: Database,
    default_tenant: TenantId,
    /// The labels of regions, in lower case.
    regions: Vec<String>,
    known: RwLock<Option<Arc<DomainTable>>>,
    /// The number of invalidations, so that a concurrent read does not cache outdated data.
    forgotten: AtomicU64,
}

#[derive(Default)]
struct DomainTable {
    by_domain: HashMap<String, TenantId>,
    ids: HashSet<String>,
    inactive: HashMap<TenantId, TenantStatus>,
}

impl Domains {
    pub(super) fn new(database: Database, default_tenant: TenantId, regions: Vec<String>) -> Self {
        Self { database, default_tenant, regions, known: RwLock::default(), forgotten: AtomicU64::new(0) }
    }

    pub(super) fn forget(&self) {
        let mut known = self.known.write();
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        *known = None;
    }

    /// Returns the tenant of a host: that of a registered domain, with or without a region's label in front,
    /// or else the default tenant. A host whose first label is a tenant's id but not its domain is rejected,
    /// because an id must not be mistaken for a host name.
    pub(super) async fn tenant_of(&self, host: &str) -> Result<TenantId> {
        let known = self.known().await?;
        let host = host.to_ascii_lowercase();
        if let Some(tenant) = self.found(&known, &host) {
            return Ok(tenant.clone());
        }
        let mut names = [Some(&*host), self.behind_region(&host)].into_iter().flatten();
        if names.any(|name| known.is_named_by_id(name)) {
            Err(ApiError::forbidden_because("use <tenant>/<user> on this host"))
        } else {
            Ok(self.default_tenant.clone())
        }
    }

    /// Returns the tenant of a host as [`Domains::tenant_of`] does, but never rejects one.
    pub(super) async fn tenant_served_at(&self, host: &str) -> Result<TenantId> {
        let known = self.known().await?;
        Ok(self.found(&known, &host.to_ascii_lowercase()).unwrap_or(&self.default_tenant).clone())
    }

    /// Returns the tenant that serves requests without credentials (W-17): that of [`Domains::tenant_of`],
    /// unless it is suspended or has moved.
    pub(super) async fn tenant_of_visitors(&self, host: &str) -> Result<TenantId> {
        let tenant = self.tenant_of(host).await?;
        match self.known().await?.inactive.get(&tenant) {
            None | Some(TenantStatus::Active) => Ok(tenant),
            Some(TenantStatus::Suspended) => Err(ApiError::suspended()),
            Some(TenantStatus::Moved) => Err(ApiError::Moved),
        }
    }

    /// Returns whether a host is the domain of this tenant.
    pub(super) async fn is_domain_of(&self, tenant: &TenantId, host: &str) -> Result<bool> {
        Ok(self.found(&*self.known().await?, &host.to_ascii_lowercase()) == Some(tenant))
    }

    /// Returns the tenant whose domain a host is. A domain that starts with a region's label has precedence
    /// over the domain after the label.
    fn found<'k>(&self, known: &'k DomainTable, host: &str) -> Option<&'k TenantId> {
        known.of_domain(host).or_else(|| known.of_domain(self.behind_region(host)?))
    }

    /// Returns the host name after the label of a region.
    fn behind_region<'h>(&self, host: &'h str) -> Option<&'h str> {
        let (label, rest) = host.split_once('.')?;
        self.regions.iter().any(|region| region == label).then_some(rest)
    }

    async fn known(&self) -> Result<Arc<DomainTable>> {
        if let Some(known) = &*self.known.read() {
            return Ok(known.clone());
        }
        let before = self.forgotten.load(Ordering::Acquire);
        let mut known = DomainTable::default();
        for (tenant, domain, status) in platform_store::tenancy::tenants::list_domains(&self.database).await?
        {
            known.ids.insert(tenant.to_string());
            if status != TenantStatus::Active {
                known.inactive.insert(tenant.clone(), status);
            }
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

impl super::Authenticator {
    /// Returns whether a tenant has moved to another deployment (Z-22). One that cannot be looked up has not.
    pub async fn has_moved(&self, tenant: &TenantId) -> bool {
        let known = self.domains.known().await;
        known.is_ok_and(|known| known.inactive.get(tenant) == Some(&TenantStatus::Moved))
    }
}

impl DomainTable {
    fn of_domain(&self, host: &str) -> Option<&TenantId> {
        self.by_domain.get(host).or_else(|| self.by_domain.get(without_port(host)))
    }

    /// Returns whether the first label of a host is a tenant's id.
    fn is_named_by_id(&self, host: &str) -> bool {
        without_port(host).split_once('.').is_some_and(|(label, _)| self.ids.contains(label))
    }
}

fn without_port(host: &str) -> &str {
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}
