//! Requests that take effect once, however often a client sends them: the header `Idempotency-Key` (C-24).

use std::sync::Arc;

use ring::digest;
use serde::Serialize;

use crate::body::Body;
use crate::error::{Error, Result};
use crate::links::{Linked, Links, encode, encode_members};

/// The maximum number of characters of a key.
const MAX_LENGTH: usize = 255;

/// The key of a request that creates something.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The user of the request. Each user has keys of its own.
    pub user: Arc<str>,
    /// The value of the header.
    pub key: Box<str>,
    /// The digest of path and body. Another request cannot have the same key.
    pub request: [u8; digest::SHA256_OUTPUT_LEN],
    /// The address of the request, with which links in its response start.
    pub links: Links,
    /// The member of the response that has the created objects, for a request that creates several together.
    pub collection: Option<&'static str>,
}

/// The response to a request with a key, which its repetitions receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstResponse {
    /// The header `Location`, if one object was created.
    pub location: Option<String>,
    /// The body for a client that accepts one, as JSON.
    pub body: Vec<u8>,
}

impl IdempotencyKey {
    /// Parses the values of the header in a request to `path`.
    ///
    /// # Errors
    /// `Invalid` unless there is one value of 1 to 255 printable ASCII characters.
    pub fn parse<'v>(
        mut values: impl Iterator<Item = &'v [u8]>,
        (user, path, body): (&Arc<str>, &str, &Body),
        links: &Links,
    ) -> Result<Option<Self>> {
        let Some(value) = values.next() else { return Ok(None) };
        let is_printable = value.iter().all(|byte| (b' '..=b'~').contains(byte));
        if !is_printable || value.is_empty() || value.len() > MAX_LENGTH || values.next().is_some() {
            let given = String::from_utf8_lossy(value);
            let allowed = "one value of 1 to 255 printable ASCII characters";
            return Err(Error::invalid_value("Idempotency-Key", given, allowed));
        }
        let key = String::from_utf8_lossy(value).into();
        Ok(Some(Self {
            user: user.clone(),
            key,
            request: digest_of(path, body),
            links: links.clone(),
            collection: None,
        }))
    }

    /// Returns the key of a request that creates several objects together; `name` is the member of its response.
    pub fn of_collection(&self, name: &'static str) -> Self {
        Self { collection: Some(name), ..self.clone() }
    }

    /// Returns the error for a request whose key an earlier request had, with another path or body.
    pub fn is_of_another_request(&self) -> Error {
        let allowed =
            "a new key for each request; an earlier request had this one, with another path or body";
        Error::invalid_value("Idempotency-Key", &self.key, allowed)
    }
}

impl FirstResponse {
    /// Returns the response to a request that created one object.
    pub fn of<T>(location: String, created: &T, links: &Links) -> Self
    where
        for<'a> Linked<'a, T>: Serialize,
    {
        Self { location: Some(location), body: encode(created, links) }
    }

    /// Returns the response to a request that created several objects together.
    pub fn of_collection<T>(name: &str, created: &[Arc<T>], links: &Links) -> Self
    where
        for<'a> Linked<'a, T>: Serialize,
    {
        Self { location: None, body: encode_members(name, created, links) }
    }
}

/// Returns the digest of a request, in which each part is preceded by its length.
fn digest_of(path: &str, body: &Body) -> [u8; digest::SHA256_OUTPUT_LEN] {
    let mut context = digest::Context::new(&digest::SHA256);
    let mut add = |part: &str| {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part.as_bytes());
    };
    add(path);
    for (name, raw) in body.members() {
        add(name);
        add(raw.get());
    }
    let digest = context.finish();
    digest.as_ref().try_into().expect("SHA-256 has this length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(values: &[&str], path: &str, body: &str) -> Result<Option<IdempotencyKey>> {
        let body = Body::parse(body.as_bytes()).expect("an object");
        let values = values.iter().map(|value| value.as_bytes());
        IdempotencyKey::parse(values, (&"boss".into(), path, &body), &Links::new("http://here"))
    }

    #[test]
    fn values_that_are_no_key_are_named_with_what_is_allowed() {
        let long = "x".repeat(256);
        for values in [&[""][..], &["schlüssel"], &[&long], &["a", "b"], &["tab\there"]] {
            let error = parsed(values, "/", "{}").expect_err("it is not a key").to_string();

            assert!(error.contains("'Idempotency-Key'") && error.contains("255"), "{error}");
        }
        assert!(parsed(&[], "/", "{}").expect("the header is absent").is_none());
        assert!(parsed(&[&long[1..]], "/", "{}").expect("a key").is_some());
    }

    #[test]
    fn requests_differ_by_path_names_and_values() {
        let of = |path, body| parsed(&["k"], path, body).expect("a key").expect("a key").request;
        let request = of("/a", r#"{"b":"c","d":1}"#);

        assert_eq!(request, of("/a", r#" {"b": "c",  "d":1}"#));
        for (path, body) in [
            ("/ab", r#"{"b":"c","d":1}"#),
            ("/a", r#"{"b":"c","d":2}"#),
            ("/a", r#"{"b":"c"}"#),
            ("/a", r#"{"bc":"","d":1}"#),
        ] {
            assert_ne!(request, of(path, body), "{path} {body}");
        }
    }
}
