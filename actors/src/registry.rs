//! A table of actors: read by anyone, written only by the parent that starts them.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

use actix::{Actor, Addr};
use parking_lot::RwLock;

/// Shards; look-ups of different keys rarely meet.
const SHARDS: usize = 64;

type Shard<K, A> = RwLock<HashMap<K, Addr<A>>>;

/// The living actors of one kind, by key.
#[derive(Debug)]
pub struct Registry<K, A: Actor> {
    shards: Box<[Shard<K, A>]>,
    hasher: RandomState,
}

impl<K: Eq + Hash, A: Actor> Default for Registry<K, A> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect(), hasher: RandomState::new() }
    }
}

impl<K: Eq + Hash, A: Actor> Registry<K, A> {
    /// The actor, when it is alive. A closed address counts as absent: its actor stopped or panicked.
    pub fn find(&self, key: &K) -> Option<Addr<A>> {
        self.shard(key).read().get(key).filter(|address| address.connected()).cloned()
    }

    /// How many actors are entered.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }

    /// Whether none is entered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every living actor.
    pub fn all(&self) -> Vec<Addr<A>> {
        self.shards.iter().flat_map(|shard| shard.read().values().cloned().collect::<Vec<_>>()).collect()
    }

    pub(crate) fn enter(&self, key: K, address: Addr<A>) {
        self.shard(&key).write().insert(key, address);
    }

    /// Takes an actor out, unless a newer one stands in its place.
    pub(crate) fn leave(&self, key: &K, address: &Addr<A>) {
        let mut shard = self.shard(key).write();
        if shard.get(key) == Some(address) {
            shard.remove(key);
        }
        if shard.capacity() > 64 && shard.len() < shard.capacity() / 4 {
            shard.shrink_to_fit();
        }
    }

    fn shard(&self, key: &K) -> &Shard<K, A> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }
}
