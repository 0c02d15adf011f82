//! The ids that devices use, from which the names of their users are made (N-05, N-08). It is not
//! beside registration requests, because `users` knows users of devices by it, and `devices` imports `users`.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::error::{Error, Noun, Result};
use crate::origin::DEVICE_USER;

/// The maximum number of characters of a device's id (N-05).
const MAX_CHARACTERS: usize = 1000;
/// The maximum number of bytes of a device's id, which is part of index keys with a limited size.
const MAX_BYTES: usize = 2000;

/// The id that a device uses, such as its serial number. It is compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceId(Arc<str>);

impl DeviceId {
    /// Checks an id: 1 to 1000 characters without a colon, which would end the user name in Basic credentials (U-08).
    ///
    /// # Errors
    /// `Invalid` says what is allowed.
    pub fn parse(text: &str) -> Result<Self> {
        let fits = !text.is_empty() && text.chars().count() <= MAX_CHARACTERS && text.len() <= MAX_BYTES;
        if fits && !text.contains(|c: char| c == ':' || c.is_control()) {
            Ok(Self(text.into()))
        } else {
            Err(Error::invalid_value(
                "id",
                text.escape_debug(),
                "1 to 1000 characters of at most 2000 bytes, no control characters, no ':', which ends the user name \
                 in credentials",
            ))
        }
    }

    /// Parses the decoded id of a path.
    ///
    /// # Errors
    /// `NotFound`, because an invalid id names no request.
    pub fn parse_of_path(text: &str) -> Result<Self> {
        Self::parse(text).map_err(|_| {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(MAX_CHARACTERS).collect();
            Error::not_found(Noun::NewDeviceRequest, shown)
        })
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the device's user, `device_<id>` (N-08).
    pub fn user_name(&self) -> String {
        format!("{DEVICE_USER}{}", self.0)
    }

    /// Returns the device with this user; `None` for the user of a person.
    pub fn of_user(name: &str) -> Option<Self> {
        name.strip_prefix(DEVICE_USER).and_then(|id| Self::parse(id).ok())
    }
}

impl std::fmt::Display for DeviceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for DeviceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_1_to_1000_characters_and_no_colon() {
        for id in ["a", "a/b", "ä ö", "💩", &"x".repeat(1000), &"é".repeat(1000)] {
            assert_eq!(DeviceId::parse(id).expect(id).as_str(), id);
        }
        for id in ["", "a:b", "a\0b", "a\nb", "\u{7f}", &"x".repeat(1001), &"語".repeat(700)] {
            assert!(matches!(DeviceId::parse(id), Err(Error::Invalid(_))), "{id}");
            assert!(matches!(DeviceId::parse_of_path(id), Err(Error::NotFound { .. })), "{id}");
        }
    }

    #[test]
    fn name_of_a_device_user_contains_the_device_id() {
        let id = DeviceId::parse("a/device_b").expect("an id");
        assert_eq!(id.user_name(), "device_a/device_b");
        assert_eq!(DeviceId::of_user(&id.user_name()), Some(id));
        assert_eq!(DeviceId::of_user("joe"), None);
    }
}
