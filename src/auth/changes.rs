//! What changed since somebody was verified. Who is remembered is dropped at once; who holds a connection open, and so
//! is asked for credentials no more, is checked against this.

use std::collections::HashMap;

use parking_lot::RwLock;
use platform_actors::model::id::TenantId;
use platform_actors::{Changed, Holders};

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
    users: HashMap<TenantId, HashMap<Box<str>, Moments>>,
    tenants: HashMap<TenantId, Moments>,
    /// Options, and with them the keys of tokens.
    options: HashMap<TenantId, u64>,
    entries: usize,
}

/// When something last changed about a user, or about all users of a tenant.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    /// Whether the user is one.
    standing: u64,
    /// What the user may do.
    rights: u64,
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
    /// The user or the tenant changed: whoever this was has to prove it again.
    Changed,
    /// The rights changed, or a change may have been missed: it is to be looked up.
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
        match changed {
            Changed::Users(tenant, names) => {
                names.iter().for_each(|name| self.of_user(tenant, name).standing = now);
            }
            Changed::Rights(tenant, Holders::Users(names)) => {
                names.iter().for_each(|name| self.of_user(tenant, name).rights = now);
            }
            Changed::Rights(tenant, Holders::Everybody) => self.of_tenant(tenant).rights = now,
            Changed::Tenant(tenant) => self.of_tenant(tenant).standing = now,
            Changed::Options(tenant) => {
                let known = self.options.insert(tenant.clone(), now);
                self.entries += usize::from(known.is_none());
            }
            Changed::Anything => self.start_over(),
        }
        if self.entries > KNOWN {
            self.start_over();
        }
    }

    fn of_user(&mut self, tenant: &TenantId, name: &str) -> &mut Moments {
        let of_tenant = self.users.entry(tenant.clone()).or_default();
        self.entries += usize::from(!of_tenant.contains_key(name));
        of_tenant.entry(name.into()).or_default()
    }

    fn of_tenant(&mut self, tenant: &TenantId) -> &mut Moments {
        self.entries += usize::from(!self.tenants.contains_key(tenant));
        self.tenants.entry(tenant.clone()).or_default()
    }

    fn start_over(&mut self) {
        *self = Self { count: self.count, floor: self.count, domains: self.domains, ..Self::default() };
    }

    fn standing(&self, identity: &Identity) -> Standing {
        let tenant = &identity.tenant;
        let of_user = self.users.get(tenant).and_then(|users| users.get(&*identity.user));
        let moments = [of_user, self.tenants.get(tenant)].into_iter().flatten();
        let (standing, rights) =
            moments.fold((0, 0), |(standing, rights), of| (standing.max(of.standing), rights.max(of.rights)));
        let of_keys = self.options.get(tenant).filter(|_| identity.by_jwt()).copied().unwrap_or_default();
        match identity.seen {
            seen if standing.max(of_keys) > seen => Standing::Changed,
            seen if rights.max(self.floor) > seen => Standing::Unknown,
            _ => Standing::Current,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use platform_actors::Names;
    use platform_actors::model::access::DevicePermissions;
    use platform_actors::model::role::RoleSet;

    use super::*;
    use crate::auth::caller::Proof;

    fn id(text: &str) -> TenantId {
        TenantId::parse(text).expect("an id")
    }

    fn names(name: &str) -> Names {
        Names::from([name.into()])
    }

    fn verified(tenant: &TenantId, user: &str, seen: u64, proof: Proof) -> Identity {
        let (roles, permissions) = (RoleSet::from_iter([""; 0]), DevicePermissions::default());
        Identity {
            tenant: tenant.clone(),
            user: user.into(),
            roles,
            permissions,
            application: None,
            proof,
            seen,
        }
    }

    #[test]
    fn change_concerns_whom_it_names_and_nobody_else() {
        let (changes, t1, t2) = (Changes::default(), id("t1"), id("t2"));
        changes.note(Changed::Users(&t1, &names("joe")), || {});
        let since = changes.now();
        let standing = |tenant, user| changes.standing(&verified(tenant, user, since, Proof::Password));
        assert_eq!(standing(&t1, "joe"), Standing::Current);

        changes.note(Changed::Users(&t1, &names("joe")), || {});
        changes.note(Changed::Tenant(&t2), || {});

        assert_eq!(standing(&t1, "joe"), Standing::Changed);
        assert_eq!(standing(&t1, "ann"), Standing::Current);
        assert_eq!(standing(&t2, "joe"), Standing::Changed);
    }

    #[test]
    fn rights_that_changed_are_to_be_looked_up_and_nobody_has_to_prove_anything() {
        let (changes, t1, t2) = (Changes::default(), id("t1"), id("t2"));
        changes.note(Changed::Rights(&t1, &Holders::Users(names("joe"))), || {});
        changes.note(Changed::Rights(&t2, &Holders::Everybody), || {});

        let standing = |tenant, user| changes.standing(&verified(tenant, user, 0, Proof::Password));
        assert_eq!(standing(&t1, "joe"), Standing::Unknown);
        assert_eq!(standing(&t1, "ann"), Standing::Current);
        assert_eq!(standing(&t2, "ann"), Standing::Unknown);

        changes.note(Changed::Users(&t1, &names("joe")), || {});
        assert_eq!(standing(&t1, "joe"), Standing::Changed);
    }

    #[test]
    fn options_concern_who_came_by_a_jwt() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let (basic, token) = (
            verified(&t1, "joe", 0, Proof::Password),
            verified(&t1, "joe", 0, Proof::Jwt { expires: Instant::now() }),
        );

        changes.note(Changed::Options(&t1), || {});

        assert_eq!(changes.standing(&basic), Standing::Current);
        assert_eq!(changes.standing(&token), Standing::Changed);
    }

    #[test]
    fn after_a_gap_nothing_older_is_certain() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let before = verified(&t1, "joe", changes.now(), Proof::Password);

        changes.note(Changed::Anything, || {});

        assert_eq!(changes.standing(&before), Standing::Unknown);
        assert_eq!(
            changes.standing(&verified(&t1, "joe", changes.now(), Proof::Password)),
            Standing::Current
        );
        let mut remembered = false;
        changes.while_current(&before, TenantBy::Credentials, || remembered = true);
        assert!(!remembered);
    }

    #[test]
    fn tenant_named_by_the_host_is_uncertain_when_any_tenant_changes() {
        let (changes, t1, t2) = (Changes::default(), id("t1"), id("t2"));
        let before = verified(&t1, "joe", changes.now(), Proof::Password);
        changes.note(Changed::Tenant(&t2), || {});

        let (mut by_host, mut by_name) = (false, false);
        changes.while_current(&before, TenantBy::Host, || by_host = true);
        changes.while_current(&before, TenantBy::Credentials, || by_name = true);

        assert_eq!((by_host, by_name), (false, true));
    }

    #[test]
    fn memory_of_changes_is_bounded() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let before = verified(&t1, "7", changes.now(), Proof::Password);

        (0..=KNOWN).for_each(|n| changes.note(Changed::Users(&t1, &names(&n.to_string())), || {}));

        assert!(changes.0.read().entries <= KNOWN);
        assert_eq!(changes.standing(&before), Standing::Unknown);
    }
}
