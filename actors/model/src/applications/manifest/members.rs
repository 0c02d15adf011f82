//! The members of an object in a manifest. They are taken one by one, and errors name the position of an invalid one.

use std::ops::RangeInclusive;

use serde_json::value::RawValue;

use crate::applications::application::parse_roles;
use crate::body::{Body, text};
use crate::error::{Error, Result};

/// The remaining members of an object in a manifest.
pub(super) struct ManifestMembers {
    /// The prefix of member names in errors: the file and the enclosing objects.
    place: String,
    body: Body,
}

impl ManifestMembers {
    /// Parses a file that is one JSON object.
    ///
    /// # Errors
    /// `Invalid` names the error in it.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        let body = Body::parse(bytes).map_err(|error| Error::Invalid(format!("Invalid {file}: {error}")))?;
        Ok(Self { place: format!("{file}: "), body })
    }

    /// Returns the error for an invalid member.
    pub(super) fn invalid(&self, name: &str, given: &str, allowed: &str) -> Error {
        Error::invalid_value(&self.at(name), given.escape_debug(), allowed)
    }

    /// Takes a text with any characters.
    ///
    /// # Errors
    /// `Invalid` when it is not a string or longer than `max` bytes.
    pub(super) fn text(&mut self, name: &str, max: usize) -> Result<Option<String>> {
        let at = self.at(name);
        self.body.take(name).map(|raw| text(&at, &raw, max)).transpose()
    }

    /// Takes a text of 1 to `max` characters.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    pub(super) fn short(&mut self, name: &str, max: usize) -> Result<Option<String>> {
        let Some(text) = self.text(name, 4 * max)? else { return Ok(None) };
        if (1..=max).contains(&text.chars().count()) && !text.contains(char::is_control) {
            Ok(Some(text))
        } else {
            Err(self.invalid(name, &text, &format!("1 to {max} characters, no control characters")))
        }
    }

    /// Takes a value whose JSON text begins with one of these.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    pub(super) fn take_any(
        &mut self,
        name: &str,
        first: &[char],
        allowed: &str,
    ) -> Result<Option<Box<RawValue>>> {
        match self.body.take(name) {
            Some(raw) if !raw.get().starts_with(first) => Err(self.invalid(name, raw.get(), allowed)),
            other => Ok(other),
        }
    }

    /// Takes `true` or `false`.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.body.take(name).as_deref().map(RawValue::get) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(self.invalid(name, other, "true, false")),
        }
    }

    /// Takes a whole number.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    pub(super) fn number(&mut self, name: &str, allowed: RangeInclusive<u32>) -> Result<Option<u32>> {
        let Some(raw) = self.body.take(name) else { return Ok(None) };
        match raw.get().parse() {
            Ok(number) if allowed.contains(&number) => Ok(Some(number)),
            _ => {
                let allowed = format!("{} to {}", allowed.start(), allowed.end());
                Err(self.invalid(name, raw.get(), &allowed))
            }
        }
    }

    /// Takes an object.
    ///
    /// # Errors
    /// `Invalid` when it is not an object.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<Self>> {
        let at = self.at(name);
        let Some(raw) = self.body.take(name) else { return Ok(None) };
        Ok(Some(Self { body: Body::of_member(&at, &raw)?, place: format!("{at}.") }))
    }

    /// Takes an array of objects; an absent one is empty.
    ///
    /// # Errors
    /// `Invalid` names a value that is not an array, is too long or contains something else than objects.
    pub(super) fn objects(&mut self, name: &str, max: usize) -> Result<Vec<Self>> {
        let items = self.items(name, max)?.into_iter().enumerate();
        items
            .map(|(index, raw)| {
                let at = self.at(&format!("{name}[{index}]"));
                Ok(Self { body: Body::of_member(&at, &raw)?, place: format!("{at}.") })
            })
            .collect()
    }

    /// Takes names of roles.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    pub(super) fn roles(&mut self, name: &str) -> Result<Option<Vec<String>>> {
        let at = self.at(name);
        self.body.take(name).map(|raw| parse_roles(&at, &raw)).transpose()
    }

    fn items(&mut self, name: &str, max: usize) -> Result<Vec<Box<RawValue>>> {
        let Some(raw) = self.body.take(name) else { return Ok(Vec::new()) };
        let items: Vec<Box<RawValue>> =
            serde_json::from_str(raw.get()).map_err(|_| self.invalid(name, raw.get(), "an array"))?;
        if items.len() <= max {
            Ok(items)
        } else {
            Err(self.invalid(name, &format!("{} items", items.len()), &format!("at most {max} items")))
        }
    }

    fn at(&self, name: &str) -> String {
        format!("{}{name}", self.place)
    }
}
