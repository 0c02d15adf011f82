//! What a transaction changes that servers remember. It is told to every server process with the commit, and carried out at this
//! process before the change is answered (B-18b).
//!
//! A transaction collects its changes in [`Announcements`] and sends them as notifications, marked as those of this process. After
//! the commit this process carries them out itself and ignores the notifications when they come back: they may come late, when a
//! user that was deleted is there again and has new sessions. Was the transaction abandoned while it was being committed, nobody
//! here knows how it ended; then what comes back counts as the news of another process.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use deadpool_postgres::{GenericClient, Object, Transaction};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::{Database, until_uncontended};
use crate::error::Result;
use crate::model::id::{ManagedObjectId, TenantId};

/// Channel of `NOTIFY` for all of this.
pub(super) const CHANNEL: &str = "platform_users";
const NOTIFY: &str = include_str!("../../../sql/queries/announcements/notify.sql");

/// PostgreSQL takes payloads of fewer than 8000 bytes. A longer list of names is sent as several.
const PAYLOAD_BYTES: usize = 7000;
/// For so long after its commit a notification of this process is known as its own. The connection that listens counts as lost
/// when it is silent for a few seconds, and what comes after that is no late notification but a gap.
const KNOWN_AS_OWN: Duration = Duration::from_secs(120);

/// Names of users.
pub type Names = HashSet<Box<str>>;

/// Whose rights changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holders {
    /// These users'.
    Users(Names),
    /// Those of maybe every user of the tenant.
    Everybody,
}

/// In which direction rights changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shift {
    /// There are only more than before: nothing ends.
    Given,
    /// Some may be gone: what rested on them ends.
    Taken,
}

/// What servers must forget, and what must end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Users whose password is another, or who were disabled or deleted: their sessions end (U-16).
    Users(TenantId, Names),
    /// Users who may do something else than before (B-18b).
    Rights(TenantId, Holders, Shift),
    /// The status or the domain of a tenant; all its sessions end (Z-01).
    Tenant(TenantId),
    /// An option of a tenant that servers remember.
    Options(TenantId),
    /// A managed object asks for another availability than before.
    Availability(TenantId, ManagedObjectId),
    /// External ids or template sets of a tenant.
    Names(TenantId),
    /// An application of a tenant, or a subscription of it, came, changed or went.
    Applications(TenantId),
    /// Modules of a tenant came, changed or went.
    Modules(TenantId),
    /// Changes may have been missed while nobody listened.
    Anything,
}

// What follows the tenant and a slash in a payload. No user is called so (U-08); statements in `sql` write some of them.
const USERS: &str = "+users";
const GIVEN: &str = "+given";
const TAKEN: &str = "+taken";
const OPTIONS: &str = "+options";
const AVAILABILITY: &str = "+availability/";
const NAMES: &str = "+names";
const APPLICATIONS: &str = "+applications";
const MODULES: &str = "+modules";

impl Change {
    /// Adds a change to others. Of what is said of several users of a tenant one change is made.
    fn join(self, others: &mut Vec<Self>) {
        for other in others.iter_mut() {
            match (other, &self) {
                (Self::Users(tenant, names), Self::Users(of, more)) if tenant == of => {
                    return names.extend(more.iter().cloned());
                }
                (
                    Self::Rights(tenant, Holders::Users(names), shift),
                    Self::Rights(of, Holders::Users(more), same),
                ) if tenant == of && shift == same => return names.extend(more.iter().cloned()),
                (other, _) if *other == self => return,
                _ => {}
            }
        }
        others.push(self);
    }

    /// The same changes, those of a kind together.
    pub(crate) fn joined(changes: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut joined = Vec::new();
        changes.into_iter().for_each(|change| change.join(&mut joined));
        joined
    }

    /// How it is written on the channel, without whose it is.
    fn payloads(&self) -> Vec<String> {
        let lists = |tenant, word, names: &Names| {
            lists_of(names).into_iter().map(|list| format!("{tenant}/{word}{list}")).collect()
        };
        match self {
            Self::Users(tenant, names) => lists(tenant, USERS, names),
            Self::Rights(tenant, Holders::Users(names), shift) => lists(tenant, shift.word(), names),
            Self::Rights(tenant, Holders::Everybody, shift) => vec![format!("{tenant}/{}", shift.word())],
            Self::Tenant(tenant) => vec![format!("{tenant}/")],
            Self::Options(tenant) => vec![format!("{tenant}/{OPTIONS}")],
            Self::Availability(tenant, object) => vec![format!("{tenant}/{AVAILABILITY}{object}")],
            Self::Names(tenant) => vec![format!("{tenant}/{NAMES}")],
            Self::Applications(tenant) => vec![format!("{tenant}/{APPLICATIONS}")],
            Self::Modules(tenant) => vec![format!("{tenant}/{MODULES}")],
            // Nobody announces it: each server finds it out for itself.
            Self::Anything => Vec::new(),
        }
    }

    /// Reads what [`payloads`](Self::payloads) wrote, or a statement in `sql`; a plain name is that of a user.
    fn parse(tenant: &str, text: &str) -> Option<Self> {
        let tenant = TenantId::parse(tenant).ok()?;
        if let Some(object) = text.strip_prefix(AVAILABILITY) {
            return Some(Self::Availability(tenant, ManagedObjectId::parse(object).ok()?));
        }
        if let Some(list) = text.strip_prefix(USERS) {
            return Some(Self::Users(tenant, serde_json::from_str(list).ok()?));
        }
        for shift in [Shift::Given, Shift::Taken] {
            match text.strip_prefix(shift.word()) {
                None => {}
                Some("") => return Some(Self::Rights(tenant, Holders::Everybody, shift)),
                Some(list) => {
                    let users = Holders::Users(serde_json::from_str(list).ok()?);
                    return Some(Self::Rights(tenant, users, shift));
                }
            }
        }
        Some(match text {
            "" => Self::Tenant(tenant),
            OPTIONS => Self::Options(tenant),
            NAMES => Self::Names(tenant),
            APPLICATIONS => Self::Applications(tenant),
            MODULES => Self::Modules(tenant),
            user => Self::Users(tenant, Names::from([user.into()])),
        })
    }
}

impl Shift {
    /// The direction between what somebody held and holds now, when it is known that nothing is lacking.
    pub(crate) fn unless_lost(nothing_is_lost: bool) -> Self {
        if nothing_is_lost { Self::Given } else { Self::Taken }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Given => GIVEN,
            Self::Taken => TAKEN,
        }
    }
}

/// Names as JSON arrays, none too long for a payload.
fn lists_of(names: &Names) -> Vec<String> {
    let (mut lists, mut list) = (Vec::new(), String::new());
    for name in names {
        let name = serde_json::to_string(name).expect("a text is JSON");
        if !list.is_empty() && list.len() + name.len() > PAYLOAD_BYTES {
            lists.push(std::mem::take(&mut list) + "]");
        }
        list.push(if list.is_empty() { '[' } else { ',' });
        list.push_str(&name);
    }
    if !list.is_empty() {
        lists.push(list + "]");
    }
    lists
}

/// Tells every server process of a change, this one too, with the commit of a transaction. For what this process has carried out
/// by itself, where it does no harm to do it again.
pub(super) async fn announce(client: &impl GenericClient, change: &Change) -> Result<()> {
    client.execute(NOTIFY, &[&CHANNEL, &change.payloads()]).await?;
    Ok(())
}

/// Changes what servers remember. One transaction, which is run again when it lost against others of the same moment; when this
/// returns, what was announced is forgotten here, and what had to end has ended.
///
/// # Errors
/// What `work` fails with; `Contended`, `Unavailable` or `Database`.
pub(super) async fn change<T>(
    database: &Database,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    change_over(database, async || database.reader().await, work).await
}

/// As [`change`], over a connection of the caller's choice.
///
/// # Errors
/// As [`change`].
pub(super) async fn change_over<T>(
    database: &Database,
    connect: impl AsyncFn() -> Result<Object>,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    let (outcome, carried_out) = until_uncontended(async || {
        let mut client = connect().await?;
        let transaction = client.transaction().await?;
        let announcements = Announcements::default();
        let outcome = work(&transaction, &announcements).await?;
        let sent = announcements.send(database, &transaction).await?;
        transaction.commit().await?;
        Ok((outcome, sent.committed()))
    })
    .await?;
    // The connection was given back: what ends sessions needs some itself.
    carried_out.finished().await;
    Ok(outcome)
}

/// The changes of one transaction.
#[derive(Debug, Default)]
pub(super) struct Announcements(Mutex<Vec<Change>>);

impl Announcements {
    /// Adds a change.
    pub(super) fn add(&self, change: Change) {
        change.join(&mut self.0.lock());
    }

    /// Adds that a user has another password, was disabled or is gone.
    pub(super) fn add_user(&self, tenant: &TenantId, name: &str) {
        self.add(Change::Users(tenant.clone(), Names::from([name.into()])));
    }

    /// Adds that a user may do something else than before.
    pub(super) fn add_rights_of(&self, tenant: &TenantId, name: &str, shift: Shift) {
        self.add(Change::Rights(tenant.clone(), Holders::Users(Names::from([name.into()])), shift));
    }

    /// Sends them, to be told with the commit.
    async fn send(self, database: &Database, transaction: &Transaction<'_>) -> Result<Sent> {
        let changes = self.0.into_inner();
        let bus = database.bus.clone();
        if changes.is_empty() {
            return Ok(Sent { bus, number: None, changes });
        }
        let number = bus.begin();
        let sent = Sent { bus, number: Some(number), changes };
        let mark = sent.bus.mark(number);
        let payloads = sent.changes.iter().flat_map(Change::payloads);
        let payloads: Vec<String> = payloads.map(|payload| format!("{mark}:{payload}")).collect();
        let statement = transaction.prepare_cached(NOTIFY).await?;
        transaction.execute(&statement, &[&CHANNEL, &payloads]).await?;
        Ok(sent)
    }
}

/// Announcements that come true with the commit of their transaction. Dropped without [`committed`](Self::committed), what came
/// back meanwhile is carried out as the news of others.
struct Sent {
    bus: Arc<Bus>,
    /// `None` when nothing was announced, or is under way no longer.
    number: Option<u64>,
    changes: Vec<Change>,
}

impl Sent {
    /// Carries out what can be done at once, and begins the rest, which goes on when nobody waits for it.
    fn committed(mut self) -> CarriedOut {
        let carried_out = self.bus.carry_out(std::mem::take(&mut self.changes));
        if let Some(number) = self.number.take() {
            self.bus.end(number);
        }
        carried_out
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let came_back = self.bus.abandon(number);
            self.bus.carry_out(came_back);
        }
    }
}

/// The part of a change that takes time.
pub(crate) struct CarriedOut(Option<JoinHandle<()>>);

impl CarriedOut {
    /// Waits for its end.
    pub(super) async fn finished(self) {
        if let Some(rest) = self.0 {
            // It ends early only when the process does.
            rest.await.ok();
        }
    }
}

/// What a process does about changes: forgets before it returns, and ends sessions in the future it gives.
type CarryOut = Box<dyn Fn(Vec<Change>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Knows which notifications are those of this process, and who carries changes out.
pub(crate) struct Bus {
    /// Drawn at random: no other process marks its notifications so.
    origin: u64,
    next: AtomicU64,
    own: Mutex<Own>,
    carry_out: OnceLock<CarryOut>,
}

/// The transactions of this process that announced something, by their numbers.
#[derive(Default)]
struct Own {
    /// Not known to be committed, with what came back of them.
    under_way: HashMap<u64, Vec<Change>>,
    /// Carried out.
    done: HashSet<u64>,
    /// The same, the oldest first.
    done_at: VecDeque<(Instant, u64)>,
}

impl Default for Bus {
    fn default() -> Self {
        let mut origin = [0; 8];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut origin).expect("the system's random source works");
        Self {
            origin: u64::from_le_bytes(origin),
            next: AtomicU64::new(0),
            own: Mutex::default(),
            carry_out: OnceLock::new(),
        }
    }
}

impl Bus {
    /// Says once what this process does about changes. Until then, as in a command, nothing is remembered, so nothing is done.
    pub(crate) fn install(&self, carry_out: CarryOut) {
        self.carry_out.set(carry_out).ok();
    }

    /// Carries changes out: when this returns everything is forgotten, and when the rest has finished sessions have ended.
    pub(crate) fn carry_out(&self, changes: Vec<Change>) -> CarriedOut {
        let Some(carry_out) = self.carry_out.get().filter(|_| !changes.is_empty()) else {
            return CarriedOut(None);
        };
        let rest = carry_out(changes);
        // Without a runtime the process is about to end.
        CarriedOut(tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.spawn(rest)))
    }

    /// Reads a notification; `None` for one of this process's own, and for what nobody understands.
    pub(super) fn read(&self, payload: &str) -> Option<Change> {
        let (head, text) = payload.split_once('/')?;
        let (mark, tenant) = head.split_once(':').map_or((None, head), |(mark, tenant)| (Some(mark), tenant));
        let change = Change::parse(tenant, text)?;
        let Some(number) = mark.and_then(|mark| self.number_of(mark)) else { return Some(change) };
        let mut own = self.own.lock();
        if let Some(came_back) = own.under_way.get_mut(&number) {
            came_back.push(change);
            return None;
        }
        (!own.done.contains(&number)).then_some(change)
    }

    fn mark(&self, number: u64) -> String {
        format!("{:016x}.{number}", self.origin)
    }

    /// The number in a mark of this process.
    fn number_of(&self, mark: &str) -> Option<u64> {
        let (origin, number) = mark.split_once('.')?;
        (u64::from_str_radix(origin, 16) == Ok(self.origin)).then(|| number.parse().ok())?
    }

    fn begin(&self) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.own.lock().under_way.insert(number, Vec::new());
        number
    }

    fn end(&self, number: u64) {
        let (now, mut own) = (Instant::now(), self.own.lock());
        own.under_way.remove(&number);
        own.done.insert(number);
        own.done_at.push_back((now, number));
        while let Some((_, old)) = own.done_at.pop_front_if(|(at, _)| now.duration_since(*at) > KNOWN_AS_OWN)
        {
            own.done.remove(&old);
        }
    }

    fn abandon(&self, number: u64) -> Vec<Change> {
        self.own.lock().under_way.remove(&number).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant() -> TenantId {
        TenantId::parse("t1").expect("an id")
    }

    fn names(names: &[&str]) -> Names {
        names.iter().map(|name| Box::from(*name)).collect()
    }

    fn changes() -> Vec<Change> {
        let (tenant, users) = (tenant(), names(&["joe", "a \"quoted\" name", "ünï"]));
        vec![
            Change::Users(tenant.clone(), users.clone()),
            Change::Rights(tenant.clone(), Holders::Users(users.clone()), Shift::Given),
            Change::Rights(tenant.clone(), Holders::Users(users), Shift::Taken),
            Change::Rights(tenant.clone(), Holders::Everybody, Shift::Taken),
            Change::Tenant(tenant.clone()),
            Change::Options(tenant.clone()),
            Change::Availability(tenant.clone(), ManagedObjectId(7)),
            Change::Names(tenant.clone()),
            Change::Applications(tenant.clone()),
            Change::Modules(tenant),
        ]
    }

    #[test]
    fn change_is_read_as_it_was_written() {
        let bus = Bus::default();
        for change in changes() {
            let [payload] = &*change.payloads() else { panic!("one payload: {change:?}") };
            assert_eq!(bus.read(payload), Some(change));
        }
        assert_eq!(bus.read("t1/joe"), Some(Change::Users(tenant(), names(&["joe"]))));
        assert_eq!(bus.read("t1"), None);
    }

    #[test]
    fn names_that_do_not_fit_into_one_payload_are_sent_as_several() {
        let many: Names = (0..3000).map(|n| format!("user {n}").into()).collect();
        let payloads = Change::Users(tenant(), many.clone()).payloads();

        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() < 7900));
        let read = payloads.iter().filter_map(|payload| Bus::default().read(payload));
        assert_eq!(Change::joined(read), [Change::Users(tenant(), many)]);
    }

    #[test]
    fn own_notification_is_ignored_once_its_change_was_carried_out() {
        let (bus, other) = (Bus::default(), Bus::default());
        let number = bus.begin();
        let payload = format!("{}:t1/joe", bus.mark(number));

        assert_eq!(bus.read(&payload), None, "the one who commits will see to it");
        bus.end(number);
        assert_eq!(bus.read(&payload), None);
        assert!(other.read(&payload).is_some());
    }

    #[test]
    fn own_notification_of_an_abandoned_transaction_is_news() {
        let bus = Bus::default();
        let (early, late) = (bus.begin(), bus.begin());
        let payload = |number| format!("{}:t1/joe", bus.mark(number));
        let news = Change::Users(tenant(), names(&["joe"]));

        assert_eq!(bus.read(&payload(early)), None);
        assert_eq!(bus.abandon(early), std::slice::from_ref(&news), "it came before the end of the wait");
        assert!(bus.abandon(late).is_empty());
        assert_eq!(bus.read(&payload(late)), Some(news), "it came afterwards");
    }
}
