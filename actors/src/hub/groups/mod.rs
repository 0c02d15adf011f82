//! Subscriptions to groups: `/alarmsOfGroup/<id>` receives the notifications of the devices that are members of the
//! group when they are published (B-39).
//!
//! The hub reads the members of a group when its first subscription begins. Afterwards, each published change of a
//! device decides whether the device is a member: the hub compares the query of the group with the device in memory. No
//! notification causes a look-up. Groups whose members depend on links are read again after each change of links.
//!
//! While members are read, the notifications that may concern the group wait, and those of other subscriptions do not.
//! Before these are judged, everything has been delivered that was committed before the members were read. A change
//! that waited may be older than what was read, so its device counts as a member until then, and nothing is lost.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::links::encode;
use platform_model::realtime::bayeux::{GroupChannel, GroupForm, Pattern, Resource};
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::filter::{Content, Membership};
use platform_store::Database;
use platform_store::devices::groups::{self, GroupMembers};
use tokio::time::{sleep, timeout};

use super::listeners::Verdicts;
use super::{NotificationForms, NotificationHub, Publish, Subscriptions};
use crate::server_key_hasher::ServerKeyHasher;

/// The most groups of a tenant with subscriptions at one server.
const MOST_GROUPS: usize = 100;
/// The most members of a group with subscriptions.
const MOST_MEMBERS: usize = 200_000;
/// The time for which a group that has more members cannot be subscribed to.
const TOO_LARGE: Duration = Duration::from_secs(60);
/// The time after which reading the members fails.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// The pause before the members are read again after a failure.
const PAUSE: Duration = Duration::from_secs(1);

type Ids = HashSet<ManagedObjectId, ServerKeyHasher>;

/// The groups of a tenant with subscriptions.
pub(super) struct Groups {
    tenant: TenantId,
    database: Database,
    subscribed: HashMap<ManagedObjectId, Group>,
    /// The groups that had too many members, and when.
    too_large: HashMap<ManagedObjectId, Instant>,
    /// The groups whose members are to be read.
    due: Vec<ManagedObjectId>,
    last_reading: u64,
}

/// A group with subscriptions.
struct Group {
    /// The number of its channels with subscriptions.
    channels: usize,
    membership: Membership,
    members: Ids,
    /// The reading of the members that is under way.
    reading: Option<Reading>,
}

/// The members are being read.
struct Reading {
    number: u64,
    /// The publications since it began.
    waiting: Vec<Publish>,
    /// Whether the members may have changed since it began in a way that only the database knows.
    is_outdated: bool,
    has_failed: bool,
}

/// Members that are to be read.
struct MembersToRead {
    tenant: TenantId,
    database: Database,
    group: ManagedObjectId,
    number: u64,
    pause: Duration,
}

/// Members that were read, or the error.
struct Read {
    group: ManagedObjectId,
    number: u64,
    members: Result<GroupMembers>,
}

/// A publication for a group: whether its source is a member now.
struct Receipt {
    group: ManagedObjectId,
    is_member: bool,
}

impl Groups {
    pub(super) fn new(tenant: TenantId, database: Database) -> Self {
        let (subscribed, too_large) = (HashMap::new(), HashMap::new());
        Self { tenant, database, subscribed, too_large, due: Vec::new(), last_reading: 0 }
    }

    /// Returns whether a first subscription may begin on this channel.
    pub(super) fn has_room_for(&self, pattern: &Pattern) -> bool {
        let Pattern::Group(GroupChannel { group: id, .. }) = pattern else { return true };
        let is_too_large = self.too_large.get(id).is_some_and(|at| at.elapsed() < TOO_LARGE);
        !is_too_large && (self.subscribed.contains_key(id) || self.subscribed.len() < MOST_GROUPS)
    }

    /// Notes that a pattern has its first subscription.
    pub(super) fn joined(&mut self, pattern: &Pattern) {
        let Pattern::Group(GroupChannel { group: id, .. }) = pattern else { return };
        if let Some(group) = self.subscribed.get_mut(id) {
            group.channels += 1;
            return;
        }
        let (membership, members) = (Membership::Links, Ids::default());
        self.subscribed.insert(*id, Group { channels: 1, membership, members, reading: None });
        self.begin_reading(*id, false);
    }

    /// Notes that a pattern has lost its last subscription.
    pub(super) fn left(&mut self, pattern: &Pattern) {
        let Pattern::Group(GroupChannel { group: id, .. }) = pattern else { return };
        if let Some(group) = self.subscribed.get_mut(id) {
            group.channels -= 1;
            if group.channels == 0 {
                self.subscribed.remove(id);
            }
        }
    }

    /// Returns whether members are being read, so that notifications wait.
    pub(super) fn has_waiting(&self) -> bool {
        self.subscribed.values().any(|group| group.reading.is_some())
    }

    /// Notes that links were added or removed.
    pub(super) fn links_changed(&mut self) {
        let depends = |group: &Group| !matches!(group.membership, Membership::Members(_));
        let changed: Vec<_> =
            self.subscribed.iter().filter(|(_, group)| depends(group)).map(|(id, _)| *id).collect();
        changed.into_iter().for_each(|id| self.begin_reading(id, false));
    }

    /// Reads the members of a group (again), or once more after the reading that is under way.
    fn begin_reading(&mut self, id: ManagedObjectId, has_failed: bool) {
        let Some(group) = self.subscribed.get_mut(&id) else { return };
        if let Some(reading) = &mut group.reading {
            reading.is_outdated = true;
            return;
        }
        self.last_reading += 1;
        let number = self.last_reading;
        group.reading = Some(Reading { number, waiting: Vec::new(), is_outdated: false, has_failed });
        self.due.push(id);
    }

    fn take_due(&mut self) -> Vec<MembersToRead> {
        let due = std::mem::take(&mut self.due);
        let to_read = |group| {
            let reading = self.subscribed.get(&group)?.reading.as_ref()?;
            let pause = if reading.has_failed { PAUSE } else { Duration::ZERO };
            let (tenant, database) = (self.tenant.clone(), self.database.clone());
            Some(MembersToRead { tenant, database, group, number: reading.number, pause })
        };
        due.into_iter().filter_map(to_read).collect()
    }

    /// Notes a publication, and returns the groups that it is delivered to now.
    fn note(&mut self, publish: &Publish) -> Vec<Receipt> {
        let (mut receipts, mut outdated) = (Vec::new(), Vec::new());
        if self.subscribed.is_empty() {
            return receipts;
        }
        let json = object_of(publish);
        let object = json.as_deref().map(Content::of);
        for (id, group) in &mut self.subscribed {
            if is_definition(*id, publish) || group.is_outdated_by(publish) {
                outdated.push(*id);
            }
            if let Some(reading) = &mut group.reading {
                reading.waiting.push(publish.clone());
            } else if let Some(is_member) = group.judge(*id, publish, object.as_ref(), false) {
                receipts.push(Receipt { group: *id, is_member });
            }
            if group.members.len() > MOST_MEMBERS {
                outdated.push(*id);
            }
        }
        outdated.into_iter().for_each(|id| self.begin_reading(id, false));
        receipts
    }

    /// Takes members that were read, and returns the publications that waited for them, each with whether its source is
    /// a member then. `None` if nobody waits for these members any more.
    ///
    /// # Errors
    /// The error of the reading, or `Invalid` for too many members.
    fn finish_reading(&mut self, read: Read) -> Result<Option<Vec<(Publish, bool)>>> {
        let Read { group: id, number, members } = read;
        let Some(group) = self.subscribed.get_mut(&id) else { return Ok(None) };
        let Some(reading) = group.reading.take_if(|reading| reading.number == number) else {
            return Ok(None);
        };
        let members = members.and_then(|members| {
            let too_large = || Error::Invalid(format!("the group has more than {MOST_MEMBERS} members"));
            if members.ids.len() > MOST_MEMBERS { Err(too_large()) } else { Ok(members) }
        });
        let GroupMembers { membership, ids } = match members {
            Ok(members) => members,
            Err(error) => {
                if matches!(error, Error::Invalid(_)) {
                    self.too_large.retain(|_, at| at.elapsed() < TOO_LARGE);
                    self.too_large.insert(id, Instant::now());
                }
                self.begin_reading(id, true);
                return Err(error);
            }
        };
        group.membership = membership;
        group.members = ids.into_iter().collect();
        let is_outdated =
            reading.is_outdated || reading.waiting.iter().any(|publish| group.is_outdated_by(publish));
        let judged = group.judge_all(id, reading.waiting);
        if is_outdated {
            self.begin_reading(id, false);
        }
        Ok(Some(judged))
    }
}

/// Returns whether a publication changes the definition of a group.
fn is_definition(group: ManagedObjectId, publish: &Publish) -> bool {
    publish.source == group && changes(publish)
}

/// Returns whether a publication is about a stored change of a managed object.
fn changes(publish: &Publish) -> bool {
    publish.mode.stores() && publish.event.resource() == Resource::ManagedObjects
}

/// Returns the managed object, encoded as JSON, if a publication says what it is now.
fn object_of(publish: &Publish) -> Option<String> {
    match &publish.event {
        PublishedChange::ManagedObjectCreated(object) | PublishedChange::ManagedObjectUpdated(object) => {
            String::from_utf8(encode(&**object, &publish.links)).ok()
        }
        _ => None,
    }
}

impl Group {
    /// Returns whether only the database knows the members after a publication.
    fn is_outdated_by(&self, publish: &Publish) -> bool {
        self.membership == Membership::LinksAndMembers && changes(publish)
    }

    /// Judges the publications that waited for the members, which may show their changes already.
    fn judge_all(&mut self, id: ManagedObjectId, waiting: Vec<Publish>) -> Vec<(Publish, bool)> {
        let changed = waiting.iter().filter(|publish| changes(publish));
        let mut uncertain: Ids = changed.map(|publish| publish.source).collect();
        let judge = |publish: Publish| {
            let is_uncertain = uncertain.contains(&publish.source);
            if changes(&publish) {
                uncertain.remove(&publish.source);
            }
            let json = object_of(&publish);
            let object = json.as_deref().map(Content::of);
            let is_member = self.judge(id, &publish, object.as_ref(), is_uncertain)?;
            Some((publish, is_member))
        };
        waiting.into_iter().filter_map(judge).collect()
    }

    /// Notes whether the source of a publication is a member now. Returns it if the group receives the publication: the
    /// source is a member, was one, or is the group itself.
    fn judge(
        &mut self,
        id: ManagedObjectId,
        publish: &Publish,
        object: Option<&Content<'_>>,
        is_uncertain: bool,
    ) -> Option<bool> {
        let source = publish.source;
        let was_member = is_uncertain || self.members.contains(&source);
        let included = match object {
            Some(object) => self.membership.includes(object),
            None => matches!(publish.event, PublishedChange::ManagedObjectDeleted(_)).then_some(false),
        };
        let is_member = match included {
            Some(true) if changes(publish) => {
                self.members.insert(source);
                true
            }
            Some(false) if changes(publish) => {
                self.members.remove(&source);
                false
            }
            _ => self.members.contains(&source),
        };
        (was_member || is_member || is_definition(id, publish)).then_some(is_member)
    }
}

impl MembersToRead {
    async fn run(self) -> Read {
        sleep(self.pause).await;
        let read = async {
            let members =
                groups::list_members(&self.database, &self.tenant, self.group, MOST_MEMBERS + 1).await?;
            self.database.wait_for_deliveries(&self.tenant).await?;
            Ok(members)
        };
        let timed_out = || Error::unavailable("reading the members of a group timed out");
        let members = timeout(READ_TIMEOUT, read).await.unwrap_or_else(|_| Err(timed_out()));
        Read { group: self.group, number: self.number, members }
    }
}

impl NotificationHub {
    /// Reads the members of groups whose members are to be read.
    pub(super) fn read_members(&self, subscriptions: &mut Subscriptions) {
        for due in subscriptions.groups.take_due() {
            let hub = self.clone();
            // The thread ends only with the process.
            self.arbiter.spawn(async move {
                let read = due.run().await;
                let mut subscriptions = hub.subscriptions.lock();
                subscriptions.members_read(read);
                hub.advance_line(&mut subscriptions);
                hub.read_members(&mut subscriptions);
            });
        }
    }
}

impl Subscriptions {
    /// Delivers a publication to the groups of its source, before what may have to wait for a look-up, because it says
    /// who is a member from now on. Returns the number of sessions.
    pub(super) fn publish_to_groups(&mut self, publish: &Publish) -> u32 {
        let receipts = self.groups.note(publish);
        receipts.into_iter().map(|receipt| self.deliver_to_group(publish, receipt)).sum()
    }

    fn deliver_to_group(&mut self, publish: &Publish, Receipt { group, is_member }: Receipt) -> u32 {
        let resource = publish.event.resource();
        let channel = |form| GroupChannel { resource, group, form };
        let channels = [GroupForm::Word, GroupForm::Colon].map(channel);
        let is_member = (resource == Resource::ManagedObjects).then_some(is_member);
        let copy = |channel| {
            let forms = NotificationForms { is_member, ..NotificationForms::new(publish, channel) };
            self.deliver_copy(&Pattern::Group(channel), forms, &mut Verdicts::default())
        };
        channels.into_iter().map(copy).sum()
    }

    fn members_read(&mut self, read: Read) {
        let group = read.group;
        match self.groups.finish_reading(read) {
            Ok(judged) => {
                for (publish, is_member) in judged.into_iter().flatten() {
                    self.deliver_to_group(&publish, Receipt { group, is_member });
                }
            }
            Err(error) => {
                tracing::warn!(%error, %group, "members of a group are not known; sessions subscribed to it end");
                self.end_sessions_of(
                    |pattern| matches!(pattern, Pattern::Group(channel) if channel.group == group),
                );
            }
        }
    }
}
