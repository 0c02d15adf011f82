//! Access tokens that users request for themselves (docs/rules.md#access-tokens; T-10).

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT, missing};
use crate::error::{Error, Noun, Result};
use crate::links::Linked;
use crate::timestamp::Timestamp;
use crate::users::token_client::{Scope, TokenHash};

/// The time after its creation at which a token ends, however often it is renewed.
pub const LONGEST: Duration = Duration::from_secs(12 * 3600);
/// The number of tokens that a user may have. A new one replaces the one that ends first.
pub const MOST_TOKENS: i64 = 100;
/// The number of characters of an ID token, sufficient for a person in hundreds of groups.
const MAX_ID_TOKEN: usize = 32 << 10;
/// The name of a token whose request names none.
const NAME: &str = "token";
/// The word that names the token of the request itself instead of an id.
const CURRENT: &str = "current";

/// A token as it is stored, without the token itself.
#[derive(Debug, Clone)]
pub struct UserToken {
    /// The name in paths.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The permitted use.
    pub scope: Scope,
    /// The time when it was created.
    pub creation_time: Timestamp,
    /// The time when it expires unless it is renewed.
    pub expiration_time: Timestamp,
    /// The time up to which it can be renewed.
    pub end_time: Timestamp,
    /// The time from now to its expiry, by the clock of the database.
    pub remaining: Duration,
    /// The hash of the token.
    pub hash: TokenHash,
    /// The issuer of the identity provider, if the user logged in there.
    pub identity_provider: Option<String>,
}

/// A token for its user.
#[derive(Debug)]
pub struct ShownUserToken {
    /// The token as it is stored.
    pub stored: UserToken,
    /// Whether the request was authenticated with it.
    pub current: bool,
    /// The token itself, which is shown once.
    pub secret: Option<String>,
}

impl Serialize for Linked<'_, ShownUserToken> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ShownUserToken { stored, current, secret } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &self.links.user_token(&stored.id))?;
        map.serialize_entry("id", &stored.id)?;
        map.serialize_entry("name", &stored.name)?;
        map.serialize_entry("scope", &stored.scope.to_string())?;
        map.serialize_entry("creationTime", &stored.creation_time)?;
        map.serialize_entry("expirationTime", &stored.expiration_time)?;
        map.serialize_entry("endTime", &stored.end_time)?;
        map.serialize_entry("expiresIn", &stored.remaining.as_secs())?;
        map.serialize_entry("current", current)?;
        if let Some(issuer) = &stored.identity_provider {
            map.serialize_entry("identityProvider", issuer)?;
        }
        if let Some(secret) = secret {
            map.serialize_entry("accessToken", secret)?;
        }
        map.end()
    }
}

/// The token that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenOfPath<'p> {
    /// The token of the request itself: the path says `current`.
    Current,
    /// The token with this id.
    Id(&'p str),
}

/// Parses the last segment of a path: `current`, or an id of letters and digits.
///
/// # Errors
/// `NotFound`, because an invalid id names no token.
pub fn parse_token_of_path(text: &str) -> Result<TokenOfPath<'_>> {
    match text {
        CURRENT => Ok(TokenOfPath::Current),
        id if (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Ok(TokenOfPath::Id(id))
        }
        _ => Err(Error::not_found(Noun::AccessToken, text.chars().take(64).collect::<String>())),
    }
}

/// The body of a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUserToken {
    /// The name for people.
    pub name: String,
    /// The scope; the default is READ and WRITE.
    pub scope: Scope,
    /// The lifetime without a renewal; `None` for that of other access tokens.
    pub validity: Option<Duration>,
}

impl NewUserToken {
    /// Parses a body. The server chooses the token and its times.
    ///
    /// # Errors
    /// `Invalid` names an unknown member, because a misspelt scope would not limit the token (C-19a), or the member,
    /// the value and what is allowed.
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&["name", "scope", "expiresIn"], &[])?;
        let validity = body.take("expiresIn").map(|raw| parse_validity(raw.get())).transpose()?;
        Ok(Self { validity, ..Self::take(&mut body)? })
    }

    fn take(body: &mut Body) -> Result<Self> {
        let name = body.take_text("name", MAX_SHORT_TEXT)?;
        if name.as_deref().is_some_and(|name| name.trim().is_empty() || name.contains('\0')) {
            return Err(Error::invalid_value("name", name.unwrap_or_default(), "a text that is not blank"));
        }
        let scope = body.take_text("scope", MAX_SHORT_TEXT)?;
        let scope = scope.map_or(Ok(Scope::ALL), |scope| Scope::parse(&scope))?;
        Ok(Self { name: name.unwrap_or_else(|| NAME.to_owned()), scope, validity: None })
    }
}

/// Parses the lifetime of a token in seconds.
fn parse_validity(text: &str) -> Result<Duration> {
    let most = LONGEST.as_secs();
    let seconds = text.parse().ok().filter(|seconds| (1..=most).contains(seconds));
    let allowed = format!("a number of seconds from 1 to {most}");
    seconds.map(Duration::from_secs).ok_or_else(|| Error::invalid_value("expiresIn", text, &allowed))
}

/// The body of a POST that exchanges an ID token of an identity provider for an access token (C-34).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdTokenExchange {
    /// The ID token, not trusted yet.
    pub id_token: String,
    /// The token that is requested.
    pub new: NewUserToken,
}

impl IdTokenExchange {
    /// Parses a body.
    ///
    /// # Errors
    /// `Invalid` as for [`NewUserToken::parse`], and without an ID token.
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&["idToken", "name", "scope"], &[])?;
        let id_token = body.take_text("idToken", MAX_ID_TOKEN)?;
        let id_token = id_token.ok_or_else(|| missing(&[("idToken", true)]))?;
        Ok(Self { id_token, new: NewUserToken::take(&mut body)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_names_the_current_token_or_an_id() {
        assert_eq!(parse_token_of_path("current").ok(), Some(TokenOfPath::Current));
        assert_eq!(parse_token_of_path("aB3").ok(), Some(TokenOfPath::Id("aB3")));
        for text in ["", "a b", "a/b", "..", "\u{e9}", &"a".repeat(65)] {
            assert!(parse_token_of_path(text).is_err(), "{text}");
        }
    }
}
