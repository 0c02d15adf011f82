//! The log-in of people with the identity provider of their tenant: the authorization code flow with PKCE (OpenID
//! Connect Core 1.0, section 3.1; RFC 7636; C-26).

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use form_urlencoded::Serializer;
use hyper::Uri;
use platform_front::secrets::password;
use platform_model::tenancy::identity_provider::{Client, IdentityProvider};
use platform_model::tenancy::tenant::{CommandLogin, LoginOption};
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use super::token::{Purpose, Token};
use super::{LoggedIn, Provider, Refusal};
use crate::auth::Authenticator;
use crate::http::error::{ApiError, Result};
use crate::outbound_requests::post_form;

/// The number of characters of a secret, which nobody can guess.
const SECRET_LENGTH: usize = 43;

/// One log-in of a browser. The browser keeps its secret in a cookie, and everything that the provider sees of it
/// follows from the secret.
pub(crate) struct Attempt {
    secret: String,
}

/// The response of the token endpoint.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

impl Attempt {
    /// Begins a log-in.
    pub(crate) fn begin() -> Self {
        Self { secret: password::draw(SECRET_LENGTH) }
    }

    /// Continues the log-in whose secret a browser has kept; `None` for a text that is not one.
    pub(crate) fn of_secret(secret: &str) -> Option<Self> {
        let is_one = secret.len() == SECRET_LENGTH && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_one.then(|| Self { secret: secret.to_owned() })
    }

    /// Returns what the browser keeps.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns the state, by which the browser shows that it has begun the log-in.
    pub(crate) fn state(&self) -> String {
        self.derived("state")
    }

    fn nonce(&self) -> String {
        self.derived("nonce")
    }

    fn verifier(&self) -> String {
        self.derived("verifier")
    }

    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier().as_bytes()))
    }

    fn derived(&self, purpose: &str) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, format!("{purpose} {}", self.secret).as_bytes()))
    }
}

impl Authenticator {
    /// Returns the way to log in with the identity provider of the tenant that a host belongs to, if there is one.
    ///
    /// # Errors
    /// `Forbidden` for a suspended tenant, `Unavailable` or `Database`.
    pub(crate) async fn single_sign_on(&self, host: &str) -> Result<Option<LoginOption>> {
        let (_, provider) = self.provider_of_host(host).await?;
        let Some(provider) = provider else { return Ok(None) };
        let IdentityProvider { issuer, client, command_client, .. } = &provider.described;
        let console = client.is_some();
        let commands = command_client.clone().map(|Client { id, scope, .. }| CommandLogin {
            issuer: issuer.clone(),
            command_client_id: id,
            scope,
        });
        let is_offered = console || commands.is_some();
        Ok(is_offered.then_some(LoginOption::IdentityProvider { console, commands }))
    }

    /// Returns the address at the provider where a person logs in, and from where the browser returns to `back`.
    ///
    /// # Errors
    /// `NoSuchPath` without a provider or a client of it; `Unavailable` if the provider does not respond.
    pub(crate) async fn authorization_url(
        &self,
        host: &str,
        attempt: &Attempt,
        back: &str,
    ) -> Result<String> {
        let (_, provider) = self.provider_of_host(host).await?;
        let provider = provider.ok_or_else(not_offered)?;
        let (client, description) =
            (client(&provider)?, self.identity_providers.description(&provider).await?);
        // A header cannot have other text.
        let endpoint = description.authorization_endpoint.filter(|url| url.parse::<Uri>().is_ok());
        let endpoint = endpoint.ok_or_else(not_offered)?;
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", back)
            .append_pair("scope", &client.scope)
            .append_pair("state", &attempt.state())
            .append_pair("nonce", &attempt.nonce())
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256")
            .finish();
        Ok(with_query(&endpoint, &query))
    }

    /// Redeems the code with which a browser has returned, and returns the person, whose user is created or adapted.
    /// The inner error is the reason why the provider does not identify a user of the tenant.
    ///
    /// # Errors
    /// `NoSuchPath` and `Unavailable` as for [`authorization_url`](Self::authorization_url).
    pub(crate) async fn redeem(
        &self,
        host: &str,
        attempt: &Attempt,
        code: &str,
        back: &str,
    ) -> Result<Result<LoggedIn, Refusal>> {
        let (tenant, provider) = self.provider_of_host(host).await?;
        let provider = provider.ok_or_else(not_offered)?;
        let client = client(&provider)?;
        let description = self.identity_providers.description(&provider).await?;
        let endpoint = description.token_endpoint.ok_or_else(not_offered)?;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", back)
            .append_pair("client_id", &client.id)
            .append_pair("code_verifier", &attempt.verifier());
        let providers = &self.identity_providers;
        let sent =
            post_form(&endpoint, form.finish(), authorization(client), &providers.allowed, &providers.roots);
        let tokens: Tokens = match sent.await {
            Ok(tokens) => tokens,
            Err(error) => {
                tracing::warn!(%tenant, error, "an identity provider did not redeem a code");
                return Ok(Err(Refusal::Unconfirmed));
            }
        };
        let token = Token::parse(&tokens.id_token, Purpose::Identity);
        let token = token.filter(|token| token.is_of_client(&client.id));
        let refused = |reason| Ok(Err(Refusal::Token(reason)));
        let Some(token) = token else {
            return refused("the ID token is not for this client, or not valid now");
        };
        if token.claims.others.get("nonce").and_then(|nonce| nonce.as_str()) != Some(&attempt.nonce()) {
            return refused("the ID token is of another log-in");
        }
        if !self.verify_signature(&provider, &token).await? {
            return refused("the identity provider of the tenant has not signed the ID token");
        }
        self.admit_person(tenant, &provider, &token).await
    }
}

pub(super) fn client(provider: &Provider) -> Result<&Client> {
    provider.described.client.as_ref().ok_or_else(not_offered)
}

pub(super) fn not_offered() -> ApiError {
    ApiError::NoSuchPath("/console/sso".into())
}

/// Returns an address with further parameters.
pub(super) fn with_query(endpoint: &str, query: &str) -> String {
    let separator = if endpoint.contains('?') { '&' } else { '?' };
    format!("{endpoint}{separator}{query}")
}

/// Returns the credentials of a client that has a secret (RFC 6749, section 2.3.1).
fn authorization(client: &Client) -> Option<String> {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let secret = client.secret.as_ref()?;
    Some(format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(&client.id), encoded(secret)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_attempt_differ_and_follow_from_its_secret() {
        let attempt = Attempt::begin();
        let again = Attempt::of_secret(attempt.secret()).expect("a secret");
        assert_eq!((attempt.state(), attempt.challenge()), (again.state(), again.challenge()));
        assert_ne!(attempt.state(), attempt.nonce());
        assert_ne!(attempt.state(), Attempt::begin().state());
        assert!((43..=128).contains(&attempt.verifier().len()));
        for text in ["", "short", &"-".repeat(43), &"a".repeat(44)] {
            assert!(Attempt::of_secret(text).is_none(), "{text}");
        }
    }
}
