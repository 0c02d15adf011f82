//! Tokens of identity providers as JSON Web Tokens (RFC 7519), before their signature is verified.

use std::time::Duration;

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Algorithm, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::auth::jwt::{now, remaining};

/// The maximum number of characters of the id of a key.
const MAX_KID: usize = 256;
/// The maximum number of characters of the name of a person and of a session, which for a person the standard has too
/// (OpenID Connect Core 1.0, section 2).
const MAX_NAME: usize = 255;
/// The time after its issue within which a token is recent, in seconds.
pub(super) const RECENT: f64 = 300.0;
/// The time by which the clock of a provider may be ahead, in seconds.
const AHEAD: f64 = 60.0;
/// The claim that only logout tokens have (OpenID Connect Back-Channel Logout 1.0, section 2.4).
pub(super) const EVENTS: &str = "events";

/// The purpose of a token, with which it must not be used for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is a credential of requests.
    Access,
    /// It names a person to a client.
    Identity,
    /// It ends a session.
    LogOut,
}

/// A token, not trusted until its signature is verified.
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    pub(super) algorithm: Algorithm,
    pub(super) key: Option<String>,
    pub(super) claims: Claims,
    pub(super) remaining: Duration,
}

#[derive(Deserialize)]
pub(super) struct Claims {
    pub(super) iss: String,
    aud: Audience,
    nbf: Option<f64>,
    exp: Option<f64>,
    #[serde(flatten)]
    pub(super) others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Purpose {
    /// Returns the types of such tokens. A token may also say nothing about its type.
    fn types(self) -> &'static [&'static str] {
        match self {
            Self::Access => &["JWT", "at+jwt", "application/at+jwt"],
            Self::Identity => &["JWT"],
            Self::LogOut => &["JWT", "logout+jwt", "application/logout+jwt"],
        }
    }
}

impl<'t> Token<'t> {
    /// Parses a token if it could be valid now for a purpose. A logout token needs no expiry, because it must be
    /// recent.
    pub(super) fn parse(text: &'t str, purpose: Purpose) -> Option<Self> {
        let header = decode_header(text).ok()?;
        let is_of_type = |typ: &str| purpose.types().iter().any(|known| typ.eq_ignore_ascii_case(known));
        if !header.typ.as_deref().is_none_or(is_of_type) || header.crit.is_some() {
            return None;
        }
        let brings_key = header.jwk.is_some() || header.jku.is_some() || header.x5u.is_some();
        if brings_key || header.kid.as_ref().is_some_and(|kid| kid.len() > MAX_KID) {
            return None;
        }
        let claims: Claims = insecure_decode_claims(text).ok()?;
        let is_log_out = purpose == Purpose::LogOut;
        let ends = claims.exp.or_else(|| is_log_out.then(|| now() + RECENT))?;
        let remaining = remaining(claims.nbf, ends)?;
        let token = Self { text, algorithm: header.alg, key: header.kid, claims, remaining };
        (token.claims.others.contains_key(EVENTS) == is_log_out).then_some(token)
    }

    /// Returns whether an audience is among those of the token.
    pub(super) fn is_for(&self, audience: &str) -> bool {
        match &self.claims.aud {
            Audience::One(one) => one == audience,
            Audience::Several(several) => several.iter().any(|one| one == audience),
        }
    }

    /// Returns whether the token was issued to a client (OpenID Connect Core 1.0, section 3.1.3.7).
    pub(super) fn is_of_client(&self, client: &str) -> bool {
        self.is_for(client) && self.claims.others.get("azp").is_none_or(|party| party == client)
    }

    /// Returns whether the token was issued just now, as far as the clocks of provider and server agree.
    pub(super) fn is_recent(&self) -> bool {
        let issued = self.claims.others.get("iat").and_then(Value::as_f64);
        issued.is_some_and(|issued| (-AHEAD..=RECENT).contains(&(now() - issued)))
    }

    /// Returns the name of a person or of a session in a claim; `None` for a text that cannot be one.
    pub(super) fn name(&self, claim: &str) -> Option<&str> {
        let text = self.claims.others.get(claim)?.as_str()?;
        let is_name = !text.is_empty() && text.chars().count() <= MAX_NAME && !text.contains('\0');
        is_name.then_some(text)
    }

    /// Returns whether a claim is there.
    pub(super) fn has(&self, claim: &str) -> bool {
        self.claims.others.contains_key(claim)
    }
}
