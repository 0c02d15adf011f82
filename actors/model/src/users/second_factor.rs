//! Second factors of people (docs/rules.md#c-27): a code of an authenticator, or a recovery code, beside the password.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT};
use crate::error::{Error, Result};
use crate::links::{Linked, segment};
use crate::users::token_client::TokenHash;

/// The second factor of a user, as authentication sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondFactor {
    /// Nothing.
    #[default]
    None,
    /// A group of the user requires a second factor, and the user has none yet.
    Owed,
    /// The user has one.
    Active,
}

impl SecondFactor {
    /// Reads the stored word.
    pub fn stored(word: Option<&str>) -> Self {
        match word {
            Some("ACTIVE") => Self::Active,
            Some("OWED") => Self::Owed,
            _ => Self::None,
        }
    }
}

/// Whether the members of a group need a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondFactorRule {
    /// They may have one.
    #[default]
    Optional,
    /// They need one.
    Required,
}

impl SecondFactorRule {
    /// Parses the value of a member `secondFactor`.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "OPTIONAL" => Ok(Self::Optional),
            "REQUIRED" => Ok(Self::Required),
            _ => Err(Error::invalid_value("secondFactor", text, "OPTIONAL or REQUIRED")),
        }
    }

    /// Reads the stored form.
    pub fn stored(is_required: bool) -> Self {
        if is_required { Self::Required } else { Self::Optional }
    }

    /// Returns whether it is required, which is the stored form.
    pub fn is_required(self) -> bool {
        self == Self::Required
    }
}

impl fmt::Display for SecondFactorRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Optional => "OPTIONAL",
            Self::Required => "REQUIRED",
        })
    }
}

/// A code that replaces the authenticator, once. It is stored as its hash: it is so random that a slower hash is not
/// needed.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCode([u8; Self::BYTES]);

/// The characters of recovery codes. They are not confused with each other: `0`, `1`, `i` and `l` are left out.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnopqrstuvwxyz23456789";

impl RecoveryCode {
    /// The number of random bytes.
    pub const BYTES: usize = 10;

    /// Creates a code of random bytes.
    pub fn of(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Parses the form that is shown, in any case and with or without its hyphens; `None` for another text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = 0_u128;
        let mut length = 0;
        for character in text.bytes().filter(|byte| !matches!(byte, b'-' | b' ')) {
            let value = ALPHABET.iter().position(|known| *known == character.to_ascii_lowercase())?;
            length += 1;
            if length > Self::BYTES * 8 / 5 {
                return None;
            }
            bits = bits << 5 | value as u128;
        }
        (length == Self::BYTES * 8 / 5).then(|| {
            let mut bytes = [0; Self::BYTES];
            bytes.copy_from_slice(&bits.to_be_bytes()[16 - Self::BYTES..]);
            Self(bytes)
        })
    }

    /// Returns the stored form.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.to_string())
    }
}

impl fmt::Display for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.iter().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        for place in (0..Self::BYTES * 8 / 5).rev() {
            write!(f, "{}", char::from(ALPHABET[(bits >> (5 * place)) as usize % 32]))?;
            if place % 4 == 0 && place > 0 {
                f.write_str("-")?;
            }
        }
        Ok(())
    }
}

/// A secret for the authenticator of a person, which is shown once and not active yet.
#[derive(Debug)]
pub struct NewSecret {
    /// The secret in Base32.
    pub secret: String,
    /// The tenant and the name of the user, with a slash.
    pub account: String,
    /// The name of the platform.
    pub issuer: String,
}

impl Serialize for Linked<'_, NewSecret> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let NewSecret { secret, account, issuer } = self.value;
        let (account, issuer) = (segment(account), segment(issuer));
        let uri = format!(
            "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits=6&period=30"
        );
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("self", &self.links.second_factor())?;
        map.serialize_entry("secret", secret)?;
        map.serialize_entry("uri", &uri)?;
        map.end()
    }
}

/// The recovery codes of a person, which are shown once.
pub struct NewRecoveryCodes(pub Vec<RecoveryCode>);

impl Serialize for Linked<'_, NewRecoveryCodes> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let codes: Vec<String> = self.value.0.iter().map(ToString::to_string).collect();
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &self.links.second_factor())?;
        map.serialize_entry("recoveryCodes", &codes)?;
        map.end()
    }
}

/// Whether a person has a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// Whether it is active.
    pub is_active: bool,
    /// The number of recovery codes that are left.
    pub recovery_codes: i64,
}

impl Serialize for Linked<'_, Activity> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("self", &self.links.second_factor())?;
        map.serialize_entry("isActive", &self.value.is_active)?;
        map.serialize_entry("recoveryCodes", &self.value.recovery_codes)?;
        map.end()
    }
}

/// Parses the body `{"code": "123456"}`.
///
/// # Errors
/// `Invalid` names an unknown or absent member.
pub fn parse_code(mut body: Body) -> Result<String> {
    body.only(&["code"], &[])?;
    body.take_text("code", MAX_SHORT_TEXT)?
        .ok_or_else(|| Error::Invalid("Following mandatory fields should be included: code".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_code_is_read_as_it_is_shown_and_as_people_type_it() {
        let code = RecoveryCode::of([0, 0x44, 0x32, 0x14, 0xc7, 0xff, 0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(code.to_string(), "abcd-efgh-9999-9998");
        for text in ["abcd-efgh-9999-9998", "ABCDEFGH99999998", " abcd efgh 9999 9998 "] {
            assert!(RecoveryCode::parse(text) == Some(code.clone()), "{text}");
        }
        for text in
            ["", "123456", "abcd-efgh-9999-999", "abcd-efgh-9999-99988", "abcd-efgh-9999-999l", "\u{e9}"]
        {
            assert!(RecoveryCode::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn every_recovery_code_survives_being_shown() {
        for byte in 0..=255 {
            let code = RecoveryCode::of([byte, !byte, byte, 1, 2, 3, byte, 4, !byte, byte]);
            assert!(RecoveryCode::parse(&code.to_string()) == Some(code.clone()), "{byte}");
        }
    }
}
