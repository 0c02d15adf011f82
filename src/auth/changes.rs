//! What changed since somebody was verified. Who is remembered is dropped at once; who holds a connection open, and so
//! is asked for credentials no more, is checked against this.

use std::collections::HashMap;

use parking_lot::RwLock;
use platform_actors::Changed;
use platform_actors::model::id::TenantId;

use super::Identity;

/// Users whose changes are known one by one; beyond, whoever was verified before counts as [`Standing::Unknown`].
const KNOWN: usize = 100_000;

/// The changes of users and tenants, numbered.
#[derive(Default)]
pub(super) struct Changes(RwLock<Log>);

#[derive(Default)]
struct Log {
    count: u64,
    /// When a tenant changed, and with it maybe whose domain is whose.
    domains: u64,
    /// Up to here it is not known who changed.
    floor: u64,
    users: HashMap<TenantId, HashMap<Box<str>, u64>>,
    tenants: HashMap<TenantId, u64>,
    /// Options, and with them the keys of tokens.
    options: HashMap<TenantId, u64>,
    entries: usize,
}

/// How a caller said which tenant is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TenantBy {
    /// In the user name or the token.
    Credentials,
    /// By the host; then any tenant that changes its domain may change what was meant.
    Host,
}

/// What is known of a user since a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing changed.
    Current,
    /// The user or the tenant changed.
    Changed,
    /// A change may have been missed.
    Unknown,
}

impl Changes {
    /// The number of this moment.
    pub(super) fn now(&self) -> u64 {
        self.0.read().count
    }

    /// Notes a change; `forget` runs before anybody can remember something older.
    pub(super) fn note(&self, changed: Changed<'_>, forget: impl FnOnce()) {
        let mut log = self.0.write();
        log.count += 1;
        log.enter(changed);
        forget();
    }

    /// What is known of a user since it was verified.
    pub(super) fn standing(&self, identity: &Identity) -> Standing {
        self.0.read().standing(identity)
    }

    /// Runs `remember` when nothing changed since the user was verified; nothing changes while it runs.
    pub(super) fn while_current(&self, identity: &Identity, by: TenantBy, remember: impl FnOnce()) {
        let log = self.0.read();
        let same_domains = by == TenantBy::Credentials || log.domains <= identity.seen;
        if same_domains && log.standing(identity) == Standing::Current {
            remember();
        }
    }

    /// Runs `remember` when nothing at all changed since a moment; nothing changes while it runs.
    pub(super) fn while_unchanged(&self, since: u64, remember: impl FnOnce()) {
        let log = self.0.read();
        if log.count == since {
            remember();
        }
    }
}

impl Log {
    fn enter(&mut self, changed: Changed<'_>) {
        let now = self.count;
        if let Changed::Tenant(_) | Changed::Anything = changed {
            self.domains = now;
        }
        let known = match changed {
            Changed::User(tenant, user) => {
                let of_tenant = self.users.entry(tenant.clone()).or_default();
                of_tenant.insert(user.into(), now)
            }
            Changed::Tenant(tenant) => self.tenants.insert(tenant.clone(), now),
            Changed::Options(tenant) => self.options.insert(tenant.clone(), now),
            Changed::Anything => return self.start_over(),
        };
        self.entries += usize::from(known.is_none());
        if self.entries > KNOWN {
            self.start_over();
        }
    }

    fn start_over(&mut self) {
        *self = Self { count: self.count, floor: self.count, domains: self.domains, ..Self::default() };
    }

    fn standing(&self, identity: &Identity) -> Standing {
        let tenant = &identity.tenant;
        let of_user = self.users.get(tenant).and_then(|users| users.get(&*identity.user));
        let of_keys = self.options.get(tenant).filter(|_| identity.by_token());
        let changes = [of_user, self.tenants.get(tenant), of_keys];
        match changes.into_iter().flatten().any(|at| *at > identity.seen) {
            true => Standing::Changed,
            false if self.floor > identity.seen => Standing::Unknown,
            false => Standing::Current,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use platform_actors::model::access::DevicePermissions;
    use platform_actors::model::role::RoleSet;

    use super::*;

    fn id(text: &str) -> TenantId {
        TenantId::parse(text).expect("an id")
    }

    fn verified(tenant: &TenantId, user: &str, seen: u64, expires: Option<Instant>) -> Identity {
        let (roles, permissions) = (RoleSet::from_iter([""; 0]), DevicePermissions::default());
        Identity {
            tenant: tenant.clone(),
            user: user.into(),
            roles,
            permissions,
            application: None,
            expires,
            seen,
        }
    }

    #[test]
    fn change_concerns_whom_it_names_and_nobody_else() {
        let (changes, t1, t2) = (Changes::default(), id("t1"), id("t2"));
        changes.note(Changed::User(&t1, "joe"), || {});
        let since = changes.now();
        let standing = |tenant, user| changes.standing(&verified(tenant, user, since, None));
        assert_eq!(standing(&t1, "joe"), Standing::Current);

        changes.note(Changed::User(&t1, "joe"), || {});
        changes.note(Changed::Tenant(&t2), || {});

        assert_eq!(standing(&t1, "joe"), Standing::Changed);
        assert_eq!(standing(&t1, "ann"), Standing::Current);
        assert_eq!(standing(&t2, "joe"), Standing::Changed);
    }

    #[test]
    fn options_concern_who_came_by_a_token() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let (basic, token) = (verified(&t1, "joe", 0, None), verified(&t1, "joe", 0, Some(Instant::now())));

        changes.note(Changed::Options(&t1), || {});

        assert_eq!(changes.standing(&basic), Standing::Current);
        assert_eq!(changes.standing(&token), Standing::Changed);
    }

    #[test]
    fn after_a_gap_nothing_older_is_certain() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let before = verified(&t1, "joe", changes.now(), None);

        changes.note(Changed::Anything, || {});

        assert_eq!(changes.standing(&before), Standing::Unknown);
        assert_eq!(changes.standing(&verified(&t1, "joe", changes.now(), None)), Standing::Current);
        let mut remembered = false;
        changes.while_current(&before, TenantBy::Credentials, || remembered = true);
        assert!(!remembered);
    }

    #[test]
    fn tenant_named_by_the_host_is_uncertain_when_any_tenant_changes() {
        let (changes, t1, t2) = (Changes::default(), id("t1"), id("t2"));
        let before = verified(&t1, "joe", changes.now(), None);
        changes.note(Changed::Tenant(&t2), || {});

        let (mut by_host, mut by_name) = (false, false);
        changes.while_current(&before, TenantBy::Host, || by_host = true);
        changes.while_current(&before, TenantBy::Credentials, || by_name = true);

        assert_eq!((by_host, by_name), (false, true));
    }

    #[test]
    fn memory_of_changes_is_bounded() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let before = verified(&t1, "7", changes.now(), None);

        (0..=KNOWN).for_each(|n| changes.note(Changed::User(&t1, &n.to_string()), || {}));

        assert!(changes.0.read().entries <= KNOWN);
        assert_eq!(changes.standing(&before), Standing::Unknown);
    }
}
