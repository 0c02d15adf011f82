//! A cache of the sources of data that is not stored (M-02). A server remembers an object that it has looked up, or
//! created as a device, so that notifications for its clients need no database.
//!
//! For five seconds the cached object is used with its ancestors, because a change may take effect a few seconds
//! late. After that only the existence and the owner of the object are used. Every server is notified when an object
//! is deleted or gets another owner, and increments the [generation](Database::names_generation). Rights that depend
//! on the ancestors of the object are looked up again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_model::access::{Accessor, Ancestor};
use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use quick_cache::sync::Cache;

use crate::Database;
use crate::access::{SourceObject, find_shared_source};

/// The time for which an object is used with its ancestors.
const RECENT: Duration = Duration::from_secs(5);
/// The time for which an object alone is used if no server reports a change of it. This bounds the effect of a change
/// that no server reports, such as one by an operator in the database.
const KNOWN: Duration = Duration::from_secs(300);
/// The most objects that are remembered.
const OBJECTS: usize = 100_000;

/// The managed objects that were looked up recently.
pub(crate) struct RecentSources(Cache<(TenantId, ManagedObjectId), Remembered>);

impl Default for RecentSources {
    fn default() -> Self {
        Self(Cache::new(OBJECTS))
    }
}

/// A managed object as it was when it was looked up.
#[derive(Clone)]
struct Remembered {
    at: Instant,
    /// The generation of names before the look-up.
    generation: u64,
    /// Whether the object was looked up with all of its ancestors.
    complete: bool,
    source: Arc<SourceObject>,
}

/// The part of a cached object that is valid without a look-up.
enum Reliable<'a> {
    /// The object with all of its ancestors.
    Lineage(&'a [Ancestor]),
    /// The object alone.
    Object(&'a [Ancestor]),
    /// Nothing.
    Nothing,
}

impl Remembered {
    /// Returns the valid part. `generation` is the current one, or `None` while the database is unreachable, so that
    /// no server could report a change.
    fn reliable(&self, age: Duration, generation: Option<u64>) -> Reliable<'_> {
        let lineage = &self.source.lineage;
        if self.complete && age < RECENT {
            Reliable::Lineage(lineage)
        } else if age < KNOWN && generation == Some(self.generation) {
            // The first element of the lineage is the object itself.
            Reliable::Object(&lineage[..lineage.len().min(1)])
        } else {
            Reliable::Nothing
        }
    }
}

/// A device that is about to be created by this server.
pub struct NewSource {
    /// The generation of names before the device exists.
    generation: u64,
}

impl NewSource {
    /// Prepares to remember a device of a tenant. It is called before the device is stored, so that a change by
    /// somebody else right afterwards is noticed.
    pub fn of(database: &Database, tenant: &TenantId) -> Self {
        Self { generation: database.names_generation(tenant) }
    }

    /// Caches that the device exists, and its owner. Its ancestors are looked up when they are needed.
    pub fn created(self, database: &Database, tenant: &TenantId, id: ManagedObjectId, owner: &str) {
        // All paths from an object to itself consist of childDevices links only.
        let device = Ancestor { id, owner: owner.to_owned(), by_devices: true };
        let source = Arc::new(SourceObject { lineage: vec![device], ..SourceObject::default() });
        let remembered =
            Remembered { at: Instant::now(), generation: self.generation, complete: false, source };
        database.recent_sources.0.insert((tenant.clone(), id), remembered);
    }
}

/// Authorizes a caller to send data of a managed object that is not stored. `has_fragment` returns whether the data
/// contains a fragment.
///
/// # Errors
/// `Forbidden`; `Invalid` when the object does not exist (E-01); `Unavailable` or `Database`.
pub async fn authorize_unstored(
    database: &Database,
    tenant: &TenantId,
    id: ManagedObjectId,
    accessor: Accessor<'_>,
    has_fragment: impl Fn(&str) -> bool,
) -> Result<()> {
    let permits = |lineage: &[Ancestor]| {
        accessor.authority.permits(accessor.user, accessor.ownership, lineage, &has_fragment)
    };
    let verdict = |lineage: &[Ancestor]| if permits(lineage) { Ok(()) } else { Err(Error::Forbidden) };
    let (key, generation) = ((tenant.clone(), id), database.names_generation(tenant));
    if let Some(known) = database.recent_sources.0.get(&key) {
        match known.reliable(known.at.elapsed(), database.is_reachable().then_some(generation)) {
            Reliable::Lineage(lineage) => return verdict(lineage),
            Reliable::Object(object) if permits(object) => return Ok(()),
            Reliable::Object(_) | Reliable::Nothing => {}
        }
    }
    let source = find_shared_source(database, tenant, id).await?.ok_or_else(|| Error::unknown_source(id))?;
    let remembered = Remembered { at: Instant::now(), generation, complete: true, source: source.clone() };
    database.recent_sources.0.insert(key, remembered);
    verdict(&source.lineage)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_secs(6);

    fn remembered() -> Remembered {
        let of = |id| Ancestor { id: ManagedObjectId(id), owner: "joe".to_owned(), by_devices: true };
        let source = Arc::new(SourceObject { lineage: vec![of(1), of(2)], ..SourceObject::default() });
        Remembered { at: Instant::now(), generation: 7, complete: true, source }
    }

    /// Returns the number of objects of the lineage that are valid.
    fn relied_on(age: Duration, generation: Option<u64>) -> usize {
        count(remembered().reliable(age, generation))
    }

    fn count(reliable: Reliable<'_>) -> usize {
        match reliable {
            Reliable::Lineage(lineage) | Reliable::Object(lineage) => lineage.len(),
            Reliable::Nothing => 0,
        }
    }

    #[test]
    fn ancestors_are_cached_for_five_seconds() {
        for generation in [Some(7), Some(8), None] {
            assert_eq!(relied_on(RECENT - Duration::from_millis(1), generation), 2, "{generation:?}");
        }
    }

    #[test]
    fn object_alone_is_cached_until_a_change_is_reported() {
        assert_eq!(relied_on(LATER, Some(7)), 1);
        assert_eq!(relied_on(LATER, Some(8)), 0, "an object was deleted or has another owner");
        assert_eq!(relied_on(LATER, None), 0, "the database could not report a change");
        assert_eq!(relied_on(KNOWN, Some(7)), 0);
    }

    #[test]
    fn ancestors_of_a_created_object_are_not_cached() {
        let created = Remembered { complete: false, ..remembered() };
        assert_eq!(count(created.reliable(Duration::ZERO, Some(7))), 1);
        assert_eq!(count(created.reliable(Duration::ZERO, Some(8))), 0, "it was deleted at once");
    }
}
