//! Random numbers: for passwords, times and choices that need not be reproducible.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

const LETTERS_AND_DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Returns a random number.
pub(crate) fn number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns a number below `bound`, which is at least 1.
pub(crate) fn below(bound: u64) -> u64 {
    number() % bound.max(1)
}

/// Returns random Latin letters and digits.
pub(crate) fn text(length: usize) -> String {
    let letter = |_| char::from(LETTERS_AND_DIGITS[below(LETTERS_AND_DIGITS.len() as u64) as usize]);
    (0..length).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_and_hold_letters_and_digits_alone() {
        let texts = [text(20), text(20)];
        assert_ne!(texts[0], texts[1]);
        assert!(texts.iter().all(|text| text.len() == 20 && text.bytes().all(|b| b.is_ascii_alphanumeric())));
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        assert!((0..1000).all(|_| below(7) < 7));
        assert_eq!(below(0), 0);
    }
}
