//! Random numbers: for passwords, times and choices that need not be reproducible, and with a seed for those that must.

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

/// Random choices that are the same for the same seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Seeded(u64);

impl Seeded {
    /// Starts with a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Starts with a seed for one of several parts, which make choices of their own.
    pub(crate) fn of_part(seed: u64, part: u64) -> Self {
        Self(seed ^ part.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    /// Returns the next number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_and_contain_only_letters_and_digits() {
        let texts = [text(20), text(20)];
        assert_ne!(texts[0], texts[1]);
        assert!(texts.iter().all(|text| text.len() == 20 && text.bytes().all(|b| b.is_ascii_alphanumeric())));
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        assert!((0..1000).all(|_| below(7) < 7));
        assert_eq!(below(0), 0);
    }

    #[test]
    fn same_seed_makes_the_same_choices() {
        let choices = |seed| {
            let mut seeded = Seeded::new(seed);
            (0..50).map(|_| seeded.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7), choices(8));
        assert!((0..10).all(|n| choices(7).contains(&n)));
    }
}
