//! The sessions that subscribed to each channel: those without a filter, and those with one in groups (B-35).
//!
//! A filter is compared once with each publication, however many sessions have it. The others cost what they would
//! without filters.

use std::collections::HashMap;
use std::sync::Arc;

use platform_model::realtime::bayeux::{Pattern, Subscription};
use platform_model::realtime::filter::{Content, NotificationFilter};
use platform_model::units::SystemOfUnits;

use super::Notification;
use crate::server_key_hasher::ServerKeyHasher;
use crate::session::dispatcher::SessionSlot;
use crate::small_map::SmallMap;

/// The most filters of a channel, so that a publication is compared with no more.
const MOST_FILTERS: usize = 1000;

/// The sessions subscribed to one pattern, each with the system of units in which it receives measurements.
type Unfiltered = SmallMap<SessionSlot, Option<SystemOfUnits>>;

/// The sessions of all channels of a tenant.
#[derive(Default)]
pub(super) struct ListenerTable {
    unfiltered: HashMap<Pattern, Unfiltered>,
    filtered: HashMap<Pattern, Filtered>,
}

/// The sessions that subscribed to one pattern with a filter.
#[derive(Default)]
struct Filtered {
    groups: HashMap<GroupKey, Group, ServerKeyHasher>,
    of_sessions: HashMap<SessionSlot, GroupKey, ServerKeyHasher>,
}

/// The address of a filter, which is the same one for all sessions, and the units of the measurements that it sees.
type GroupKey = (usize, Option<SystemOfUnits>);

/// The sessions with the same filter.
struct Group {
    filter: Arc<NotificationFilter>,
    sessions: SmallMap<SessionSlot, ()>,
}

/// The sessions of one channel.
#[derive(Clone, Copy)]
pub(super) struct Listeners<'a> {
    unfiltered: Option<&'a Unfiltered>,
    filtered: Option<&'a Filtered>,
}

/// The filters that a publication was compared with.
#[derive(Default)]
pub(super) struct Verdicts(HashMap<GroupKey, bool, ServerKeyHasher>);

impl ListenerTable {
    /// Returns the sessions of a pattern, if it has any.
    pub(super) fn of(&self, pattern: &Pattern) -> Option<Listeners<'_>> {
        let (unfiltered, filtered) = (self.unfiltered.get(pattern), self.filtered.get(pattern));
        (unfiltered.is_some() || filtered.is_some()).then_some(Listeners { unfiltered, filtered })
    }

    /// Returns the sessions of all patterns that satisfy a condition.
    pub(super) fn of_all(&self, is_wanted: impl Fn(&Pattern) -> bool) -> Vec<Listeners<'_>> {
        let only_filtered = self.filtered.keys().filter(|pattern| !self.unfiltered.contains_key(pattern));
        let patterns = self.unfiltered.keys().chain(only_filtered).filter(|pattern| is_wanted(pattern));
        patterns.filter_map(|pattern| self.of(pattern)).collect()
    }

    /// Returns whether a pattern has sessions.
    pub(super) fn contains(&self, pattern: &Pattern) -> bool {
        self.unfiltered.contains_key(pattern) || self.filtered.contains_key(pattern)
    }

    /// Returns whether another session may subscribe: a channel has a bounded number of filters.
    pub(super) fn has_room_for(&self, subscription: &Subscription) -> bool {
        let Some(filter) = &subscription.filter else { return true };
        self.filtered.get(&subscription.pattern).is_none_or(|filtered| {
            filtered.groups.len() < MOST_FILTERS
                || filtered.groups.values().any(|group| Arc::ptr_eq(&group.filter, filter))
        })
    }

    /// Adds a session to a pattern, instead of its earlier subscription to it.
    pub(super) fn insert(
        &mut self,
        slot: SessionSlot,
        units: Option<SystemOfUnits>,
        Subscription { pattern, filter }: Subscription,
    ) {
        if filter.is_some() || !self.filtered.is_empty() {
            self.remove(slot, &pattern);
        }
        match filter {
            None => self.unfiltered.entry(pattern).or_default().insert(slot, units),
            Some(filter) => self.filtered.entry(pattern).or_default().insert(slot, units, filter),
        }
    }

    /// Removes a session from a pattern.
    pub(super) fn remove(&mut self, slot: SessionSlot, pattern: &Pattern) {
        if let Some(unfiltered) = self.unfiltered.get_mut(pattern) {
            unfiltered.remove(&slot);
            if unfiltered.is_empty() {
                self.unfiltered.remove(pattern);
            }
        }
        if let Some(filtered) = self.filtered.get_mut(pattern) {
            filtered.remove(slot);
            if filtered.of_sessions.is_empty() {
                self.filtered.remove(pattern);
            }
        }
    }
}

impl Filtered {
    fn insert(&mut self, slot: SessionSlot, units: Option<SystemOfUnits>, filter: Arc<NotificationFilter>) {
        let key = (Arc::as_ptr(&filter) as usize, units);
        let group = self.groups.entry(key).or_insert_with(|| Group { filter, sessions: SmallMap::default() });
        group.sessions.insert(slot, ());
        self.of_sessions.insert(slot, key);
    }

    fn remove(&mut self, slot: SessionSlot) {
        let Some(key) = self.of_sessions.remove(&slot) else { return };
        if let Some(group) = self.groups.get_mut(&key) {
            group.sessions.remove(&slot);
            if group.sessions.is_empty() {
                self.groups.remove(&key);
            }
        }
    }
}

impl Verdicts {
    /// Compares a publication with the filters of channels, unless that was done for an earlier channel.
    /// `notification` returns it in a system of units.
    pub(super) fn add(
        &mut self,
        channels: &[Listeners<'_>],
        mut notification: impl FnMut(Option<SystemOfUnits>) -> Arc<Notification>,
    ) {
        if channels.iter().all(|listeners| listeners.filtered.is_none()) {
            return;
        }
        for units in [None, Some(SystemOfUnits::Metric), Some(SystemOfUnits::Imperial)] {
            let groups = channels.iter().filter_map(|listeners| listeners.filtered).flat_map(|f| &f.groups);
            let mut groups = groups.filter(|((_, of), _)| *of == units).peekable();
            if groups.peek().is_none() {
                continue;
            }
            let notification = notification(units);
            let content = Content::of_message(notification.json());
            for (key, group) in groups {
                self.0.entry(*key).or_insert_with(|| group.filter.matches(&content));
            }
        }
    }

    fn are_true(&self, key: &GroupKey) -> bool {
        self.0.get(key).is_some_and(|matches| *matches)
    }
}

impl<'a> Listeners<'a> {
    /// Returns whether a session receives a publication.
    fn receives(&self, slot: SessionSlot, verdicts: &Verdicts) -> bool {
        self.unfiltered.is_some_and(|unfiltered| unfiltered.contains(&slot))
            || self.filtered.is_some_and(|filtered| {
                filtered.of_sessions.get(&slot).is_some_and(|key| verdicts.are_true(key))
            })
    }

    /// Returns the sessions that receive a publication.
    pub(super) fn recipients(
        self,
        verdicts: &'a Verdicts,
    ) -> impl Iterator<Item = (SessionSlot, Option<SystemOfUnits>)> + 'a {
        let unfiltered = self.unfiltered.into_iter().flat_map(SmallMap::iter);
        let groups = self.filtered.into_iter().flat_map(|filtered| &filtered.groups);
        let matching = groups.filter(|(key, _)| verdicts.are_true(key));
        let filtered = matching
            .flat_map(|((_, units), group)| group.sessions.iter().map(move |(slot, ())| (slot, units)));
        unfiltered.chain(filtered).map(|(slot, units)| (*slot, *units))
    }

    /// Returns the filters that do not match a publication.
    pub(super) fn rejecting(self, verdicts: &'a Verdicts) -> impl Iterator<Item = String> + 'a {
        let groups = self.filtered.into_iter().flat_map(|filtered| &filtered.groups);
        let rejecting = groups.filter(|(key, _)| !verdicts.are_true(key));
        rejecting.map(|(_, group)| group.filter.text().to_owned())
    }

    /// Returns all sessions.
    pub(super) fn slots(self) -> impl Iterator<Item = SessionSlot> + 'a {
        let unfiltered = self.unfiltered.into_iter().flat_map(SmallMap::iter).map(|(slot, _)| *slot);
        unfiltered.chain(self.filtered.into_iter().flat_map(|filtered| filtered.of_sessions.keys().copied()))
    }
}

/// Returns every session that receives a publication on one of several channels once, even if it subscribed to more
/// than one (B-02).
pub(super) fn each_once<'a>(
    channels: &'a [Listeners<'a>],
    verdicts: &'a Verdicts,
) -> impl Iterator<Item = (SessionSlot, Option<SystemOfUnits>)> + 'a {
    channels.iter().enumerate().flat_map(move |(at, listeners)| {
        let earlier = &channels[..at];
        let first_here =
            move |slot: SessionSlot| !earlier.iter().any(|earlier| earlier.receives(slot, verdicts));
        listeners.recipients(verdicts).filter(move |(slot, _)| first_here(*slot))
    })
}
