//! Subscriptions to families: `/alarmsWithChildren/<id>` receives notifications of an object and of everything below
//! it (B-19b).
//!
//! Only the links in the database say which families a source belongs to. While a session is subscribed to a family,
//! the hub looks up the ancestors of each source that a notification is about. One look-up serves many sources, and
//! its result is remembered for a moment. Notifications of the source wait for the look-up, so their order per source
//! is kept. Without such subscriptions nothing is looked up, and nothing waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::realtime::bayeux::{Pattern, Resource};
use platform_store::{self, Database};

use super::Publish;

/// The time that ancestors are cached. A change of links by this server applies at once, a change by another server
/// after this time.
const REMEMBERED: Duration = Duration::from_secs(1);
/// The most sources whose ancestors are remembered.
const REMEMBERED_SOURCES: usize = 100_000;
/// The most sources of one look-up.
const SOURCES_PER_LOOK_UP: usize = 1000;
/// The time after which a look-up fails.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// The ids of an object and of everything above it.
pub(super) type Lineage = Arc<[ManagedObjectId]>;

/// The families with subscriptions, and the remembered ancestors of sources.
pub(super) struct Families {
    tenant: TenantId,
    database: Database,
    /// The number of family patterns with subscriptions, by resource.
    subscribed: HashMap<Resource, usize>,
    lineages: HashMap<ManagedObjectId, (Instant, Lineage)>,
    /// The notifications that wait for a look-up, by source and in order.
    waiting: HashMap<ManagedObjectId, Vec<Publish>>,
    /// The sources of the next look-up.
    pending_sources: Vec<ManagedObjectId>,
    under_way: bool,
    /// Counts changes of links, so that a look-up that was under way during a change is not remembered.
    changes: u64,
}

/// Whether a notification can be delivered.
pub(super) enum Placement {
    /// It is delivered now, also to the subscriptions to these families.
    Ready(Publish, Option<Lineage>),
    /// It waits until the ancestors of its source are looked up.
    Waiting,
}

/// A look-up that is due.
pub(super) struct LookUp {
    tenant: TenantId,
    database: Database,
    sources: Vec<ManagedObjectId>,
    changes: u64,
}

/// The notifications that waited for a look-up, in order per source, with their families.
type Ready = Vec<(Publish, Lineage)>;

/// The result of a look-up.
pub(super) struct Found {
    sources: Vec<ManagedObjectId>,
    changes: u64,
    lineages: Result<HashMap<ManagedObjectId, Lineage>>,
}

impl Families {
    pub(super) fn new(tenant: TenantId, database: Database) -> Self {
        Self {
            tenant,
            database,
            subscribed: HashMap::new(),
            lineages: HashMap::new(),
            waiting: HashMap::new(),
            pending_sources: Vec::new(),
            under_way: false,
            changes: 0,
        }
    }

    /// Notes that a pattern has its first subscription.
    pub(super) fn joined(&mut self, pattern: &Pattern) {
        if let Pattern::WithChildren(channel) = pattern {
            *self.subscribed.entry(channel.resource).or_default() += 1;
        }
    }

    /// Notes that a pattern has lost its last subscription.
    pub(super) fn left(&mut self, pattern: &Pattern) {
        let Pattern::WithChildren(channel) = pattern else { return };
        if let Some(count) = self.subscribed.get_mut(&channel.resource) {
            *count -= 1;
            if *count == 0 {
                self.subscribed.remove(&channel.resource);
            }
        }
        if self.subscribed.is_empty() {
            self.lineages = HashMap::new();
        }
    }

    /// Forgets all ancestors, because links changed.
    pub(super) fn links_changed(&mut self) {
        self.changes += 1;
        self.lineages.clear();
    }

    /// Returns a notification that can be delivered, or keeps it until its ancestors are looked up.
    pub(super) fn place(&mut self, publish: Publish) -> Placement {
        if !self.waiting.is_empty()
            && let Some(waiting) = self.waiting.get_mut(&publish.source)
        {
            waiting.push(publish);
            return Placement::Waiting;
        }
        if self.subscribed.is_empty() || !self.subscribed.contains_key(&publish.event.resource()) {
            return Placement::Ready(publish, None);
        }
        match self.lineages.get(&publish.source) {
            Some((at, lineage)) if at.elapsed() < REMEMBERED => {
                Placement::Ready(publish, Some(lineage.clone()))
            }
            _ => {
                self.pending_sources.push(publish.source);
                self.waiting.insert(publish.source, vec![publish]);
                Placement::Waiting
            }
        }
    }

    /// Returns whether notifications wait for look-ups.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the next look-up if one is due and none is under way.
    pub(super) fn next(&mut self) -> Option<LookUp> {
        if self.under_way || self.pending_sources.is_empty() {
            return None;
        }
        self.under_way = true;
        let sources =
            self.pending_sources.drain(..self.pending_sources.len().min(SOURCES_PER_LOOK_UP)).collect();
        let (tenant, database) = (self.tenant.clone(), self.database.clone());
        Some(LookUp { tenant, database, sources, changes: self.changes })
    }

    /// Takes the result of a look-up and returns the notifications that waited for it, in order per source.
    ///
    /// # Errors
    /// The error of the look-up, with the notifications that waited.
    pub(super) fn found(&mut self, found: Found) -> Result<Ready, (Error, Vec<Publish>)> {
        self.under_way = false;
        let mut lineages = match found.lineages {
            Ok(lineages) => lineages,
            Err(error) => {
                let waiting = found.sources.iter().filter_map(|source| self.waiting.remove(source));
                return Err((error, waiting.flatten().collect()));
            }
        };
        let remember = self.changes == found.changes && !self.subscribed.is_empty();
        if self.lineages.len() > REMEMBERED_SOURCES {
            self.lineages.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        }
        let (now, mut ready) = (Instant::now(), Vec::new());
        for source in found.sources {
            // An object that was deleted meanwhile has no known ancestors.
            let lineage = lineages.remove(&source).unwrap_or_else(|| Arc::new([source]));
            if remember && self.lineages.len() <= REMEMBERED_SOURCES {
                self.lineages.insert(source, (now, lineage.clone()));
            }
            let waiting = self.waiting.remove(&source).unwrap_or_default();
            ready.extend(waiting.into_iter().map(|publish| (publish, lineage.clone())));
        }
        Ok(ready)
    }
}

impl LookUp {
    /// Queries the database.
    pub(super) async fn run(self) -> Found {
        let query = platform_store::access::list_lineages(&self.database, &self.tenant, &self.sources);
        let lineages = match tokio::time::timeout(LOOK_UP_TIMEOUT, query).await {
            Ok(lineages) => lineages,
            Err(_) => Err(Error::unavailable("the look-up of ancestors timed out")),
        };
        Found { sources: self.sources, changes: self.changes, lineages }
    }
}
