//! The limits of an account of a compute service (docs/rules.md#limits-query; L-01 to L-05). These accounts are not
//! tenants.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::timestamp::Timestamp;

/// The id of an account: a UUID as 32 hexadecimal digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountId(String);

/// The positions of the hyphens in a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl AccountId {
    /// Reads a UUID with hyphens or without, in upper or lower case (L-03).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(text: &str) -> Result<Self> {
        let hyphenated = text.len() == 36 && HYPHENS.iter().all(|at| text.as_bytes()[*at] == b'-');
        let digits = if hyphenated {
            text.bytes().enumerate().filter(|(at, _)| !HYPHENS.contains(at)).map(|(_, b)| b).collect()
        } else {
            text.as_bytes().to_vec()
        };
        if digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit) {
            Ok(Self(digits.iter().map(|digit| char::from(digit.to_ascii_lowercase())).collect()))
        } else {
            Err(Error::invalid_value("account", text, "a UUID, with hyphens or without"))
        }
    }

    /// Returns the id in its stored form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Limits that an operator set for an account. An absent limit has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AbsoluteLimits {
    /// The number of files that may be injected into a new server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_personality: Option<i64>,
    /// The bytes of each of these files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_personality_size: Option<i64>,
    /// The number of metadata pairs of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_server_meta: Option<i64>,
    /// The maximum number of servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_instances: Option<i64>,
    /// The maximum number of key pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_keypairs: Option<i64>,
    /// The number of existing servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_instance_used: Option<i64>,
}

impl AbsoluteLimits {
    /// The default limits.
    pub const DEFAULTS: Self = Self {
        max_personality: Some(10),
        max_personality_size: Some(10_240),
        max_server_meta: Some(128),
        max_total_instances: Some(128),
        max_total_keypairs: Some(100),
        total_instance_used: Some(0),
    };

    /// Returns these limits, with absent ones taken from `others`.
    pub fn or(&self, others: &Self) -> Self {
        Self {
            max_personality: self.max_personality.or(others.max_personality),
            max_personality_size: self.max_personality_size.or(others.max_personality_size),
            max_server_meta: self.max_server_meta.or(others.max_server_meta),
            max_total_instances: self.max_total_instances.or(others.max_total_instances),
            max_total_keypairs: self.max_total_keypairs.or(others.max_total_keypairs),
            total_instance_used: self.total_instance_used.or(others.total_instance_used),
        }
    }
}

/// The rate limits of an address (L-01).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with uri, regex and limit")]
pub struct RateLimits {
    uri: String,
    regex: String,
    limit: Vec<RateLimit>,
}

/// One rate limit of an address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "an object with value, verb and unit")]
struct RateLimit {
    value: u64,
    verb: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u64>,
    unit: String,
    #[serde(rename = "next-available", skip_serializing_if = "Option::is_none")]
    next_available: Option<String>,
}

/// The maximum number of elements of `rate`, and of limits in one element.
const MAX_RATES: usize = 1000;
const VERBS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const UNITS: [&str; 4] = ["SECOND", "MINUTE", "HOUR", "DAY"];

impl RateLimits {
    /// Parses the rates of an operator: an array of `{uri, regex, limit: [{value, verb, remaining, unit,
    /// next-available}]}`, where `remaining` and `next-available` are optional.
    ///
    /// # Errors
    /// `Malformed` gives the position where the text has another form; `Invalid` names the member, the value and what
    /// is allowed.
    pub fn parse_all(text: &str) -> Result<Vec<Self>> {
        let rates: Vec<Self> =
            serde_json::from_str(text).map_err(|e| Error::Malformed(format!("Malformed rates: {e}")))?;
        let bounded = |name: &str, count: usize| match count {
            0..=MAX_RATES => Ok(()),
            _ => Err(Error::invalid_value(name, format!("{count} elements"), "at most 1000")),
        };
        bounded("rate", rates.len())?;
        for rate in &rates {
            bounded("limit", rate.limit.len())?;
            rate.limit.iter().try_for_each(RateLimit::check)?;
        }
        Ok(rates)
    }
}

impl RateLimit {
    fn check(&self) -> Result<()> {
        if !VERBS.contains(&&*self.verb) {
            return Err(Error::invalid_value("verb", &self.verb, &VERBS.join(", ")));
        }
        if !UNITS.contains(&&*self.unit) {
            return Err(Error::invalid_value("unit", &self.unit, &UNITS.join(", ")));
        }
        if let Some(remaining) = self.remaining.filter(|remaining| *remaining > self.value) {
            let allowed = format!("at most the value, {}", self.value);
            return Err(Error::invalid_value("remaining", remaining, &allowed));
        }
        self.next_available.as_deref().map_or(Ok(()), |at| Timestamp::parse("next-available", at).map(drop))
    }
}

/// The configured limits of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountLimits {
    /// The absolute limits that differ from the defaults.
    pub absolute: AbsoluteLimits,
    /// The rate limits, empty unless the operator configured some (L-01).
    pub rate: Vec<RateLimits>,
}

/// The response of the limits query: `{limits: {absolute, rate}}`. For a rate without `remaining` and `next-available`,
/// the full value remains and the next call is possible now.
impl Serialize for AccountLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Limits {
            absolute: AbsoluteLimits,
            rate: Vec<RateLimits>,
        }
        let now = Timestamp::now().to_string();
        let mut rate = self.rate.clone();
        for limit in rate.iter_mut().flat_map(|rate| &mut rate.limit) {
            limit.remaining.get_or_insert(limit.value);
            limit.next_available.get_or_insert_with(|| now.clone());
        }
        let limits = Limits { absolute: self.absolute.or(&AbsoluteLimits::DEFAULTS), rate };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("limits", &limits)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_notations_of_a_uuid_are_one_account() {
        let id = |text: &str| AccountId::parse(text).expect(text);
        let plain = id("0123456789abcdef0123456789abcdef");

        assert_eq!(id("01234567-89ab-cdef-0123-456789abcdef"), plain);
        assert_eq!(id("01234567-89AB-CDEF-0123-456789ABCDEF"), plain);
        assert_eq!(id("0123456789ABCDEF0123456789abcdef"), plain);
        for text in [
            "",
            "main",
            "0123456789abcdef0123456789abcde",
            "0123456789abcdef0123456789abcdefa",
            "0123456789abcdef0123456789abcdeg",
            "0123456789abcdef-0123456789abcdef",
            "01234567-89ab-cdef-0123-456789abcd-f",
            "01234567-89ab-cdef-0123456789abcdef-",
            "{01234567-89ab-cdef-0123-456789abcdef}",
            "０123456789abcdef0123456789abcd",
        ] {
            assert!(AccountId::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_checked_member_by_member() {
        let of = |limit: &str| {
            RateLimits::parse_all(&format!(r#"[{{"uri":"*","regex":".*","limit":[{limit}]}}]"#))
        };
        assert!(of("").is_ok() && RateLimits::parse_all("[]").is_ok());
        for good in [
            r#"{"value":10,"verb":"POST","unit":"MINUTE"}"#,
            r#"{"value":10,"verb":"GET","remaining":2,"unit":"DAY","next-available":"2026-01-01T00:00:00Z"}"#,
        ] {
            assert!(of(good).is_ok(), "{good}");
        }
        for (bad, named) in [
            (r#"{"value":10,"verb":"FETCH","unit":"MINUTE"}"#, "verb"),
            (r#"{"value":10,"verb":"GET","unit":"FORTNIGHT"}"#, "unit"),
            (r#"{"value":10,"verb":"GET","unit":"DAY","remaining":11}"#, "remaining"),
            (r#"{"value":10,"verb":"GET","unit":"DAY","next-available":"soon"}"#, "next-available"),
            (r#"{"value":-1,"verb":"GET","unit":"DAY"}"#, "Malformed"),
            (r#"{"value":"10","verb":"GET","unit":"DAY"}"#, "Malformed"),
            (r#"{"value":10,"unit":"DAY"}"#, "verb"),
            (r#"{"value":10,"verb":"GET","unit":"DAY","colour":1}"#, "colour"),
        ] {
            let message = of(bad).expect_err(bad).to_string();
            assert!(message.contains(named), "{message}");
        }
        assert!(RateLimits::parse_all("{}").is_err());
    }
}
