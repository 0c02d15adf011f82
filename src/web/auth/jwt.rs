//! Bearer tokens: JWTs that a tenant's own issuer signed (docs/rules.md#tenants-and-credentials; C-04).
//!
//! The key is one that the tenant uploaded as an option of category `token.publicKey`. Keys in the token
//! itself (`jwk`, `jku`, `x5c`, …) are ignored; a token with critical extensions (`crit`) is rejected.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use platform_model::id::TenantId;
use platform_model::naming::{Naming, spellings};
use platform_store::{self, Database};
use quick_cache::sync::Cache;
use serde::Deserialize;

use super::changes::{Changes, TenantBy};
use super::rsa::{PROVIDER, PublicKey, STRONG};
use super::throttle::RequestSource;
use super::{Authenticator, Caller, Proof};
use crate::http::error::{ApiError, Result};

/// The issuer, in the spelling of the rules and in that of the configured vendor (G-09a).
static ISSUERS: LazyLock<[String; 2]> = LazyLock::new(|| spellings(Naming::issuer));
/// The category of the options that hold keys; the key of an option is the `kid`.
const CATEGORY: &str = "token.publicKey";
/// The longest token that is parsed.
const MAX_TOKEN: usize = 8 << 10;
/// The number of characters of a `kid`, as of an option's key.
const MAX_KID: usize = 256;
/// The number of characters of a `sub`, as of a user name (U-08).
const MAX_USER: usize = 1000;
/// The number of cached keys, including those that do not exist.
const REMEMBERED_KEYS: usize = 10_000;
/// The end of the year 9999; a later time is invalid.
const LAST_SECOND: f64 = 253_402_300_799.0;

/// The claims of a token, not trusted until its signature is verified.
pub(super) struct Token<'t> {
    text: &'t str,
    /// The name of its key.
    pub(super) key: KeyName,
    /// The user of the token.
    pub(super) user: String,
    /// The remaining validity.
    pub(super) remaining: Duration,
}

/// The name of a tenant's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct KeyName {
    /// The audience of the token, a tenant.
    pub(super) tenant: TenantId,
    kid: Arc<str>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    sub: String,
    nbf: Option<f64>,
    exp: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    OneInAnArray([String; 1]),
}

impl<'t> Token<'t> {
    /// Parses the value of an `Authorization` header if it is a token that could be valid now. The response
    /// never says what is wrong with another one.
    pub(super) fn from_header(value: &'t [u8]) -> Option<Self> {
        let text = bearer(value)?;
        let header = decode_header(text).ok()?;
        let is_jwt = header.typ.is_none_or(|typ| typ.eq_ignore_ascii_case("JWT"));
        if header.alg != Algorithm::RS256 || !is_jwt || header.crit.is_some() {
            return None;
        }
        let kid = header.kid.filter(|kid| is_name(kid, MAX_KID))?;
        let claims: Claims = insecure_decode_claims(text).ok()?;
        let remaining = remaining(claims.nbf, claims.exp)?;
        let (Audience::One(tenant) | Audience::OneInAnArray([tenant])) = claims.aud;
        let tenant = TenantId::parse(&tenant).ok()?;
        let valid = ISSUERS.contains(&claims.iss) && is_name(&claims.sub, MAX_USER);
        valid.then(|| Self { text, key: KeyName { tenant, kid: kid.into() }, user: claims.sub, remaining })
    }

    fn is_signed_with(&self, key: &PublicKey) -> bool {
        // The claims are checked already, and more strictly: `jsonwebtoken` would truncate a number with a
        // fraction.
        let mut validation = Validation::new(Algorithm::RS256);
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_aud) = (false, false);
        decode::<serde::de::IgnoredAny>(self.text, &key.decoding, &validation).is_ok()
    }
}

/// Returns whether a header carries a bearer token, valid or not.
pub(super) fn is_bearer(value: &[u8]) -> bool {
    value.trim_ascii().get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"Bearer "))
}

/// Returns the bearer token of a header, unless it is too long.
pub(super) fn bearer(value: &[u8]) -> Option<&str> {
    let token = std::str::from_utf8(value.trim_ascii()).ok()?.get(7..)?.trim();
    (is_bearer(value) && token.len() <= MAX_TOKEN).then_some(token)
}

/// Returns whether a text may name a user or a key: PostgreSQL stores no NUL.
fn is_name(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.chars().count()) && !text.contains('\0')
}

/// Returns the time in seconds since 1970.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Returns the remaining validity of a token that is valid from `begins` to `ends`, in seconds; `None` when it is not
/// valid now.
pub(super) fn remaining(begins: Option<f64>, ends: f64) -> Option<Duration> {
    remaining_at(now(), begins, ends)
}

/// Returns the remaining validity at a time. There is no leeway (C-04).
fn remaining_at(now: f64, begins: Option<f64>, ends: f64) -> Option<Duration> {
    let is_time = |seconds: f64| (0.0..=LAST_SECOND).contains(&seconds);
    let begins = begins.unwrap_or_default();
    (is_time(begins) && is_time(ends) && begins <= now && now < ends)
        .then(|| Duration::from_secs_f64(ends - now))
}

/// A cache of the public keys of tenants.
pub(super) struct PublicKeys {
    database: Database,
    known: Cache<KeyName, Option<Arc<PublicKey>>>,
    /// The weak keys that were logged.
    logged: Cache<KeyName, ()>,
}

impl PublicKeys {
    pub(super) fn new(database: Database) -> Self {
        // An error means that the provider is installed already; there is only this one.
        PROVIDER.install_default().ok();
        Self { database, known: Cache::new(REMEMBERED_KEYS), logged: Cache::new(REMEMBERED_KEYS) }
    }

    /// Returns a cached key; the inner `None` is a key that does not exist or is unusable.
    pub(super) fn known(&self, name: &KeyName) -> Option<Option<Arc<PublicKey>>> {
        self.known.get(name)
    }

    /// Looks up a key.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn find(&self, name: &KeyName, changes: &Changes) -> Result<Option<Arc<PublicKey>>> {
        let since = changes.now();
        let text = platform_store::tenancy::tenants::options::find_option(
            &self.database,
            &name.tenant,
            CATEGORY,
            &name.kid,
        )
        .await?;
        let key = text.as_deref().and_then(PublicKey::parse).map(Arc::new);
        changes.while_unchanged(since, || self.known.insert(name.clone(), key.clone()));
        Ok(key)
    }

    /// Drops the keys of a tenant, or of all.
    pub(super) fn forget(&self, tenant: Option<&TenantId>) {
        self.known.retain(|name, _| tenant.is_some_and(|changed| name.tenant != *changed));
    }

    /// Returns whether a token was signed with the private half of this key. Logs the use of a weak key once.
    pub(super) fn proves(&self, token: &Token<'_>, key: &PublicKey) -> bool {
        let signed = token.is_signed_with(key);
        if signed && key.bits < STRONG && self.logged.get(&token.key).is_none() {
            self.logged.insert(token.key.clone(), ());
            let (tenant, kid) = (&token.key.tenant, &token.key.kid);
            tracing::warn!(
                tenant.id = %tenant, key.id = ?kid, key.bits = key.bits,
                "a tenant signs tokens with a weak key; use 2048 bits or more"
            );
        }
        signed
    }
}

impl Authenticator {
    /// Returns the caller of a JWT: one whose key the tenant uploaded names its tenant, and one of an identity provider
    /// is for the tenant of the host.
    pub(super) async fn verify_bearer(
        &self,
        header: &[u8],
        host: &str,
        source: RequestSource,
    ) -> Result<(Caller, TenantBy)> {
        match Token::from_header(header) {
            Some(token) => Ok((self.verify_token(token, source).await?, TenantBy::Credentials)),
            None => {
                let verification = Box::pin(self.verify_identified(header, host, source));
                Ok((verification.await?, TenantBy::Host))
            }
        }
    }

    /// Returns the caller of a token whose key the tenant uploaded (C-04). Looking up an uncached key counts as a
    /// guess; rejecting a token with a cached key is cheap.
    async fn verify_token(&self, token: Token<'_>, source: RequestSource) -> Result<Caller> {
        let expires = Instant::now() + token.remaining;
        let seen = self.changes.now();
        let key = match self.public_keys.known(&token.key) {
            Some(key) => key,
            None => {
                let _turn = self.throttle.slow_down(source).await?;
                let key = self.public_keys.find(&token.key, &self.changes).await?;
                if key.is_none() {
                    self.throttle.failed_at(source);
                }
                key
            }
        };
        // An unknown key was logged when it was looked up.
        let key = key.ok_or(ApiError::Unauthorized)?;
        if !self.public_keys.proves(&token, &key) {
            return Err(refused(&token, source));
        }
        let found = platform_store::users::find_user(&self.database, &token.key.tenant, &token.user).await?;
        let enabled = found.filter(|(user, _)| user.enabled);
        let (user, status) = enabled.ok_or_else(|| refused(&token, source))?;
        self.admit(user, status, Proof::Jwt { expires }, seen)
    }
}

/// Logs a token that is not signed by its tenant, or that names a user who cannot log in.
fn refused(token: &Token<'_>, source: RequestSource) -> ApiError {
    let tenant = &token.key.tenant;
    tracing::warn!(target: "platform::security", %tenant, %source, "token refused");
    ApiError::Unauthorized
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    const HEADER: &str = r#"{"typ":"JWT","alg":"RS256","kid":"k1"}"#;
    const CLAIMS: &str = r#"{"iss":"platform","aud":"main","sub":"joe","exp":9999999999}"#;

    fn header_of(header: &str, claims: &str) -> String {
        format!("Bearer {}.{}.c2ln", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
    }

    fn reads(header: &str, claims: &str) -> bool {
        Token::from_header(header_of(header, claims).as_bytes()).is_some()
    }

    #[test]
    fn token_names_tenant_key_and_user() {
        let header = header_of(HEADER, CLAIMS);
        let token = Token::from_header(header.as_bytes()).expect("a token");
        assert_eq!((token.key.tenant.as_str(), &*token.key.kid, &*token.user), ("main", "k1", "joe"));
    }

    #[test]
    fn headers_other_than_the_documented_are_refused() {
        for header in [
            r#"{"typ":"JWT","alg":"none","kid":"k1"}"#,
            r#"{"typ":"JWT","alg":"HS256","kid":"k1"}"#,
            r#"{"typ":"JWT","alg":"RS384","kid":"k1"}"#,
            r#"{"typ":"JWT","alg":"rs256","kid":"k1"}"#,
            r#"{"typ":"JWT","kid":"k1"}"#,
            r#"{"typ":"JWT","alg":"RS256"}"#,
            r#"{"typ":"JWT","alg":"RS256","kid":""}"#,
            r#"{"typ":"JWT","alg":"RS256","kid":7}"#,
            r#"{"typ":"JWT","alg":"RS256","kid":"a\u0000b"}"#,
            r#"{"typ":"JWT","alg":"RS256","kid":"k1","kid":"k2"}"#,
            r#"{"typ":"JWT","alg":"RS256","kid":"k1","crit":["exp"]}"#,
            r#"{"typ":"JWT","alg":"RS256","kid":"k1","crit":[]}"#,
            r#"{"typ":"JWE","alg":"RS256","kid":"k1"}"#,
            "[]",
            "",
        ] {
            assert!(!reads(header, CLAIMS), "{header}");
        }
        for header in [r#"{"alg":"RS256","kid":"k1"}"#, r#"{"typ":"jwt","alg":"RS256","kid":"k1","x":1}"#] {
            assert!(reads(header, CLAIMS), "{header}");
        }
    }

    #[test]
    fn claims_other_than_the_documented_are_refused() {
        let now = now();
        let with = |times: &str| format!(r#"{{"iss":"platform","aud":"main","sub":"joe",{times}}}"#);
        for claims in [
            &*with(r#""nbf":0"#),
            &with(r#""exp":null"#),
            &with(r#""exp":"9999999999""#),
            &with(r#""exp":1e300"#),
            &with(r#""exp":1e999"#),
            &with(r#""exp":-1"#),
            &with(r#""exp":true"#),
            &with(&format!(r#""exp":{now}"#)),
            &with(&format!(r#""exp":{}"#, now - 0.5)),
            &with(&format!(r#""nbf":{},"exp":9999999999"#, now + 30.0)),
            &with(r#""nbf":-5,"exp":9999999999"#),
            &with(r#""nbf":"0","exp":9999999999"#),
            &with(r#""exp":9999999999,"exp":9999999999"#),
            &with(r#""exp":9999999999,"sub":"ann""#),
            r#"{"iss":"Platform","aud":"main","sub":"joe","exp":9999999999}"#,
            r#"{"aud":"main","sub":"joe","exp":9999999999}"#,
            r#"{"iss":["platform"],"aud":"main","sub":"joe","exp":9999999999}"#,
            r#"{"iss":"platform","sub":"joe","exp":9999999999}"#,
            r#"{"iss":"platform","aud":["main","t7"],"sub":"joe","exp":9999999999}"#,
            r#"{"iss":"platform","aud":[],"sub":"joe","exp":9999999999}"#,
            r#"{"iss":"platform","aud":"no tenant","sub":"joe","exp":9999999999}"#,
            r#"{"iss":"platform","aud":"main","exp":9999999999}"#,
            r#"{"iss":"platform","aud":"main","sub":"","exp":9999999999}"#,
            r#"{"iss":"platform","aud":"main","sub":"a\u0000","exp":9999999999}"#,
            "[]",
        ] {
            assert!(!reads(HEADER, claims), "{claims}");
        }
        for claims in [
            &*with(&format!(r#""exp":{}"#, now + 30.5)),
            &with(&format!(r#""nbf":{},"exp":{}"#, now - 0.25, now + 30.0)),
            &with(r#""nbf":null,"exp":9999999999.75,"iat":"x","jti":{}"#),
            r#"{"iss":"platform","aud":["main"],"sub":"joe","exp":9999999999}"#,
        ] {
            assert!(reads(HEADER, claims), "{claims}");
        }
    }

    #[test]
    fn validity_has_no_leeway() {
        assert_eq!(remaining_at(100.0, Some(100.0), 200.5), Some(Duration::from_millis(100_500)));
        assert_eq!(remaining_at(99.999, Some(100.0), 200.0), None);
        assert_eq!(remaining_at(200.0, None, 200.0), None);
        assert_eq!(remaining_at(100.0, Some(f64::NAN), 200.0), None);
    }

    #[test]
    fn token_beyond_8_kib_is_refused() {
        let padding = " ".repeat(MAX_TOKEN);
        assert!(!reads(HEADER, &format!("{CLAIMS}{padding}")));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_token_or_none(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let _ = Token::from_header(&bytes);
            let _ = Token::from_header(&[b"Bearer ".as_slice(), &bytes].concat());
        }

        #[test]
        fn any_three_parts_are_a_token_or_none(header in r#"[\{\}\[\]":,a-zRS0-9.-]{0,60}"#, claims in ".{0,80}") {
            let _ = reads(&header, &claims);
            let _ = reads(HEADER, &claims);
        }
    }
}
