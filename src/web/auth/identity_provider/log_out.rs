//! The end of log-ins with the identity provider: its own log-outs, which it reports (OpenID Connect Back-Channel
//! Logout 1.0 and Front-Channel Logout 1.0; C-35), and the address at which a person logs out there (OpenID Connect
//! RP-Initiated Logout 1.0; C-36).

use std::sync::Arc;
use std::time::Duration;

use form_urlencoded::Serializer;
use hyper::Uri;
use platform_model::id::TenantId;
use platform_model::tenancy::identity_provider::Client;
use platform_model::users::token_client::TokenHash;
use platform_store::users::user_tokens::{LogOut, ProviderSession, log_out};

use super::token::{EVENTS, Purpose, RECENT, Token};
use super::{Provider, code_flow};
use crate::auth::{Authenticator, RequestSource};
use crate::http::error::{ApiError, Result};

/// The event of a log-out (OpenID Connect Back-Channel Logout 1.0, section 2.4).
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// The time for which a logout token may come, so that none counts twice, and for which nobody logs in with a token
/// from before the log-out.
const KEPT: Duration = Duration::from_secs(2 * RECENT as u64);

impl Authenticator {
    /// Revokes the access tokens of the log-in that a logout token names: of a session, a person, or both. The inner
    /// error is the reason why the token is not acceptable.
    ///
    /// # Errors
    /// `NoSuchPath` without a provider or a client of it; `Unavailable` if the provider does not respond; `Database`.
    pub(crate) async fn log_out_by_token(
        &self,
        Registered { tenant, provider }: &Registered,
        text: &str,
        source: RequestSource,
    ) -> Result<Result<(), &'static str>> {
        let Some(token) = Token::parse(text, Purpose::LogOut) else {
            return Ok(Err("it is not a logout token that is valid now"));
        };
        if !clients(provider).any(|client| token.is_for(&client.id)) {
            return Ok(Err("it is for another client"));
        }
        let named = match Named::of(&token) {
            Ok(named) => named,
            Err(reason) => return Ok(Err(reason)),
        };
        if !self.verify_in_turn(provider, &token, source).await? {
            return Ok(Err("the identity provider of the tenant has not signed it"));
        }
        let issuer = &*provider.described.issuer;
        let of = ProviderSession { issuer, subject: named.subject, session: named.session };
        let once = TokenHash::of(&format!("logout {issuer} {}", named.id));
        let is_first = self.end_session(tenant, of, Some(once)).await?;
        Ok(if is_first { Ok(()) } else { Err("it was used before") })
    }

    /// Revokes the access tokens of a session at the provider. The name of the session is the only credential.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn log_out_session(
        &self,
        Registered { tenant, provider }: &Registered,
        session: &str,
    ) -> Result<()> {
        let of =
            ProviderSession { issuer: &provider.described.issuer, subject: None, session: Some(session) };
        self.end_session(tenant, of, None).await.map(drop)
    }

    /// Revokes access tokens, unless the logout token was used before. Returns whether it is used for the first time.
    async fn end_session(
        &self,
        tenant: &TenantId,
        of: ProviderSession<'_>,
        once: Option<TokenHash>,
    ) -> Result<bool> {
        let ended = of.session.map(|session| ended(of.issuer, session));
        let Some(revoked) = log_out(&self.database, tenant, LogOut { of, once, ended, kept: KEPT }).await?
        else {
            return Ok(false);
        };
        for (user, id) in revoked {
            tracing::info!(target: "platform::security", %tenant, user, id, "logged out by the identity provider");
        }
        Ok(true)
    }

    /// Returns the tenant that a host belongs to, with the provider with which its people log in.
    ///
    /// # Errors
    /// `NoSuchPath` if there is none.
    pub(crate) async fn registered_at(&self, host: &str, path: &str) -> Result<Registered> {
        let (tenant, provider) = self.provider_of_host(host).await?;
        let provider = provider.filter(|provider| clients(provider).next().is_some());
        let provider = provider.ok_or_else(|| ApiError::NoSuchPath(path.to_owned()))?;
        Ok(Registered { tenant, provider })
    }

    /// Returns the address at which a person of the console logs out at the provider, and from where the browser
    /// returns to `back`; `None` if the provider offers none.
    ///
    /// # Errors
    /// `NoSuchPath` without a provider or a client of it; `Unavailable` if the provider does not respond.
    pub(crate) async fn end_session_url(&self, host: &str, back: &str) -> Result<Option<String>> {
        let (_, provider) = self.provider_of_host(host).await?;
        let provider = provider.ok_or_else(code_flow::not_offered)?;
        let client = code_flow::client(&provider)?;
        let description = self.identity_providers.description(&provider).await?;
        // A header cannot have other text.
        let endpoint = description.end_session_endpoint.filter(|url| url.parse::<Uri>().is_ok());
        let query = Serializer::new(String::new())
            .append_pair("client_id", &client.id)
            .append_pair("post_logout_redirect_uri", back)
            .finish();
        Ok(endpoint.map(|endpoint| code_flow::with_query(&endpoint, &query)))
    }
}

/// A tenant whose people log in with an identity provider.
pub(crate) struct Registered {
    tenant: TenantId,
    provider: Arc<Provider>,
}

impl Registered {
    /// Returns the tenant.
    pub(crate) fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Returns the URL that the tokens of the provider contain as `iss`.
    pub(crate) fn issuer(&self) -> &str {
        &self.provider.described.issuer
    }
}

/// Returns the clients of a tenant at its provider.
fn clients(provider: &Provider) -> impl Iterator<Item = &Client> {
    [&provider.described.client, &provider.described.command_client].into_iter().flatten()
}

/// The log-in that a logout token names.
struct Named<'t> {
    id: &'t str,
    subject: Option<&'t str>,
    session: Option<&'t str>,
}

impl<'t> Named<'t> {
    /// Returns the log-in if the claims are those of a logout token.
    ///
    /// # Errors
    /// The reason why they are not.
    fn of(token: &'t Token<'_>) -> Result<Self, &'static str> {
        let events = token.claims.others.get(EVENTS).and_then(|events| events.as_object());
        if !events.and_then(|events| events.get(EVENT)).is_some_and(serde_json::Value::is_object) {
            return Err("its claim `events` names no log-out");
        }
        if token.has("nonce") {
            return Err("it has a nonce, so it is an ID token");
        }
        if !token.is_recent() {
            return Err("it was not issued just now");
        }
        let name = |claim| match token.name(claim) {
            None if token.has(claim) => Err("its claims `sub` and `sid` are no names"),
            name => Ok(name),
        };
        let (subject, session) = (name("sub")?, name("sid")?);
        if subject.is_none() && session.is_none() {
            return Err("it names neither a person nor a session");
        }
        let id = token.name("jti").ok_or("it has no id (`jti`)")?;
        Ok(Self { id, subject, session })
    }
}

/// Returns the hash by which an ended session of a provider is known.
pub(super) fn ended(issuer: &str, session: &str) -> TokenHash {
    TokenHash::of(&format!("ended {issuer} {session}"))
}
