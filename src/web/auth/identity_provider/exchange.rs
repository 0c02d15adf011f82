//! The log-in of people to the commands (C-34). The command receives an ID token by the device authorization grant
//! (RFC 8628), in which no browser returns to the server. So the server accepts a token only right after its issue,
//! and once.

use platform_model::users::token_client::TokenHash;
use platform_store::users::spent_tokens::spend;

use super::token::{Purpose, Token};
use super::{LoggedIn, Provider, Refusal};
use crate::auth::{Authenticator, RequestSource};
use crate::http::error::{ApiError, Result};

/// The path at which a token is exchanged.
const PATH: &str = "/tenant/loginOptions/oauth2/tokens";

impl Authenticator {
    /// Returns the person of an ID token that the commands received from the identity provider of the tenant that a
    /// host belongs to. The user of the person is created or adapted. The inner error is the reason for another
    /// token than one of this client that was issued just now and is not used yet, and if the person cannot be a user.
    ///
    /// # Errors
    /// `NoSuchPath` without a provider or a client of the commands; `Unavailable` if the provider does not respond.
    pub(crate) async fn exchange(
        &self,
        host: &str,
        text: &str,
        source: RequestSource,
    ) -> Result<Result<LoggedIn, Refusal>> {
        let (tenant, provider) = self.provider_of_host(host).await?;
        let not_offered = || ApiError::NoSuchPath(PATH.into());
        let provider = provider.ok_or_else(not_offered)?;
        let client = provider.described.command_client.as_ref().ok_or_else(not_offered)?;
        let token = Token::parse(text, Purpose::Identity).filter(|token| token.is_of_client(&client.id));
        let refused = |reason| Ok(Err(Refusal::Token(reason)));
        let Some(token) = token else {
            return refused("the ID token is not for the commands, or not valid now");
        };
        // The log-in of a browser has a nonce; its token must not become a log-in of a command.
        if token.has("nonce") {
            return refused("the ID token is of another log-in");
        }
        if !token.is_recent() {
            return refused("the ID token was not issued just now; log in again");
        }
        if !self.verify_in_turn(&provider, &token, source).await? {
            return refused("the identity provider of the tenant has not signed the ID token");
        }
        if !spend(&self.database, &tenant, TokenHash::of(text), token.remaining).await? {
            return refused("the ID token was used before; log in again");
        }
        self.admit_person(tenant, &provider, &token).await
    }

    /// Verifies a signature as [`verify_signature`](Self::verify_signature) does, with a wrong one as a guess of its
    /// source.
    pub(super) async fn verify_in_turn(
        &self,
        provider: &Provider,
        token: &Token<'_>,
        source: RequestSource,
    ) -> Result<bool> {
        let verified = {
            let _turn = self.throttle.slow_down(source).await?;
            self.verify_signature(provider, token).await?
        };
        if !verified {
            self.throttle.failed_at(source);
        }
        Ok(verified)
    }
}
