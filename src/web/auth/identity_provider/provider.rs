//! The identity providers of tenants, and their keys, which are read when a token needs them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_front::config::AllowedHost;
use platform_front::secrets::password::SecretKey;
use platform_front::tls::Roots;
use platform_model::error::Error;
use platform_model::id::TenantId;
use platform_model::tenancy::identity_provider::{CLIENT_SECRET, IDENTITY_PROVIDER, IdentityProvider};
use platform_store::Database;
use platform_store::tenancy::tenants::options::list_stored;
use quick_cache::sync::Cache;
use serde::Deserialize;
use tokio::sync::{Mutex, MutexGuard};

use super::key::{Jwk, SigningKey};
use super::token::Token;
use crate::auth::changes::Changes;
use crate::http::error::{ApiError, Result};
use crate::outbound_requests::read_json;

/// The number of tenants whose providers are cached, including those without.
const REMEMBERED: usize = 10_000;
/// The maximum number of keys of a provider; further ones are ignored.
const MAX_KEYS: usize = 100;
/// The time after which keys are read again, so that a withdrawn key stops counting.
const FRESH: Duration = Duration::from_secs(600);
/// The time for which keys count if the provider does not respond.
const USABLE: Duration = Duration::from_secs(3600);
/// The shortest time between two requests for the keys of a provider.
const BETWEEN_REQUESTS: Duration = Duration::from_secs(2);

/// The identity providers of tenants.
pub(in crate::auth) struct IdentityProviders {
    database: Database,
    secret_key: Arc<SecretKey>,
    /// The hosts that the operator allows.
    pub(super) allowed: Vec<AllowedHost>,
    pub(super) roots: Roots,
    known: Cache<TenantId, Option<Arc<Provider>>>,
}

/// The provider of a tenant with its keys.
pub(in crate::auth) struct Provider {
    pub(in crate::auth) described: IdentityProvider,
    published: Mutex<Published>,
}

/// The published documents of a provider, as they were read last.
#[derive(Default)]
struct Published {
    description: Option<Description>,
    keys: HashMap<String, SigningKey>,
    requested: Option<Instant>,
    read: Option<Instant>,
}

impl Published {
    /// Returns the key with an id, or the only key.
    fn key(&self, id: Option<&str>) -> Option<&SigningKey> {
        match id {
            Some(id) => self.keys.get(id),
            None => self.keys.values().next().filter(|_| self.keys.len() == 1),
        }
    }
}

/// The members of a provider's description that are used (OpenID Connect Discovery 1.0, section 3).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Description {
    issuer: String,
    jwks_uri: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) end_session_endpoint: Option<String>,
}

#[derive(Deserialize)]
struct KeySet {
    /// Keys of kinds that are not known may have any members.
    keys: Vec<serde_json::Value>,
}

impl IdentityProviders {
    pub(in crate::auth) fn new(
        database: Database,
        secret_key: Arc<SecretKey>,
        allowed: Vec<AllowedHost>,
    ) -> Self {
        Self { database, secret_key, allowed, roots: Roots::of_machine(), known: Cache::new(REMEMBERED) }
    }

    /// Drops the provider of a tenant, or of all.
    pub(in crate::auth) fn forget(&self, tenant: Option<&TenantId>) {
        self.known.retain(|known, _| tenant.is_some_and(|changed| known != changed));
    }

    /// Returns the provider of a tenant, if it has one.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(in crate::auth) async fn find(
        &self,
        tenant: &TenantId,
        changes: &Changes,
    ) -> Result<Option<Arc<Provider>>> {
        if let Some(known) = self.known.get(tenant) {
            return Ok(known);
        }
        let since = changes.now();
        let options = list_stored(&self.database, tenant, IDENTITY_PROVIDER).await?;
        let plain = options.into_iter().filter_map(|(key, value)| match &*key {
            CLIENT_SECRET => {
                let place = [tenant.as_str(), IDENTITY_PROVIDER, &key];
                Some((key.clone(), self.secret_key.sealing().open(place, &value)?))
            }
            _ => Some((key, value)),
        });
        let described = IdentityProvider::of_options(plain);
        let provider =
            described.map(|described| Arc::new(Provider { described, published: Mutex::default() }));
        changes.while_unchanged(since, || self.known.insert(tenant.clone(), provider.clone()));
        Ok(provider)
    }

    /// Returns whether a key of a provider has signed a token: the key that the token names, or the only one if it
    /// names none (OpenID Connect Core 1.0, section 10.1). A key that is not known may be new, and so may be the only
    /// one if it does not fit.
    ///
    /// # Errors
    /// `Unavailable` if the provider has not responded yet.
    pub(super) async fn signed(&self, provider: &Provider, token: &Token<'_>) -> Result<bool> {
        let signs = |key: &SigningKey| key.signed(token.text, token.algorithm);
        let suffices = |published: &Published| {
            published.key(token.key.as_deref()).is_some_and(|key| token.key.is_some() || signs(key))
        };
        let published = self.published(provider, suffices).await?;
        Ok(published.key(token.key.as_deref()).is_some_and(signs))
    }

    /// Returns the description of a provider.
    ///
    /// # Errors
    /// `Unavailable` if the provider has not responded yet.
    pub(super) async fn description(&self, provider: &Provider) -> Result<Description> {
        let published = self.published(provider, |published| published.description.is_some()).await?;
        published.description.clone().ok_or_else(silent)
    }

    /// Returns what a provider publishes. One request at a time reads it, if it is old or insufficient.
    async fn published<'p>(
        &self,
        provider: &'p Provider,
        suffices: impl FnOnce(&Published) -> bool,
    ) -> Result<MutexGuard<'p, Published>> {
        let mut published = provider.published.lock().await;
        let within = |since: Option<Instant>, limit| since.is_some_and(|since| since.elapsed() < limit);
        if within(published.read, FRESH) && suffices(&published) {
            return Ok(published);
        }
        if !within(published.requested, BETWEEN_REQUESTS) {
            published.requested = Some(Instant::now());
            match self.read(&provider.described).await {
                Ok((description, keys)) => {
                    (published.description, published.keys) = (Some(description), keys);
                    published.read = Some(Instant::now());
                }
                Err(error) => {
                    let issuer = &provider.described.issuer;
                    tracing::warn!(issuer, error, "the keys of an identity provider cannot be read");
                }
            }
        }
        if within(published.read, USABLE) { Ok(published) } else { Err(silent()) }
    }

    /// Reads the description of a provider, and then its keys.
    ///
    /// # Errors
    /// The reason, for the log.
    async fn read(
        &self,
        described: &IdentityProvider,
    ) -> Result<(Description, HashMap<String, SigningKey>), String> {
        let url = described.discovery_url();
        let description: Description = read_json(&url, &self.allowed, &self.roots).await?;
        if description.issuer != described.issuer {
            return Err(format!("{url}: it describes the issuer '{}'", description.issuer));
        }
        let set: KeySet = read_json(&description.jwks_uri, &self.allowed, &self.roots).await?;
        let keys = set.keys.into_iter().take(MAX_KEYS).filter_map(|key| {
            let jwk: Jwk = serde_json::from_value(key).ok()?;
            Some((jwk.kid.clone().unwrap_or_default(), SigningKey::of(&jwk)?))
        });
        let keys = keys.collect();
        Ok((description, keys))
    }
}

fn silent() -> ApiError {
    Error::unavailable("the identity provider of the tenant does not respond").into()
}
