//! Channels of families: `/alarmsWithChildren/<id>` hears of an object and of everything below it (B-19b).
//!
//! Only the links say whose family a source belongs to. While somebody listens to a family, the ancestors of each source
//! that is told of are looked up, those of many sources together, and remembered for a moment. What is published of a source
//! meanwhile waits behind it, so that the order per source stays. While nobody listens to a family nothing is looked up,
//! and nothing waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Publish;
use crate::bayeux::{Pattern, Resource};
use crate::error::{Error, Result};
use crate::model::id::{ManagedObjectId, TenantId};
use crate::store::{self, Database};

/// How long ancestors are remembered. A link that this server changes is known at once, one that another server changes
/// after this time.
const REMEMBERED: Duration = Duration::from_secs(1);
/// Sources whose ancestors are remembered at most.
const REMEMBERED_SOURCES: usize = 100_000;
/// Sources that one look-up asks for.
const ASKED_AT_ONCE: usize = 1000;
/// A look-up that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// An object with everything above it.
pub(super) type Lineage = Arc<[ManagedObjectId]>;

/// The families somebody listens to, and what is known of who belongs to them.
pub(super) struct Families {
    tenant: TenantId,
    database: Database,
    /// Patterns with listeners, by resource.
    listened: HashMap<Resource, usize>,
    lineages: HashMap<ManagedObjectId, (Instant, Lineage)>,
    /// What waits for a look-up, by source, in order.
    waiting: HashMap<ManagedObjectId, Vec<Publish>>,
    /// Sources the next look-up asks for.
    wanted: Vec<ManagedObjectId>,
    looking: bool,
    /// Rises with each change of links, so that a look-up under way does not bring old knowledge back.
    changes: u64,
}

/// What becomes of a notification.
pub(super) enum Placed {
    /// It is delivered now, also to those who listen to these families.
    Ready(Publish, Option<Lineage>),
    /// It waits for the ancestors of its source.
    Waiting,
}

/// A look-up that is to be made.
pub(super) struct LookUp {
    tenant: TenantId,
    database: Database,
    sources: Vec<ManagedObjectId>,
    changes: u64,
}

/// What waited for a look-up, per source in order, with the families it belongs to.
type Ready = Vec<(Publish, Lineage)>;

/// A look-up that was made.
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
            listened: HashMap::new(),
            lineages: HashMap::new(),
            waiting: HashMap::new(),
            wanted: Vec::new(),
            looking: false,
            changes: 0,
        }
    }

    /// A pattern has its first listener.
    pub(super) fn joined(&mut self, pattern: &Pattern) {
        if let Pattern::WithChildren(channel) = pattern {
            *self.listened.entry(channel.resource).or_default() += 1;
        }
    }

    /// A pattern has lost its last listener.
    pub(super) fn left(&mut self, pattern: &Pattern) {
        let Pattern::WithChildren(channel) = pattern else { return };
        if let Some(count) = self.listened.get_mut(&channel.resource) {
            *count -= 1;
            if *count == 0 {
                self.listened.remove(&channel.resource);
            }
        }
        if self.listened.is_empty() {
            self.lineages = HashMap::new();
        }
    }

    /// Families are others than before.
    pub(super) fn links_changed(&mut self) {
        self.changes += 1;
        self.lineages.clear();
    }

    /// Decides whether a notification can be delivered.
    pub(super) fn place(&mut self, publish: Publish) -> Placed {
        if !self.waiting.is_empty()
            && let Some(waiting) = self.waiting.get_mut(&publish.source)
        {
            waiting.push(publish);
            return Placed::Waiting;
        }
        if self.listened.is_empty() || !self.listened.contains_key(&publish.event.resource()) {
            return Placed::Ready(publish, None);
        }
        match self.lineages.get(&publish.source) {
            Some((at, lineage)) if at.elapsed() < REMEMBERED => Placed::Ready(publish, Some(lineage.clone())),
            _ => {
                self.wanted.push(publish.source);
                self.waiting.insert(publish.source, vec![publish]);
                Placed::Waiting
            }
        }
    }

    /// The next look-up, when one is due and none is under way.
    pub(super) fn next(&mut self) -> Option<LookUp> {
        if self.looking || self.wanted.is_empty() {
            return None;
        }
        self.looking = true;
        let sources = self.wanted.drain(..self.wanted.len().min(ASKED_AT_ONCE)).collect();
        let (tenant, database) = (self.tenant.clone(), self.database.clone());
        Some(LookUp { tenant, database, sources, changes: self.changes })
    }

    /// Takes in what was found, and gives what waited for it, per source in order.
    ///
    /// # Errors
    /// Why it could not be found out, with what waited.
    pub(super) fn found(&mut self, found: Found) -> Result<Ready, (Error, Vec<Publish>)> {
        self.looking = false;
        let mut lineages = match found.lineages {
            Ok(lineages) => lineages,
            Err(error) => {
                let waiting = found.sources.iter().filter_map(|source| self.waiting.remove(source));
                return Err((error, waiting.flatten().collect()));
            }
        };
        let remember = self.changes == found.changes && !self.listened.is_empty();
        if self.lineages.len() > REMEMBERED_SOURCES {
            self.lineages.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        }
        let (now, mut ready) = (Instant::now(), Vec::new());
        for source in found.sources {
            // Of an object that is gone meanwhile nobody knows the family any more.
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
    /// Asks the database.
    pub(super) async fn run(self) -> Found {
        let look = store::access::list_lineages(&self.database, &self.tenant, &self.sources);
        let lineages = match tokio::time::timeout(PATIENCE, look).await {
            Ok(lineages) => lineages,
            Err(_) => Err(Error::unavailable("looking families up took too long")),
        };
        Found { sources: self.sources, changes: self.changes, lineages }
    }
}
