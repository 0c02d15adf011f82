//! Hash tables that grow with a storm of clients and give the memory back afterwards.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// The capacity up to which a table keeps its memory.
const SMALL: usize = 64;

/// Frees the memory of a table that lost most of its entries. Call it after a removal.
pub(crate) fn shrink_if_sparse<K: Eq + Hash, V, S: BuildHasher>(table: &mut HashMap<K, V, S>) {
    if table.capacity() > SMALL && table.len() < table.capacity() / 4 {
        table.shrink_to_fit();
    }
}
