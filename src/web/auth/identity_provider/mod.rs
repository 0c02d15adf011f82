//! Bearer tokens that the identity provider of a tenant signed (docs/rules.md#c-25): its people get a user with the
//! first one, and each further one adapts the groups of the user.

mod code_flow;
mod key;
mod provider;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Algorithm, decode_header};
use platform_model::id::TenantId;
use platform_model::tenancy::tenant::TenantStatus;
use platform_model::users::user::Account;
use platform_store::users::{find_user, identified};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::jwt::{bearer, remaining};
use super::throttle::RequestSource;
use super::{Authenticator, Caller, Proof};
use crate::http::error::{ApiError, Result};
pub(crate) use code_flow::Attempt;
pub(super) use provider::IdentityProviders;
use provider::Provider;

/// The types of tokens that are access tokens (RFC 9068), or that do not say what they are.
const TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];
/// The maximum number of characters of the id of a key.
const MAX_KID: usize = 256;

/// A token, not trusted until its signature is verified.
struct Token<'t> {
    text: &'t str,
    algorithm: Algorithm,
    key: String,
    claims: Claims,
    remaining: Duration,
}

/// The user of a verified token, with the number of changes at the look-up.
struct Identified {
    account: Account,
    status: TenantStatus,
    seen: u64,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    nbf: Option<f64>,
    exp: f64,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl<'t> Token<'t> {
    /// Parses a token if it could be valid now.
    fn parse(text: &'t str) -> Option<Self> {
        let header = decode_header(text).ok()?;
        let is_access_token =
            header.typ.is_none_or(|typ| TYPES.iter().any(|known| typ.eq_ignore_ascii_case(known)));
        let key = header.kid.filter(|kid| kid.len() <= MAX_KID)?;
        let claims: Claims = insecure_decode_claims(text).ok()?;
        let remaining = remaining(claims.nbf, claims.exp)?;
        let usable = is_access_token && header.crit.is_none();
        usable.then_some(Self { text, algorithm: header.alg, key, claims, remaining })
    }

    fn is_for(&self, audience: &str) -> bool {
        match &self.claims.aud {
            Audience::One(one) => one == audience,
            Audience::Several(several) => several.iter().any(|one| one == audience),
        }
    }
}

impl Authenticator {
    /// Returns the caller of a token of the identity provider of the tenant that a host belongs to (C-25).
    pub(super) async fn verify_identified(
        &self,
        header: &[u8],
        host: &str,
        source: RequestSource,
    ) -> Result<Caller> {
        let token = Token::parse(bearer(header).unwrap_or_default()).ok_or(ApiError::Unauthorized)?;
        let expires = Instant::now() + token.remaining;
        let (tenant, provider) = self.provider_of_host(host).await?;
        let provider = provider.ok_or(ApiError::Unauthorized)?;
        let refused = |reason: &str| {
            tracing::warn!(target: "platform::security", %tenant, %source, reason, "token refused");
            ApiError::Unauthorized
        };
        if !provider.described.audience.as_deref().is_some_and(|audience| token.is_for(audience)) {
            return Err(refused("it is for another audience"));
        }
        let verified = {
            let _turn = self.throttle.slow_down(source).await?;
            self.verify_signature(&provider, &token).await?
        };
        if !verified {
            self.throttle.failed_at(source);
            return Err(refused("the identity provider of the tenant has not signed it"));
        }
        match self.admit_identified(&tenant, &provider, &token).await? {
            Ok(Identified { account, status, seen }) => {
                self.admit(account, status, Proof::Jwt { expires }, seen)
            }
            Err(reason) => Err(refused(reason)),
        }
    }

    /// Returns the tenant that a host belongs to, with its provider.
    ///
    /// # Errors
    /// `Forbidden` for a suspended tenant, `Unavailable` or `Database`.
    async fn provider_of_host(&self, host: &str) -> Result<(TenantId, Option<Arc<Provider>>)> {
        let tenant = self.tenant_of_visitors(host).await?;
        let provider = self.identity_providers.find(&tenant, &self.changes).await?;
        Ok((tenant, provider))
    }

    /// Returns whether a token is of the issuer, and signed by one of its keys.
    ///
    /// # Errors
    /// `Unavailable` before the keys were read once.
    async fn verify_signature(&self, provider: &Provider, token: &Token<'_>) -> Result<bool> {
        if token.claims.iss != provider.described.issuer {
            return Ok(false);
        }
        let key = self.identity_providers.key(provider, &token.key).await?;
        Ok(key.is_some_and(|key| key.signed(token.text, token.algorithm)))
    }

    /// Creates or adapts the user of a verified token, and returns it; the inner error is the reason why the user
    /// cannot log in.
    ///
    /// # Errors
    /// `QuotaExceeded`, `Unavailable` or `Database`.
    async fn admit_identified(
        &self,
        tenant: &TenantId,
        provider: &Provider,
        token: &Token<'_>,
    ) -> Result<Result<Identified, &'static str>> {
        let issuer = &provider.described.issuer;
        let Some(user) = provider.described.identify(&token.claims.others) else {
            return Ok(Err("its claims name no user"));
        };
        if !identified::admit(&self.database, tenant, issuer, &user).await? {
            return Ok(Err("its user was not created by the identity provider"));
        }
        // The change of the groups counts as one that is seen.
        let seen = self.changes.now();
        let found = find_user(&self.database, tenant, &user.name).await?;
        let Some((account, status)) = found.filter(|(user, _)| user.enabled) else {
            return Ok(Err("its user is disabled"));
        };
        tracing::info!(target: "platform::security", %tenant, user = %user.name, issuer, "token admitted");
        Ok(Ok(Identified { account, status, seen }))
    }
}
