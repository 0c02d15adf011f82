//! The channel on which a consumer receives an entry of the journal.

use std::collections::HashMap;
use std::sync::Arc;

use platform_model::access::Ancestor;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::realtime::bayeux::{Channel, Pattern, Resource};
use platform_model::realtime::filter::{Content, NotificationFilter};
use platform_model::realtime::trace::diagnosis::{JournalEvidence, JournalVerdict};
use platform_model::timestamp::Timestamp;
use platform_store::realtime::journal::JournalEntry;
use platform_store::{Database, access};

/// The ancestors of objects.
pub(super) type Lineages = HashMap<ManagedObjectId, Vec<Ancestor>>;

/// Looks up the ancestors of those entries that only a family may receive (B-19b).
///
/// # Errors
/// `Unavailable` or `Database`.
pub(super) async fn lineages<'e>(
    database: &Database,
    tenant: &TenantId,
    channels: &[Pattern],
    entries: impl Iterator<Item = &'e JournalEntry>,
) -> Result<Lineages> {
    let of_family = |entry: &&JournalEntry| {
        let families = channels.iter().filter(|channel| matches!(channel, Pattern::WithChildren(_)));
        own_channel(channels, entry).is_none()
            && families.into_iter().any(|family| family.resource() == Some(entry.resource))
    };
    let mut sources: Vec<_> = entries.filter(of_family).map(|entry| entry.source).collect();
    if sources.is_empty() {
        return Ok(Lineages::new());
    }
    sources.sort_unstable();
    sources.dedup();
    access::list_ancestors(database, tenant, &sources).await
}

/// Returns the channel on which a consumer with these channels receives an entry: that of the object, or else that of
/// the first family of the object. An entry has one position, so it is received once (B-02).
pub(super) fn channel_of(channels: &[Pattern], entry: &JournalEntry, lineages: &Lineages) -> Option<String> {
    if let Some(own) = own_channel(channels, entry) {
        return Some(own.to_string());
    }
    let is_above = |object: ManagedObjectId| {
        object == entry.source
            || lineages
                .get(&entry.source)
                .is_some_and(|lineage| lineage.iter().any(|ancestor| ancestor.id == object))
    };
    let is_family = |pattern: &&Pattern| match pattern {
        Pattern::WithChildren(family) => family.resource == entry.resource && is_above(family.id),
        _ => false,
    };
    channels.iter().find(is_family).map(ToString::to_string)
}

/// Returns which entries of the journal a consumer with these channels and this filter receives (B-38).
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn judge(
    database: &Database,
    tenant: &TenantId,
    (channels, filter): (&[Pattern], &Option<Arc<NotificationFilter>>),
    entries: &[JournalEntry],
) -> Result<Vec<JournalEvidence>> {
    let lineages = lineages(database, tenant, channels, entries.iter()).await?;
    let judged = entries.iter().map(|entry| {
        let passes = || filter.as_ref().is_none_or(|filter| filter.matches(&Content::of(&entry.content)));
        JournalEvidence {
            position: entry.place.position,
            time: Timestamp::stored(entry.place.arrived, 0),
            channel: Channel { resource: entry.resource, id: entry.source }.to_string(),
            verdict: match channel_of(channels, entry, &lineages) {
                None => JournalVerdict::OtherChannel,
                Some(_) if passes() => JournalVerdict::Matches,
                Some(_) => JournalVerdict::Filtered,
            },
        }
    });
    Ok(judged.collect())
}

/// Returns whether a consumer with these channels may receive a publication. Only the ancestors of the source say
/// whether a family does.
pub(super) fn may_receive(channels: &[Pattern], resource: Resource, source: ManagedObjectId) -> bool {
    channels.iter().any(|pattern| match pattern {
        Pattern::Exact(channel) => *channel == Channel { resource, id: source },
        Pattern::All(of) => *of == resource,
        Pattern::WithChildren(family) => family.resource == resource,
        // A consumer has no such channels.
        Pattern::Group(_) | Pattern::Agent(_) | Pattern::Module { .. } => false,
    })
}

fn own_channel(channels: &[Pattern], entry: &JournalEntry) -> Option<Channel> {
    let own = Channel { resource: entry.resource, id: entry.source };
    let receives = |pattern: &Pattern| match pattern {
        Pattern::Exact(channel) => *channel == own,
        Pattern::All(resource) => *resource == own.resource,
        _ => false,
    };
    channels.iter().any(receives).then_some(own)
}
