//! Bearer tokens that the identity provider of a tenant signed (docs/rules.md#c-25): its people get a user with the
//! first one, and each further one adapts the groups of the user.

mod key;
mod provider;

use std::time::{Duration, Instant};

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Algorithm, decode_header};
use platform_store::users::{find_user, identified};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::jwt::{bearer, remaining};
use super::throttle::RequestSource;
use super::{Authenticator, Caller, Proof};
use crate::http::error::{ApiError, Result};
pub(super) use provider::IdentityProviders;

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
    /// Parses the value of an `Authorization` header if it is a token that could be valid now.
    fn from_header(value: &'t [u8]) -> Option<Self> {
        let text = bearer(value)?;
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
        let token = Token::from_header(header).ok_or(ApiError::Unauthorized)?;
        let expires = Instant::now() + token.remaining;
        let seen = self.changes.now();
        let tenant = self.tenant_of_visitors(host).await?;
        let provider = self.identity_providers.find(&tenant, &self.changes).await?;
        let provider = provider.ok_or(ApiError::Unauthorized)?;
        let described = &provider.described;
        let refused = |reason: &str| {
            tracing::warn!(target: "platform::security", %tenant, %source, reason, "token refused");
            ApiError::Unauthorized
        };
        if token.claims.iss != described.issuer || !token.is_for(&described.audience) {
            return Err(refused("it is of another issuer or for another audience"));
        }
        let key = {
            let _turn = self.throttle.slow_down(source).await?;
            self.identity_providers.key(&provider, &token.key).await?
        };
        let signed = key.is_some_and(|key| key.signed(token.text, token.algorithm));
        if !signed {
            self.throttle.failed_at(source);
            return Err(refused("no key of the identity provider has signed it"));
        }
        let user = described.identify(&token.claims.others);
        let user = user.ok_or_else(|| refused("its claims name no user"))?;
        if !identified::admit(&self.database, &tenant, &described.issuer, &user).await? {
            return Err(refused("its user was not created by the identity provider"));
        }
        let found = find_user(&self.database, &tenant, &user.name).await?;
        let (account, status) =
            found.filter(|(user, _)| user.enabled).ok_or_else(|| refused("its user is disabled"))?;
        tracing::info!(
            target: "platform::security", %tenant, user = %user.name, issuer = described.issuer, "token admitted"
        );
        self.admit(account, status, Proof::Jwt { expires }, seen)
    }
}
