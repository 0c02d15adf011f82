//! Clients of the access-token service, each with its user and its scope (docs/rules.md#access-tokens; T-06).

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT};
use crate::error::{Error, Noun, Result};
use crate::id::TenantId;
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// The stored form of a token: its SHA-256 (T-08). A token is so random that a slower hash is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Hashes a token.
    pub fn of(token: &str) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
        Self(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Reads a hash from its stored form; `None` for a value of another length.
    pub fn stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the hash in its stored form.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The permitted use of a token (T-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    read: bool,
    write: bool,
}

const READ: &str = "READ";
const WRITE: &str = "WRITE";

impl Scope {
    /// Reading and writing: the scope of a client without another one, and of callers without an access token.
    pub const ALL: Self = Self { read: true, write: true };

    /// Parses words that are separated by blanks.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of_words(text.split_ascii_whitespace())
            .ok_or_else(|| Error::invalid_value("scope", text, "READ, WRITE or READ WRITE"))
    }

    /// Returns the scope of these words; `None` when there is none or one is unknown.
    pub fn of_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<Self> {
        let mut scope = Self { read: false, write: false };
        for word in words {
            match word {
                READ => scope.read = true,
                WRITE => scope.write = true,
                _ => return None,
            }
        }
        (scope.read || scope.write).then_some(scope)
    }

    /// Returns the words, in the order in which they are shown.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        [(self.read, READ), (self.write, WRITE)].into_iter().filter_map(|(held, word)| held.then_some(word))
    }

    /// Returns whether GET and HEAD are allowed.
    pub fn allows_reading(self) -> bool {
        self.read
    }

    /// Returns whether all other methods are allowed.
    pub fn allows_writing(self) -> bool {
        self.write
    }

    /// Returns whether this allows everything that another scope allows.
    pub fn includes(self, other: Self) -> bool {
        (self.read || !other.read) && (self.write || !other.write)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().collect::<Vec<_>>().join(" "))
    }
}

/// A client as it is stored. Its secret is stored only as a hash.
#[derive(Debug, Clone)]
pub struct TokenClient {
    /// The tenant of the client.
    pub tenant: TenantId,
    /// The consumer key.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The user of the tenant on whose behalf its tokens act.
    pub user: Arc<str>,
    /// The permitted use of its tokens.
    pub scope: Scope,
    /// The time when it was created.
    pub creation_time: Timestamp,
}

impl TokenClient {
    fn serialize_into<M: SerializeMap>(&self, map: &mut M, link: &str) -> Result<(), M::Error> {
        map.serialize_entry("self", link)?;
        map.serialize_entry("clientId", &self.id)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("user", &self.user)?;
        map.serialize_entry("scope", &self.scope.to_string())?;
        map.serialize_entry("creationTime", &self.creation_time)
    }
}

impl Serialize for Linked<'_, TokenClient> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.value.serialize_into(&mut map, &self.links.token_client(&self.value.id))?;
        map.end()
    }
}

/// A client that was just created, with the consumer secret, which is never shown again.
pub struct CreatedTokenClient {
    /// The client.
    pub client: TokenClient,
    /// The consumer secret.
    pub secret: String,
}

impl Serialize for Linked<'_, CreatedTokenClient> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CreatedTokenClient { client, secret } = self.value;
        let mut map = serializer.serialize_map(None)?;
        client.serialize_into(&mut map, &self.links.token_client(&client.id))?;
        map.serialize_entry("clientSecret", secret)?;
        map.end()
    }
}

/// Parses a consumer key: letters and digits.
///
/// # Errors
/// `NotFound`, because an invalid key names no client.
pub fn parse_client_id(text: &str) -> Result<&str> {
    if (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        Ok(text)
    } else {
        Err(Error::not_found(Noun::TokenClient, text.chars().take(64).collect::<String>()))
    }
}

/// The members that clients set.
const MEMBERS: [&str; 3] = ["name", "user", "scope"];
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 4] = ["self", "clientId", "clientSecret", "creationTime"];

/// The body of a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTokenClient {
    /// The name for people; the default is the name of the user.
    pub name: Option<String>,
    /// The user on whose behalf its tokens act; the default is the caller.
    pub user: Option<String>,
    /// The scope; the default is READ and WRITE (T-06).
    pub scope: Scope,
}

impl NewTokenClient {
    /// Parses a body. The server chooses key and secret.
    ///
    /// # Errors
    /// `Invalid` names an unknown member, because a misspelt scope would not limit the tokens (C-19a), or the member,
    /// the value and what is allowed.
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&MEMBERS, &SERVER_MEMBERS)?;
        let name = body.take_text("name", MAX_SHORT_TEXT)?;
        if name.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return Err(Error::invalid_value("name", "", "a text that is not blank"));
        }
        let user = body.take_text("user", 4 * MAX_SHORT_TEXT)?;
        let scope = body.take_text("scope", MAX_SHORT_TEXT)?;
        Ok(Self { name, user, scope: scope.map_or(Ok(Scope::ALL), |scope| Scope::parse(&scope))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> Scope {
        Scope::parse(text).expect(text)
    }

    #[test]
    fn scope_is_shown_in_the_order_of_the_documents() {
        for (text, told) in [
            ("READ", "READ"),
            ("WRITE", "WRITE"),
            ("WRITE READ", "READ WRITE"),
            (" READ\tWRITE READ ", "READ WRITE"),
        ] {
            assert_eq!(scope(text).to_string(), told);
        }
        for text in ["", " ", "read", "READ,WRITE", "READ DELETE", "READWRITE"] {
            assert!(Scope::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn scope_includes_itself_and_less() {
        let (read, write) = (scope("READ"), scope("WRITE"));

        assert!(Scope::ALL.includes(read) && Scope::ALL.includes(write) && read.includes(read));
        assert!(!read.includes(write) && !write.includes(read) && !read.includes(Scope::ALL));
    }
}
