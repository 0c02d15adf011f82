//! A fast hasher for keys that the server generated. A client cannot choose such keys so that they collide,
//! because guessed keys are looked up but never inserted. Keys from outside need a keyed hash.

use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;

/// The hash state for tables whose keys the server generated.
pub type ServerKeyHasher = BuildHasherDefault<FxHasher>;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn keys_that_are_counted_up_are_spread_over_the_bits_that_tables_and_shards_use() {
        let distinct = |bits: fn(u64) -> u64| {
            let hashes = (0..4096u32).map(|n| ServerKeyHasher::default().hash_one((3u32, n)));
            hashes.map(bits).collect::<HashSet<_>>().len()
        };

        assert!(distinct(|hash| hash % 4096) > 2000, "{}", distinct(|hash| hash % 4096));
        assert_eq!((distinct(|hash| hash >> 57), distinct(|hash| (hash >> 40) % 64)), (128, 64));
    }
}
