//! The text of an access token (T-08).

use super::password;

/// The number of characters of a token: letters and digits, 256 bits (T-08).
const LENGTH: usize = 43;

/// Generates a token of letters and digits.
///
/// # Panics
/// The system has no random source left.
pub fn draw() -> String {
    password::draw(LENGTH)
}

/// Returns whether a text has the form of a token.
pub fn is_token(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
