//! A table of actors: read by anyone, written only by the parent that starts them.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

use actix::{Actor, Addr, WeakAddr};
use parking_lot::RwLock;

/// Shards; look-ups of different keys rarely meet.
const SHARDS: usize = 64;

type Shard<K, H, S> = RwLock<HashMap<K, H, S>>;

/// How a table holds its actors.
pub trait Hold<A: Actor> {
    /// From an address.
    fn hold(address: Addr<A>) -> Self;
    /// The actor, when it is alive. A closed address counts as absent: its actor stopped or panicked.
    fn reach(&self) -> Option<Addr<A>>;
}

/// The table keeps them.
impl<A: Actor> Hold<A> for Addr<A> {
    fn hold(address: Addr<A>) -> Self {
        address
    }

    fn reach(&self) -> Option<Addr<A>> {
        self.connected().then(|| self.clone())
    }
}

/// Somebody else keeps them; an entry is a tenth as large.
impl<A: Actor> Hold<A> for WeakAddr<A> {
    fn hold(address: Addr<A>) -> Self {
        address.downgrade()
    }

    fn reach(&self) -> Option<Addr<A>> {
        self.upgrade()
    }
}

/// The living actors of one kind, by key.
#[derive(Debug)]
pub struct Registry<K, A: Actor, H = Addr<A>, S = RandomState> {
    shards: Box<[Shard<K, H, S>]>,
    hasher: S,
    actors: std::marker::PhantomData<fn() -> A>,
}

impl<K, A: Actor, H, S: BuildHasher + Default> Default for Registry<K, A, H, S> {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        Self { shards, hasher: S::default(), actors: std::marker::PhantomData }
    }
}

impl<K: Eq + Hash, A: Actor, H: Hold<A>, S: BuildHasher + Default> Registry<K, A, H, S> {
    /// The actor, when it is alive.
    pub fn find(&self, key: &K) -> Option<Addr<A>> {
        self.shard(key).read().get(key)?.reach()
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
        self.shards
            .iter()
            .flat_map(|shard| shard.read().values().filter_map(H::reach).collect::<Vec<_>>())
            .collect()
    }

    pub(crate) fn enter(&self, key: K, address: Addr<A>) {
        self.shard(&key).write().insert(key, H::hold(address));
    }

    /// Takes an actor out, unless a newer one stands in its place.
    pub(crate) fn leave(&self, key: &K, address: &Addr<A>) {
        let mut shard = self.shard(key).write();
        if shard.get(key).and_then(H::reach).as_ref() == Some(address) {
            shard.remove(key);
        }
        if shard.capacity() > 64 && shard.len() < shard.capacity() / 4 {
            shard.shrink_to_fit();
        }
    }

    fn shard(&self, key: &K) -> &Shard<K, H, S> {
        // By other bits than those a table looks at, for both may hash alike.
        &self.shards[(self.hasher.hash_one(key) >> 40) as usize % SHARDS]
    }
}
