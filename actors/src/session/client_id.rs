//! The ids of sessions.

use std::fmt;

/// The clientId of a session: 128 bits as 32 hexadecimal digits that cannot be guessed and are never reused (B-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u128);

impl ClientId {
    pub(crate) fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u128 {
        self.0
    }

    /// Parses the 32 hexadecimal digits; returns `None` for text that this server never issued.
    pub fn parse(text: &str) -> Option<Self> {
        let digits =
            text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        digits.then(|| u128::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
