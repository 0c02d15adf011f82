//! Tenant options: settings of one tenant as category, key and value (Z-04 to Z-06).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, missing, text};
use crate::data::alarm_mapping::AlarmMapping;
use crate::error::{Error, Result};
use crate::links::Linked;
use crate::tenancy::identity_provider::{IDENTITY_PROVIDER, IdentityProvider};

/// The maximum number of characters of a category or a key (Z-04).
const MAX_NAME: usize = 256;
/// The maximum number of bytes of a value. No rule names a limit; keys of 8192 bits take a fifth of it.
const MAX_VALUE: usize = 64 << 10;

/// Keys that start with this hold secrets: they are stored encrypted and never shown (Z-05).
pub const SECRET_KEYS: &str = "credentials.";
/// The placeholder for a secret. Writing it back leaves the secret unchanged (Z-05).
pub const ENCRYPTED: &str = "<<Encrypted>>";

/// The category of the public keys with which tokens are verified (C-04); the key is the `kid`.
pub const TOKEN_PUBLIC_KEY: &str = "token.publicKey";
/// The category of the CORS settings (C-16).
pub const ACCESS_CONTROL: &str = "access.control";
/// The key of the origins that may read responses (C-16).
pub const ALLOW_ORIGIN: &str = "allow.origin";

/// The category of alarm mappings (A-10); the key is the alarm's type.
pub const ALARM_TYPE_MAPPING: &str = "alarm.type.mapping";

/// The default options of every tenant (Z-06): category, key, value.
pub const PREDEFINED: [(&str, &str, &str); 1] = [(ACCESS_CONTROL, ALLOW_ORIGIN, "*")];

/// Returns whether servers cache options of this category, so that they are notified of changes.
pub fn is_remembered(category: &str) -> bool {
    [TOKEN_PUBLIC_KEY, ACCESS_CONTROL, ALARM_TYPE_MAPPING, IDENTITY_PROVIDER].contains(&category)
}

/// The name of an option within its tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OptionName {
    /// The category.
    pub category: String,
    /// The key within the category.
    pub key: String,
}

impl OptionName {
    /// Checks category and key.
    ///
    /// # Errors
    /// `Invalid` names the one that is empty, longer than 256 characters or contains a control character.
    pub fn parse(category: &str, key: &str) -> Result<Self> {
        Ok(Self { category: parse_name("category", category)?, key: parse_name("key", key)? })
    }

    /// Returns whether the value is a secret (Z-05).
    pub fn is_secret(&self) -> bool {
        self.key.starts_with(SECRET_KEYS)
    }

    /// Checks the value of an option that the server itself reads (A-10).
    ///
    /// # Errors
    /// `Invalid` names the key, the value and what is allowed.
    fn check(&self, value: &str) -> Result<()> {
        match (&*self.category, self.is_secret()) {
            (ALARM_TYPE_MAPPING, true) => Err(Error::invalid_value(
                "key",
                &self.key,
                "an alarm type that does not start with credentials.",
            )),
            (TOKEN_PUBLIC_KEY, true) => {
                Err(Error::invalid_value("key", &self.key, "a name that does not start with credentials."))
            }
            (IDENTITY_PROVIDER, _) => IdentityProvider::check(&self.key, value),
            (ALARM_TYPE_MAPPING, false) => AlarmMapping::parse(&self.key, value).map(drop),
            _ => Ok(()),
        }
    }

    /// Returns the value for a tenant that did not set the option (Z-06).
    pub fn predefined(&self) -> Option<&'static str> {
        let mut known = PREDEFINED.iter();
        known.find(|(category, key, _)| self.category == *category && self.key == *key).map(|known| known.2)
    }
}

impl std::fmt::Display for OptionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.category, self.key)
    }
}

/// Checks a category.
///
/// # Errors
/// The errors of [`OptionName::parse`].
pub fn parse_category(text: &str) -> Result<String> {
    parse_name("category", text)
}

fn parse_name(member: &str, text: &str) -> Result<String> {
    if (1..=MAX_NAME).contains(&text.chars().count()) && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        let allowed = format!("1 to {MAX_NAME} characters, no control characters");
        Err(Error::invalid_value(member, text.escape_debug(), &allowed))
    }
}

/// An option as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantOption {
    /// The category and the key.
    pub name: OptionName,
    /// The value; for a secret it is [`ENCRYPTED`].
    pub value: String,
}

impl TenantOption {
    /// Returns an option as it may be shown, with secrets hidden.
    pub fn shown(name: OptionName, stored: String) -> Self {
        let value = if name.is_secret() { ENCRYPTED.to_owned() } else { stored };
        Self { name, value }
    }
}

impl Serialize for Linked<'_, TenantOption> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: option, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.tenant_option(&option.name.category, &option.name.key))?;
        map.serialize_entry("category", &option.name.category)?;
        map.serialize_entry("key", &option.name.key)?;
        map.serialize_entry("value", &option.value)?;
        map.end()
    }
}

/// The options of one category, shown as a flat object of keys and values.
#[derive(Debug, Clone)]
pub struct OptionCategory(pub Vec<TenantOption>);

impl Serialize for Linked<'_, OptionCategory> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.value.0.iter().map(|option| (&option.name.key, &option.value)))
    }
}

/// A read-only property of the server.
#[derive(Debug, Clone)]
pub struct SystemOption {
    /// The category.
    pub category: &'static str,
    /// The key within the category.
    pub key: &'static str,
    /// The value.
    pub value: String,
}

impl Serialize for Linked<'_, SystemOption> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: option, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.system_option(option.category, option.key))?;
        map.serialize_entry("category", option.category)?;
        map.serialize_entry("key", option.key)?;
        map.serialize_entry("value", &option.value)?;
        map.end()
    }
}

/// The body of `POST /tenant/options`, which creates or replaces an option.
#[derive(Debug, Clone)]
pub struct NewTenantOption {
    /// The category and the key.
    pub name: OptionName,
    /// The new value.
    pub value: String,
}

impl NewTenantOption {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` lists all missing members (E-05) or names the invalid one.
    pub fn parse(mut body: Body) -> Result<Self> {
        // A character has at most four bytes.
        let category = body.take_text("category", 4 * MAX_NAME)?;
        let key = body.take_text("key", 4 * MAX_NAME)?;
        let value = body.take_text("value", MAX_VALUE)?;
        match (category, key, value) {
            (Some(category), Some(key), Some(value)) => {
                let name = OptionName::parse(&category, &key)?;
                name.check(&value)?;
                Ok(Self { name, value })
            }
            (category, key, value) => Err(missing(&[
                ("category", category.is_none()),
                ("key", key.is_none()),
                ("value", value.is_none()),
            ])),
        }
    }

    /// Parses the body of a PUT of one option: its value.
    ///
    /// # Errors
    /// The errors of [`NewTenantOption::parse`].
    pub fn parse_value(name: OptionName, mut body: Body) -> Result<Self> {
        match body.take_text("value", MAX_VALUE)? {
            Some(value) => {
                name.check(&value)?;
                Ok(Self { name, value })
            }
            None => Err(missing(&[("value", true)])),
        }
    }
}

/// The body of `PUT /tenant/options/<category>`: keys with their values; `null` removes a key (C-10).
#[derive(Debug, Clone)]
pub struct CategoryPatch {
    /// The changes in their original order; `None` removes a key.
    pub changes: Vec<(OptionName, Option<String>)>,
}

impl CategoryPatch {
    /// Parses the body of a PUT of a category.
    ///
    /// # Errors
    /// `Invalid` names the invalid key or value.
    pub fn parse(category: &str, body: Body) -> Result<Self> {
        let change = |(key, raw): (&str, &RawValue)| {
            let name = OptionName::parse(category, key)?;
            let value = match raw.get() {
                "null" => None,
                _ => Some(text(key, raw, MAX_VALUE)?),
            };
            value.as_deref().map(|value| name.check(value)).transpose()?;
            Ok((name, value))
        };
        let members = body.into_members();
        Ok(Self { changes: members.iter().map(change).collect::<Result<_>>()? })
    }
}

/// Whether the tenant itself may write an option (Z-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editable {
    /// It may write the option.
    Yes,
    /// Its writes get 403.
    No,
}

impl Editable {
    /// Parses `{"editable":"false"}`; the JSON literals are accepted, too.
    ///
    /// # Errors
    /// `Invalid` when the member is missing or neither true nor false.
    pub fn parse(mut body: Body) -> Result<Self> {
        let Some(raw) = body.take("editable") else { return Err(missing(&[("editable", true)])) };
        match raw.get().trim_matches('"') {
            "true" => Ok(Self::Yes),
            "false" => Ok(Self::No),
            _ => Err(Error::invalid_value("editable", raw.get(), "true, false")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_option(json: &str) -> Result<NewTenantOption> {
        NewTenantOption::parse(Body::parse(json.as_bytes())?)
    }

    #[test]
    fn names_have_1_to_256_characters() {
        assert!(OptionName::parse(&"ä".repeat(256), "k").is_ok());
        for (category, key, named) in [
            ("", "k", "'category'"),
            ("c", "", "'key'"),
            ("c", &"x".repeat(257), "'key'"),
            ("c\u{1}", "k", "'category'"),
        ] {
            let error = OptionName::parse(category, key).expect_err(key).to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn missing_members_are_listed_and_other_types_than_strings_rejected() {
        let error = new_option(r#"{"key":"k"}"#).expect_err("incomplete").to_string();
        assert_eq!(error, "Following mandatory fields should be included: category,value");
        assert!(new_option(r#"{"category":"c","key":"k","value":1}"#).is_err());
    }

    #[test]
    fn secrets_are_never_shown() {
        let secret = OptionName::parse("c", "credentials.password").expect("a name");
        let open = OptionName::parse("credentials.c", "password").expect("a name");
        assert_eq!(TenantOption::shown(secret, "x".into()).value, ENCRYPTED);
        assert_eq!(TenantOption::shown(open, "x".into()).value, "x");
    }

    #[test]
    fn keys_of_a_category_may_hold_dots_and_null_removes() {
        let body = Body::parse(br#"{"a.b":"1","$c":null}"#).expect("an object");
        let patch = CategoryPatch::parse("c", body).expect("valid");
        let changes: Vec<_> =
            patch.changes.iter().map(|(name, value)| (&*name.key, value.as_deref())).collect();
        assert_eq!(changes, [("a.b", Some("1")), ("$c", None)]);
    }
}
