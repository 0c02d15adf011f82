//! A fast hasher for keys that the server generated. Nobody outside can choose such keys so that they collide,
//! because guessed keys are looked up but never inserted. So a multiplication is sufficient; keys from outside need a
//! keyed hash.

use std::hash::{BuildHasherDefault, Hasher};

/// The hash state for tables whose keys the server generated.
pub type ServerKeyHasher = BuildHasherDefault<Mixer>;

/// Mixes the parts of a key.
#[derive(Debug, Default, Clone, Copy)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        // A product is well mixed in its upper bits, and hash tables use the bits of both ends.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u32(&mut self, part: u32) {
        self.write_u64(part.into());
    }

    fn write_u64(&mut self, part: u64) {
        self.0 = (self.0.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u128(&mut self, part: u128) {
        self.write_u64(part as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    use super::*;

    #[test]
    fn keys_that_are_counted_up_are_spread_over_both_ends_of_their_hashes() {
        let hash = |key: (u32, u32)| ServerKeyHasher::default().hash_one(key);
        let hashes = || (0..4096).map(|n| hash((3, n)));
        let lower: HashSet<u64> = hashes().map(|hash| hash % 4096).collect();
        let upper: HashSet<u64> = hashes().map(|hash| hash >> 57).collect();
        assert!(lower.len() > 2000 && upper.len() == 128, "{} {}", lower.len(), upper.len());
    }

    #[test]
    fn long_keys_count_as_a_whole_where_they_are_written_in_parts() {
        let mut parts = (Mixer::default(), Mixer::default());
        (1u32, 2u32).hash(&mut parts.0);
        (2u32, 1u32).hash(&mut parts.1);
        assert_ne!(parts.0.finish(), parts.1.finish());
    }
}
