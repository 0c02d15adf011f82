//! Access tokens: issued to clients that prove their identity (T-01 to T-04), and accepted as bearer tokens
//! for the user of the client (T-05, T-06). A token is opaque: unlike a JWT it has no dots.

use std::time::{Duration, Instant};

use platform_actors::Platform;
use platform_front::secrets::access_token::draw;
pub(crate) use platform_front::secrets::access_token::is_token;
use platform_front::secrets::password;
use platform_model::id::TenantId;
use platform_model::users::token_client::{TokenHash, parse_client_id};
use platform_model::users::user_token::{NewUserToken, UserToken};
use platform_store::users::access_tokens::{Granted, Issued};
use platform_store::users::user_tokens::{Authenticated, Draft, insert_token};

use super::jwt::bearer;
use super::throttle::RequestSource;
use super::{Authenticator, Caller, Proof, RateLimit};
use crate::http::error::{ApiError, Result, TokenFlaw};

/// The number of characters of the id of a user's token.
const ID_LENGTH: usize = 20;
/// A text that is never a consumer key.
const NO_KEY: &str = "-";

/// The rate limit for clients that request access tokens, and for log-ins with identity providers, by address (T-07).
pub struct TokenRequests(pub RateLimit);

/// Whether the API requires an access token on every path and accepts no other credentials (T-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayCheck {
    /// Passwords, JWTs and access tokens are accepted.
    Off,
    /// Only access tokens are accepted.
    On,
}

/// Returns the opaque token in an `Authorization` header, valid or not.
pub(crate) fn from_header(header: &[u8]) -> Option<&str> {
    bearer(header).filter(|token| !token.contains('.'))
}

/// Returns the hash by which a token is looked up; `None` for a text that cannot be a token.
pub(super) fn hash(token: &str) -> Option<TokenHash> {
    is_token(token).then(|| TokenHash::of(token))
}

/// Issues a token to a user for itself (T-10), valid for a time unless it is renewed, and returns it with its stored
/// form. Returns `None` when the user was disabled or deleted, or authenticates otherwise meanwhile.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn issue_to_user(
    platform: &Platform,
    (tenant, user): (&TenantId, &str),
    new: &NewUserToken,
    validity: Duration,
    authenticated: Authenticated<'_>,
) -> Result<Option<(String, UserToken)>> {
    let (id, token) = (password::draw(ID_LENGTH), draw());
    let draft = Draft { tenant, user, id: &id, hash: TokenHash::of(&token), new, validity, authenticated };
    let stored = insert_token(platform.database(), draft).await?;
    Ok(stored.map(|stored| (token, stored)))
}

impl Authenticator {
    /// Issues a token to a client that proves its identity by its consumer secret. An unknown client, a wrong
    /// secret and a client whose user or tenant is disabled cannot be distinguished, neither by the response
    /// nor by its time.
    ///
    /// # Errors
    /// `Unauthorized` for all of these; `TooManyRequests` when too many requests of the source are waiting
    /// already.
    pub async fn issue_token(
        &self,
        client: &str,
        secret: &str,
        source: RequestSource,
    ) -> Result<(String, Issued)> {
        let _turn = self.throttle.slow_down(source).await?;
        let key = parse_client_id(client).unwrap_or(NO_KEY);
        let found = platform_store::users::token_clients::find_secret(&self.database, key).await?;
        let hash = found.as_ref().map_or(&self.unmatched_secret_hash, |(_, hash)| hash);
        let proven = self.verifies(secret, hash).await?;
        let Some((tenant, _)) = found.filter(|_| proven) else {
            self.throttle.failed_at(source);
            return Err(ApiError::Unauthorized);
        };
        let token = draw();
        let issued = platform_store::users::access_tokens::insert_token(
            &self.database,
            &tenant,
            client,
            TokenHash::of(&token),
            self.token_validity,
        );
        Ok((token, issued.await?.ok_or(ApiError::Unauthorized)?))
    }

    /// Returns the caller of an access token. An unknown token counts as a wrong guess.
    pub(super) async fn verify_access_token(&self, token: &str, source: RequestSource) -> Result<Caller> {
        let hash = hash(token).ok_or_else(|| self.refusal(TokenFlaw::Invalid))?;
        let seen = self.changes.now();
        let _turn = self.throttle.slow_down(source).await?;
        let Some(granted) = platform_store::users::access_tokens::find_token(&self.database, hash).await?
        else {
            self.throttle.failed_at(source);
            return Err(self.refusal(TokenFlaw::Invalid));
        };
        let remaining = granted.remaining.ok_or_else(|| self.refusal(TokenFlaw::Expired))?;
        let expires = Instant::now() + remaining;
        let found = platform_store::users::find_user(&self.database, &granted.tenant, &granted.user).await?;
        let enabled = found.filter(|(user, _)| user.enabled);
        let (user, status) = enabled.ok_or_else(|| self.refusal(TokenFlaw::Invalid))?;
        let Granted { scope, requested, .. } = granted;
        self.admit(user, status, Proof::AccessToken { hash, scope, expires, requested }, seen)
    }

    /// Returns the current state of credentials: a token may have been revoked, or renewed (T-10). Returns `None` when
    /// they are no longer valid.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn current_proof(&self, proof: Proof) -> Result<Option<Proof>> {
        let hash = match proof {
            Proof::AccessToken { hash, .. } => hash,
            Proof::Certificate { fingerprint, .. } => return self.still_certified(&fingerprint).await,
            Proof::Password | Proof::PasswordAndCode | Proof::ClientId { .. } | Proof::Jwt { .. } => {
                let valid = proof.expires().is_none_or(|expires| expires > Instant::now());
                return Ok(valid.then_some(proof));
            }
        };
        let found = platform_store::users::access_tokens::find_token(&self.database, hash).await?;
        Ok(found.and_then(|granted| {
            let Granted { scope, requested, remaining, .. } = granted;
            let expires = Instant::now() + remaining?;
            Some(Proof::AccessToken { hash, scope, expires, requested })
        }))
    }

    /// Returns the error for missing or invalid credentials, in the form of the gateway if the gateway check
    /// is on (T-05).
    pub(super) fn refusal(&self, flaw: TokenFlaw) -> ApiError {
        match self.gateway {
            GatewayCheck::On => ApiError::AccessToken(flaw),
            GatewayCheck::Off => ApiError::Unauthorized,
        }
    }

    /// Returns whether the gateway check is on, so that every request needs an access token.
    pub fn demands_tokens(&self) -> bool {
        self.gateway == GatewayCheck::On
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_token_is_one_and_differs() {
        let (one, other) = (draw(), draw());

        assert!(hash(&one).is_some() && hash(&one) != hash(&other));
        assert_eq!(from_header(format!("bearer  {one} ").as_bytes()), Some(&*one));
    }

    #[test]
    fn text_that_cannot_be_a_token_is_not_looked_up() {
        for text in [
            "",
            "abc",
            &"x".repeat(42),
            &"x".repeat(44),
            &format!("{}-", "x".repeat(42)),
            &"\u{e9}".repeat(43),
        ] {
            assert!(hash(text).is_none(), "{text}");
        }
        for header in ["", "Basic abc", "Bearer a.b.c", "Bearer", "Bearerabc"] {
            assert_eq!(from_header(header.as_bytes()), None, "{header}");
        }
    }
}
