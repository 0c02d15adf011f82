//! The kinds of changes, and how a change is written on the notification channel of the database.

use std::collections::HashSet;

use platform_model::id::{ManagedObjectId, TenantId};

/// The maximum length of one payload: PostgreSQL takes fewer than 8000 bytes. A longer list of names is split over
/// several.
const PAYLOAD_BYTES: usize = 7000;

/// Names of users.
pub type Names = HashSet<Box<str>>;

/// The users whose rights changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holders {
    /// The named users.
    Users(Names),
    /// Possibly every user of the tenant.
    Everybody,
}

/// Whether rights were added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightsChange {
    /// Rights were only added, so no session ends.
    Granted,
    /// Some rights may be gone, so sessions that depend on them end.
    Withdrawn,
}

/// A change of data that servers cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Users whose password changed, or who were disabled or deleted: their sessions end (U-16).
    Users(TenantId, Names),
    /// Users whose rights changed (B-18b).
    Rights(TenantId, Holders, RightsChange),
    /// The status or the domain of a tenant changed: all its sessions end (Z-01).
    Tenant(TenantId),
    /// A tenant was created with rows that it had elsewhere or earlier, so what is known of its objects may be wrong.
    Imported(TenantId),
    /// The limits of a tenant changed, and with them those of its sub-tenants.
    Limits(TenantId),
    /// A cached option of a tenant changed.
    Options(TenantId),
    /// The required availability of a managed object changed.
    Availability(TenantId, ManagedObjectId),
    /// External ids or template sets of a tenant changed.
    Names(TenantId),
    /// An application of a tenant or one of its subscriptions was created, changed or deleted.
    Applications(TenantId),
    /// Modules of a tenant were created, changed or deleted.
    Modules(TenantId),
    /// Traces of a tenant began or ended.
    Traces(TenantId),
    /// A consumer of notifications was changed, or is read at another server: its readers have to look again.
    Consumer(TenantId, Box<str>),
    /// A log-in with a wrong password or token failed at one server; the others count it, too. The text is that of
    /// the HTTP layer.
    Guess(TenantId, Box<str>),
    /// The question of a command whether everything announced before is applied. The text names the command.
    IsApplied(TenantId, Box<str>),
    /// Changes may have been missed while the connection was lost.
    Anything,
}

// These words follow the tenant and a slash in a payload. No user name begins with a plus (U-08). Some statements in
// `sql` write them too.
const USERS: &str = "+users";
const GIVEN: &str = "+given";
const TAKEN: &str = "+taken";
const IMPORTED: &str = "+imported";
const LIMITS: &str = "+limits";
const OPTIONS: &str = "+options";
const AVAILABILITY: &str = "+availability/";
const NAMES: &str = "+names";
const APPLICATIONS: &str = "+applications";
const MODULES: &str = "+modules";
const TRACES: &str = "+traces";
const CONSUMER: &str = "+consumer/";
const GUESS: &str = "+guess/";
const IS_APPLIED: &str = "+applied/";

impl Change {
    /// Adds a change to others. Changes of the same kind for users of one tenant are merged.
    pub(super) fn join(self, others: &mut Vec<Self>) {
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

    /// Merges changes of the same kind.
    pub fn joined(changes: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut joined = Vec::new();
        changes.into_iter().for_each(|change| change.join(&mut joined));
        joined
    }

    /// Returns the payloads of the change, each with its tenant.
    pub(super) fn payloads(&self) -> Vec<String> {
        let lists = |tenant, word, names: &Names| {
            lists_of(names).into_iter().map(|list| format!("{tenant}/{word}{list}")).collect()
        };
        match self {
            Self::Users(tenant, names) => lists(tenant, USERS, names),
            Self::Rights(tenant, Holders::Users(names), shift) => lists(tenant, shift.word(), names),
            Self::Rights(tenant, Holders::Everybody, shift) => vec![format!("{tenant}/{}", shift.word())],
            Self::Tenant(tenant) => vec![format!("{tenant}/")],
            Self::Imported(tenant) => vec![format!("{tenant}/{IMPORTED}")],
            Self::Limits(tenant) => vec![format!("{tenant}/{LIMITS}")],
            Self::Options(tenant) => vec![format!("{tenant}/{OPTIONS}")],
            Self::Availability(tenant, object) => vec![format!("{tenant}/{AVAILABILITY}{object}")],
            Self::Names(tenant) => vec![format!("{tenant}/{NAMES}")],
            Self::Applications(tenant) => vec![format!("{tenant}/{APPLICATIONS}")],
            Self::Modules(tenant) => vec![format!("{tenant}/{MODULES}")],
            Self::Traces(tenant) => vec![format!("{tenant}/{TRACES}")],
            Self::Consumer(tenant, name) => vec![format!("{tenant}/{CONSUMER}{name}")],
            Self::Guess(tenant, text) => vec![format!("{tenant}/{GUESS}{text}")],
            Self::IsApplied(tenant, asker) => vec![format!("{tenant}/{IS_APPLIED}{asker}")],
            // It is not announced, because each server detects it by itself.
            Self::Anything => Vec::new(),
        }
    }

    /// Parses a payload of [`payloads`](Self::payloads) or of a statement in `sql`. A plain name is that of a user.
    pub(super) fn parse(tenant: &str, text: &str) -> Option<Self> {
        let tenant = TenantId::parse(tenant).ok()?;
        if let Some(object) = text.strip_prefix(AVAILABILITY) {
            return Some(Self::Availability(tenant, ManagedObjectId::parse(object).ok()?));
        }
        if let Some(guess) = text.strip_prefix(GUESS) {
            return Some(Self::Guess(tenant, guess.into()));
        }
        if let Some(name) = text.strip_prefix(CONSUMER) {
            return Some(Self::Consumer(tenant, name.into()));
        }
        if let Some(asker) = text.strip_prefix(IS_APPLIED) {
            return Some(Self::IsApplied(tenant, asker.into()));
        }
        if let Some(list) = text.strip_prefix(USERS) {
            return Some(Self::Users(tenant, serde_json::from_str(list).ok()?));
        }
        for shift in [RightsChange::Granted, RightsChange::Withdrawn] {
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
            IMPORTED => Self::Imported(tenant),
            LIMITS => Self::Limits(tenant),
            OPTIONS => Self::Options(tenant),
            NAMES => Self::Names(tenant),
            APPLICATIONS => Self::Applications(tenant),
            MODULES => Self::Modules(tenant),
            TRACES => Self::Traces(tenant),
            user => Self::Users(tenant, Names::from([user.into()])),
        })
    }
}

impl RightsChange {
    /// Returns the kind of a change of rights, given whether it is certain that no right was lost.
    pub(crate) fn unless_lost(nothing_is_lost: bool) -> Self {
        if nothing_is_lost { Self::Granted } else { Self::Withdrawn }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Granted => GIVEN,
            Self::Withdrawn => TAKEN,
        }
    }
}

/// Writes names as JSON arrays, each short enough for a payload.
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
            Change::Rights(tenant.clone(), Holders::Users(users.clone()), RightsChange::Granted),
            Change::Rights(tenant.clone(), Holders::Users(users), RightsChange::Withdrawn),
            Change::Rights(tenant.clone(), Holders::Everybody, RightsChange::Withdrawn),
            Change::Tenant(tenant.clone()),
            Change::Imported(tenant.clone()),
            Change::Limits(tenant.clone()),
            Change::Options(tenant.clone()),
            Change::Availability(tenant.clone(), ManagedObjectId(7)),
            Change::Names(tenant.clone()),
            Change::Applications(tenant.clone()),
            Change::Modules(tenant.clone()),
            Change::Traces(tenant.clone()),
            Change::Consumer(tenant.clone(), "billing".into()),
            Change::IsApplied(tenant, "0123456789abcdef".into()),
        ]
    }

    fn read(payload: &str) -> Option<Change> {
        let (tenant, text) = payload.split_once('/')?;
        Change::parse(tenant, text)
    }

    #[test]
    fn change_is_read_as_it_was_written() {
        for change in changes() {
            let [payload] = &*change.payloads() else { panic!("one payload: {change:?}") };
            assert_eq!(read(payload), Some(change));
        }
        assert_eq!(read("t1/joe"), Some(Change::Users(tenant(), names(&["joe"]))));
    }

    #[test]
    fn names_that_exceed_one_payload_are_split_over_several() {
        let many: Names = (0..3000).map(|n| format!("user {n}").into()).collect();
        let payloads = Change::Users(tenant(), many.clone()).payloads();

        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() < 7900));
        let read = payloads.iter().filter_map(|payload| read(payload));
        assert_eq!(Change::joined(read), [Change::Users(tenant(), many)]);
    }
}
