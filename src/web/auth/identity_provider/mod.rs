//! Bearer tokens that the identity provider of a tenant signed (docs/rules.md#c-25): its people get a user with the
//! first one, and each further one adapts the groups of the user.

mod code_flow;
mod exchange;
mod key;
mod log_out;
mod provider;
mod refusal;
mod token;

use std::sync::Arc;
use std::time::Instant;

use platform_model::id::TenantId;
use platform_model::tenancy::tenant::TenantStatus;
use platform_model::users::user::Account;
use platform_store::users::spent_tokens::is_spent;
use platform_store::users::user_tokens::{Authenticated, ProviderSession};
use platform_store::users::{find_user, identified};

use super::jwt::bearer;
use super::throttle::RequestSource;
use super::{Authenticator, Caller, Proof};
use crate::http::error::{ApiError, Result};
pub(crate) use code_flow::Attempt;
pub(super) use provider::IdentityProviders;
use provider::Provider;
pub(crate) use refusal::Refusal;
use token::{Purpose, Token};

/// The user of a verified token, with the number of changes at the look-up.
struct Identified {
    account: Account,
    status: TenantStatus,
    seen: u64,
}

/// A person who has logged in.
pub(crate) struct LoggedIn {
    /// The tenant of the host.
    pub(crate) tenant: TenantId,
    /// The user of the person.
    pub(crate) account: Account,
    issuer: String,
    /// The name of the person at the provider.
    subject: String,
    /// The session at the provider, if it names one.
    session: Option<String>,
}

impl LoggedIn {
    /// Returns the log-in in exchange for which a token is issued.
    pub(crate) fn authenticated(&self) -> Authenticated<'_> {
        Authenticated::IdentityProvider(ProviderSession {
            issuer: &self.issuer,
            subject: Some(&self.subject),
            session: self.session.as_deref(),
        })
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
        let token = Token::parse(bearer(header).unwrap_or_default(), Purpose::Access);
        let token = token.ok_or(ApiError::Unauthorized)?;
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
        if !self.verify_in_turn(&provider, &token, source).await? {
            return Err(refused("the identity provider of the tenant has not signed it"));
        }
        match self.admit_identified(&tenant, &provider, &token).await? {
            Ok(Identified { account, status, seen }) => {
                self.admit(account, status, Proof::Jwt { expires }, seen)
            }
            Err(refusal) => Err(refused(refusal.reason())),
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
        self.identity_providers.signed(provider, token).await
    }

    /// Creates or adapts the user of the person of a verified ID token; the inner error is the reason why the person
    /// cannot log in.
    ///
    /// # Errors
    /// `QuotaExceeded`, `Unavailable` or `Database`.
    async fn admit_person(
        &self,
        tenant: TenantId,
        provider: &Provider,
        token: &Token<'_>,
    ) -> Result<Result<LoggedIn, Refusal>> {
        let session = token.name("sid").map(str::to_owned);
        let Some(subject) = token.name("sub").filter(|_| session.is_some() || !token.has("sid")) else {
            return Ok(Err(Refusal::Token("its claims `sub` and `sid` are no names")));
        };
        let (issuer, subject) = (provider.described.issuer.clone(), subject.to_owned());
        if let Some(session) = &session
            && is_spent(&self.database, &tenant, log_out::ended(&issuer, session)).await?
        {
            return Ok(Err(Refusal::Token("its session at the identity provider has ended; log in again")));
        }
        let admitted = self.admit_identified(&tenant, provider, token).await?;
        Ok(admitted.map(|Identified { account, .. }| LoggedIn { tenant, account, issuer, subject, session }))
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
    ) -> Result<Result<Identified, Refusal>> {
        let issuer = &provider.described.issuer;
        let Some(user) = provider.described.identify(&token.claims.others) else {
            return Ok(Err(Refusal::NoUser));
        };
        if !identified::admit(&self.database, tenant, issuer, &user).await? {
            return Ok(Err(Refusal::OtherUser));
        }
        // The change of the groups counts as one that is seen.
        let seen = self.changes.now();
        let found = find_user(&self.database, tenant, &user.name).await?;
        let Some((account, status)) = found.filter(|(user, _)| user.enabled) else {
            return Ok(Err(Refusal::Disabled));
        };
        tracing::info!(target: "platform::security", %tenant, user = %user.name, issuer, "token admitted");
        Ok(Ok(Identified { account, status, seen }))
    }
}
