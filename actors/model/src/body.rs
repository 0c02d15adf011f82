//! Request bodies. They are untrusted until they are parsed.
//!
//! A body is read once. Its text is checked for content that no later step can store (depth, NUL, numbers out of
//! range), and then split into its top-level members. Fixed members are taken by name, and the remaining ones are
//! fragments.

use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::fragment_name::is_storable;
use crate::fragments::Fragments;
use crate::id::ManagedObjectId;
use crate::limits::{MAX_JSON_DEPTH, MAX_NUMBER_LENGTH};
use crate::timestamp::Timestamp;

/// The maximum number of bytes of a short text such as a type, a name or a fragment name; index entries must fit into
/// a page.
pub const MAX_SHORT_TEXT: usize = 1024;
/// The decimal exponents of a 64-bit float range from -324 to 308.
const MAX_EXPONENT: i32 = 324;

/// The maximum number of top-level members of a body; no device sends more.
const MAX_MEMBERS: usize = 4096;

/// The members of a JSON object from a request.
#[derive(Debug, Clone)]
pub struct Body {
    members: Fragments,
}

/// Returns a text without its byte order mark, which editors and shells of Windows write before JSON (G-03a).
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

impl Body {
    /// Parses a request body that must be one JSON object.
    ///
    /// # Errors
    /// `Malformed` gives the position where the text is not a JSON object; `Invalid` names depth, NUL or a number out
    /// of range; an empty body is `Invalid` (E-01: Representation must not be null).
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bytes = without_mark(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Error::Invalid("Representation must not be null".into()));
        }
        let text = std::str::from_utf8(bytes).map_err(|e| {
            Error::Malformed(format!("Malformed JSON: not UTF-8 at byte {}", e.valid_up_to()))
        })?;
        scan(text)?;
        let members: Fragments =
            serde_json::from_str(text).map_err(|e| Error::Malformed(format!("Malformed JSON: {e}")))?;
        match members.names().count() {
            0..=MAX_MEMBERS => Ok(Self { members }),
            n => Err(Error::invalid_value("body", format!("{n} members"), &format!("at most {MAX_MEMBERS}"))),
        }
    }

    /// Parses a member that must be an object itself. Its text was checked with the body.
    ///
    /// # Errors
    /// `Invalid` names the member when it is not an object.
    pub fn of_member(name: &str, raw: &RawValue) -> Result<Self> {
        let members = serde_json::from_str(raw.get())
            .map_err(|_| Error::invalid_value(name, raw.get(), "an object"))?;
        Ok(Self { members })
    }

    /// Returns names and values in order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.members.iter()
    }

    /// Returns whether there is a member of this name that is not `null`.
    pub fn contains(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|raw| raw.get() != "null")
    }

    /// Rejects members that are neither `settable` nor set `by_server`, for a body that selects what is deleted, sent
    /// or limited: without a misspelt member it would select more than intended (C-19a). Members that the server sets
    /// are allowed, because clients may send back what they read.
    ///
    /// # Errors
    /// `Invalid` names the first unknown member, the settable ones with a similar name, and all settable ones.
    pub fn only(&self, settable: &[&str], by_server: &[&str]) -> Result<()> {
        let is_known = |name: &&str| settable.contains(name) || by_server.contains(name);
        match self.members.names().find(|name| !is_known(name)) {
            Some(unknown) => Err(Error::unknown_name("member", unknown, settable)),
            None => Ok(()),
        }
    }

    /// Takes a member from the body; `null` counts as absent, as in a POST (C-10).
    pub fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.members.remove(name).filter(|raw| raw.get() != "null")
    }

    /// Takes a member from the body and distinguishes an explicit `null`, which removes in a PUT (C-10), from an absent
    /// member.
    pub fn take_nullable(&mut self, name: &str) -> Option<Option<Box<RawValue>>> {
        self.members.remove(name).map(|raw| (raw.get() != "null").then_some(raw))
    }

    /// Takes a text member from the body.
    ///
    /// # Errors
    /// `Invalid` when it is not a string or longer than `max` bytes.
    pub fn take_text(&mut self, name: &str, max: usize) -> Result<Option<String>> {
        self.take(name).map(|raw| text(name, &raw, max)).transpose()
    }

    /// Takes a timestamp member from the body.
    ///
    /// # Errors
    /// `Invalid` when it is not a string in the format of timestamps.
    pub fn take_timestamp(&mut self, name: &str) -> Result<Option<Timestamp>> {
        self.take_text(name, 64)?.map(|text| Timestamp::parse(name, &text)).transpose()
    }

    /// Removes members that only the server sets (`id`, `self`, …), because clients may send back what they read.
    pub fn ignore(&mut self, names: &[&str]) {
        for name in names {
            self.members.remove(name);
        }
    }

    /// Returns the remaining members without checking their names, for members that are not fragments but, for example,
    /// options.
    pub fn into_members(self) -> Fragments {
        self.members
    }

    /// Returns the remaining members as fragments.
    ///
    /// # Errors
    /// `Invalid` for names that start with `$`, contain a `.` (I-13) or are longer than 1024 bytes.
    pub fn into_fragments(self) -> Result<Fragments> {
        for name in self.members.names() {
            if !is_storable(name) {
                let allowed = "1 to 1024 bytes, not starting with '$', without '.'";
                return Err(Error::invalid_value("fragment name", name, allowed));
            }
        }
        Ok(self.members)
    }
}

/// Parses a JSON string of at most `max` bytes.
///
/// # Errors
/// `Invalid` names the member, the value and what is allowed.
pub fn text(name: &str, raw: &RawValue, max: usize) -> Result<String> {
    let text: String =
        serde_json::from_str(raw.get()).map_err(|_| Error::invalid_value(name, raw.get(), "a string"))?;
    if text.len() <= max {
        Ok(text)
    } else {
        Err(Error::invalid_value(name, text, &format!("at most {max} bytes")))
    }
}

/// Returns the error that lists the absent mandatory members (E-01, E-05).
pub fn missing(members: &[(&str, bool)]) -> Error {
    let names: Vec<&str> = members.iter().filter(|(_, missing)| *missing).map(|(name, _)| *name).collect();
    Error::Invalid(format!("Following mandatory fields should be included: {}", names.join(",")))
}

/// Parses an id that is a string or a number (C-13).
///
/// # Errors
/// `Invalid` for a string that is too long for an id.
pub fn id_text(name: &str, raw: &RawValue) -> Result<String> {
    if raw.get().starts_with('"') { text(name, raw, 64) } else { Ok(raw.get().to_owned()) }
}

/// Parses `source`: an object with an `id` that is a string or a number (C-13).
pub fn source_id(raw: &RawValue) -> Result<ManagedObjectId> {
    #[derive(serde::Deserialize)]
    struct SourceBody<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let source: SourceBody<'_> = serde_json::from_str(raw.get())
        .map_err(|_| Error::invalid_value("source", raw.get(), "an object with an id"))?;
    let id = id_text("source.id", source.id)?;
    ManagedObjectId::parse(&id).map_err(|_| Error::unknown_source(id))
}

/// Rejects what neither PostgreSQL nor a later reader can store: nesting beyond 100, NUL, unpaired surrogates, and
/// numbers beyond a double. The parser finds all other errors.
fn scan(text: &str) -> Result<()> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = scan_string(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let end = at + bytes[at..].iter().take_while(|b| is_number_byte(**b)).count();
                scan_number(&text[at..end])?;
                at = end;
                continue;
            }
            _ => {}
        }
        if depth > MAX_JSON_DEPTH {
            return Err(Error::Invalid(format!(
                "Invalid body: nested deeper than {MAX_JSON_DEPTH} at byte {at}"
            )));
        }
        at += 1;
    }
    Ok(())
}

/// Skips a string literal and returns the position after its closing quote.
fn scan_string(bytes: &[u8], mut at: usize) -> Result<usize> {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' if bytes.get(at + 1) == Some(&b'u') => match hex(bytes, at + 2) {
                Some(0) => return Err(Error::Invalid(format!("Invalid string: NUL (\\u0000) at byte {at}"))),
                Some(0xD800..=0xDBFF)
                    if bytes.get(at + 6) == Some(&b'\\')
                        && bytes.get(at + 7) == Some(&b'u')
                        && matches!(hex(bytes, at + 8), Some(0xDC00..=0xDFFF)) =>
                {
                    at += 12;
                }
                Some(0xD800..=0xDFFF) => {
                    return Err(Error::Invalid(format!(
                        "Invalid string: half a surrogate pair at byte {at}"
                    )));
                }
                _ => at += 2,
            },
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    Ok(at)
}

fn hex(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |n, b| Some(n << 4 | (*b as char).to_digit(16)?))
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

fn scan_number(number: &str) -> Result<()> {
    if number.len() < 300 && !number.contains(['e', 'E']) {
        return Ok(());
    }
    // An exponent far below zero is rejected too, even with a mantissa of zero: `jsonb` would write all its digits.
    let exponent = number.split_once(['e', 'E']).map_or(Ok(0), |(_, exponent)| exponent.parse::<i32>());
    let fits = number.len() <= MAX_NUMBER_LENGTH
        && exponent.is_ok_and(|exponent| exponent.abs() <= MAX_EXPONENT)
        && number.parse().is_ok_and(f64::is_finite);
    if fits {
        Ok(())
    } else {
        Err(Error::invalid_value("number", number, "what a 64-bit float can hold, at most 400 digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_that_cannot_be_stored_is_rejected_with_its_reason() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100));
        for (body, reason) in [
            (&b""[..], "must not be null"),
            (b"{\"a\":", "Malformed JSON"),
            (b"[1]", "Malformed JSON"),
            (b"\"text\"", "Malformed JSON"),
            (b"{\"a\":\"\xff\"}", "not UTF-8 at byte 6"),
            (b"{\"a\":\"x\\u0000y\"}", "NUL"),
            (b"{\"a\":\"\\ud800\"}", "surrogate"),
            (b"{\"a\":1e400}", "number"),
            (b"{\"a\":0e-16000}", "number"),
            (b"{\"a\":01}", "Malformed JSON"),
            (deep.as_bytes(), "nested deeper than 100"),
        ] {
            let error = Body::parse(body).expect_err(reason).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn depth_of_exactly_100_is_accepted() {
        let body = format!("{{\"a\":{}1{}}}", "[".repeat(99), "]".repeat(99));
        assert!(Body::parse(body.as_bytes()).is_ok());
    }

    #[test]
    fn last_of_several_members_with_one_name_wins() {
        let mut body = Body::parse(br#"{"type":"a","type":"b"}"#).expect("an object");
        assert_eq!(body.take_text("type", 10).expect("a string").as_deref(), Some("b"));
    }

    #[test]
    fn fragment_names_with_dollar_or_dot_are_rejected() {
        for body in [r#"{"$a":1}"#, r#"{"a.b":1}"#, r#"{"":1}"#] {
            assert!(Body::parse(body.as_bytes()).expect("an object").into_fragments().is_err(), "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed_or_rejected_without_a_panic(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let _ = Body::parse(&bytes);
        }

        #[test]
        fn any_jsonish_text_is_parsed_or_rejected_without_a_panic(text in r#"[\{\}\[\]",:\\u0-9dDeE+. -]{0,60}"#) {
            let _ = Body::parse(text.as_bytes());
        }
    }
}
