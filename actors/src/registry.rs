//! A table of running actors. Everyone reads it; only the parent that starts the actors writes it.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

use actix::{Actor, Addr};
use parking_lot::RwLock;

use crate::tables::shrink_if_sparse;

/// The number of shards, so that look-ups of different keys rarely share a lock.
const SHARDS: usize = 64;

type Shard<K, H, S> = RwLock<HashMap<K, H, S>>;

/// The form in which a registry stores the address of an actor.
pub trait StoredAddress<A: Actor> {
    /// Converts an address to the stored form.
    fn store(address: Addr<A>) -> Self;
    /// Returns the actor's address if the actor is running. A closed address counts as absent, because its actor
    /// stopped or panicked.
    fn running(&self) -> Option<Addr<A>>;
}

/// A strong address: the registry keeps the actor alive.
impl<A: Actor> StoredAddress<A> for Addr<A> {
    fn store(address: Addr<A>) -> Self {
        address
    }

    fn running(&self) -> Option<Addr<A>> {
        self.connected().then(|| self.clone())
    }
}

/// The running actors of one kind, by key.
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

impl<K: Eq + Hash, A: Actor, H: StoredAddress<A>, S: BuildHasher + Default> Registry<K, A, H, S> {
    /// Returns the actor's address if the actor is running.
    pub fn find(&self, key: &K) -> Option<Addr<A>> {
        self.shard(key).read().get(key)?.running()
    }

    /// Returns the result of a function of the entry, or `None` if there is no entry.
    pub(crate) fn look<R>(&self, key: &K, at: impl FnOnce(&H) -> R) -> Option<R> {
        self.shard(key).read().get(key).map(at)
    }

    /// Changes the entry, if there is one.
    pub(crate) fn update(&self, key: &K, change: impl FnOnce(&mut H)) {
        self.shard(key).write().get_mut(key).map(change);
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }

    /// Returns whether the registry has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the address of every running actor.
    pub fn all(&self) -> Vec<Addr<A>> {
        self.shards
            .iter()
            .flat_map(|shard| shard.read().values().filter_map(H::running).collect::<Vec<_>>())
            .collect()
    }

    pub(crate) fn insert(&self, key: K, address: Addr<A>) {
        self.shard(&key).write().insert(key, H::store(address));
    }

    /// Removes an actor unless a newer one has replaced it.
    pub(crate) fn remove(&self, key: &K, address: &Addr<A>) {
        let mut shard = self.shard(key).write();
        if shard.get(key).and_then(H::running).as_ref() == Some(address) {
            shard.remove(key);
        }
        shrink_if_sparse(&mut shard);
    }

    fn shard(&self, key: &K) -> &Shard<K, H, S> {
        // The shard is chosen by other bits of the hash than a table uses, because both may use the same hash.
        &self.shards[(self.hasher.hash_one(key) >> 40) as usize % SHARDS]
    }
}
