//! The log of changes since a caller was verified. Cached callers are dropped at once; the caller of an open
//! connection, which is not authenticated again, is checked against this log.

use std::collections::HashMap;

use parking_lot::RwLock;
use platform_actors::{Changed, Holders};
use platform_model::id::TenantId;

use super::Identity;

/// The number of users whose changes are recorded individually. Beyond it, the validity of callers that were verified
/// earlier is [`Validity::Unknown`].
const KNOWN: usize = 100_000;

/// The changes of users and tenants, numbered.
#[derive(Default)]
pub(super) struct Changes(RwLock<Log>);

#[derive(Default)]
struct Log {
    count: u64,
    /// The number of the last change of any tenant, because it may have changed domains.
    domains: u64,
    /// The changes up to this number are not recorded individually.
    floor: u64,
    users: HashMap<TenantId, HashMap<Box<str>, Moments>>,
    tenants: HashMap<TenantId, Moments>,
    /// The last change of a tenant's options, which include the keys of tokens.
    options: HashMap<TenantId, u64>,
    entries: usize,
}

/// The last changes of a user, or of all users of a tenant.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    /// The last change of the user's existence or credentials.
    credentials: u64,
    /// The last change of the user's rights.
    rights: u64,
}

/// The part of the request that named the tenant of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TenantBy {
    /// The user name or the token.
    Credentials,
    /// The host. A change of any tenant's domain may then change the tenant.
    Host,
}

/// The validity of a caller since its verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Validity {
    /// Nothing changed.
    Current,
    /// The user or the tenant changed: the caller must authenticate again.
    Changed,
    /// The rights changed, or a change may have been missed: the user must be looked up.
    Unknown,
}

impl Changes {
    /// Returns the number of changes so far.
    pub(super) fn now(&self) -> u64 {
        self.0.read().count
    }

    /// Records a change; `forget` runs before anything older can be cached.
    pub(super) fn note(&self, changed: Changed<'_>, forget: impl FnOnce()) {
        let mut log = self.0.write();
        log.count += 1;
        log.enter(changed);
        forget();
    }

    /// Returns the validity of a caller since its verification.
    pub(super) fn validity(&self, identity: &Identity) -> Validity {
        self.0.read().validity(identity)
    }

    /// Runs `remember` if nothing about the caller changed since its verification; nothing changes while it
    /// runs.
    pub(super) fn while_current(&self, identity: &Identity, by: TenantBy, remember: impl FnOnce()) {
        let log = self.0.read();
        let same_domains = by == TenantBy::Credentials || log.domains <= identity.seen;
        if same_domains && log.validity(identity) == Validity::Current {
            remember();
        }
    }

    /// Runs `remember` if nothing at all changed since a number; nothing changes while it runs.
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
                names.iter().for_each(|name| self.of_user(tenant, name).credentials = now);
            }
            Changed::Rights(tenant, Holders::Users(names)) => {
                names.iter().for_each(|name| self.of_user(tenant, name).rights = now);
            }
            Changed::Rights(tenant, Holders::Everybody) => self.of_tenant(tenant).rights = now,
            Changed::Tenant(tenant) => self.of_tenant(tenant).credentials = now,
            Changed::Options(tenant) => {
                let known = self.options.insert(tenant.clone(), now);
                self.entries += usize::from(known.is_none());
            }
            Changed::Guess(_) => {}
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

    fn validity(&self, identity: &Identity) -> Validity {
        let tenant = &identity.tenant;
        let of_user = self.users.get(tenant).and_then(|users| users.get(&*identity.user));
        let moments = [of_user, self.tenants.get(tenant)].into_iter().flatten();
        let (credentials, rights) = moments.fold((0, 0), |(credentials, rights), of| {
            (credentials.max(of.credentials), rights.max(of.rights))
        });
        let of_keys = self.options.get(tenant).filter(|_| identity.by_jwt()).copied().unwrap_or_default();
        match identity.seen {
            seen if credentials.max(of_keys) > seen => Validity::Changed,
            seen if rights.max(self.floor) > seen => Validity::Unknown,
            _ => Validity::Current,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use platform_actors::Names;
    use platform_model::access::DevicePermissions;
    use platform_model::role::RoleSet;
    use platform_model::users::second_factor::SecondFactor;
    use platform_store::tenancy::tenant_limits::TenantLimits;

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
            limits: Arc::new(TenantLimits::unlimited()),
            proof,
            second_factor: SecondFactor::None,
            password: None,
            seen,
        }
    }

    #[test]
    fn change_affects_only_the_users_it_names() {
        let (changes, t1, t2) = (Changes::default(), id("t1"), id("t2"));
        changes.note(Changed::Users(&t1, &names("joe")), || {});
        let since = changes.now();
        let validity = |tenant, user| changes.validity(&verified(tenant, user, since, Proof::Password));
        assert_eq!(validity(&t1, "joe"), Validity::Current);

        changes.note(Changed::Users(&t1, &names("joe")), || {});
        changes.note(Changed::Tenant(&t2), || {});

        assert_eq!(validity(&t1, "joe"), Validity::Changed);
        assert_eq!(validity(&t1, "ann"), Validity::Current);
        assert_eq!(validity(&t2, "joe"), Validity::Changed);
    }

    #[test]
    fn changed_rights_are_looked_up_without_a_new_login() {
        let (changes, t1, t2) = (Changes::default(), id("t1"), id("t2"));
        changes.note(Changed::Rights(&t1, &Holders::Users(names("joe"))), || {});
        changes.note(Changed::Rights(&t2, &Holders::Everybody), || {});

        let validity = |tenant, user| changes.validity(&verified(tenant, user, 0, Proof::Password));
        assert_eq!(validity(&t1, "joe"), Validity::Unknown);
        assert_eq!(validity(&t1, "ann"), Validity::Current);
        assert_eq!(validity(&t2, "ann"), Validity::Unknown);

        changes.note(Changed::Users(&t1, &names("joe")), || {});
        assert_eq!(validity(&t1, "joe"), Validity::Changed);
    }

    #[test]
    fn options_affect_callers_with_a_jwt() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let (basic, token) = (
            verified(&t1, "joe", 0, Proof::Password),
            verified(&t1, "joe", 0, Proof::Jwt { expires: Instant::now() }),
        );

        changes.note(Changed::Options(&t1), || {});

        assert_eq!(changes.validity(&basic), Validity::Current);
        assert_eq!(changes.validity(&token), Validity::Changed);
    }

    #[test]
    fn after_a_gap_nothing_older_is_certain() {
        let (changes, t1) = (Changes::default(), id("t1"));
        let before = verified(&t1, "joe", changes.now(), Proof::Password);

        changes.note(Changed::Anything, || {});

        assert_eq!(changes.validity(&before), Validity::Unknown);
        assert_eq!(
            changes.validity(&verified(&t1, "joe", changes.now(), Proof::Password)),
            Validity::Current
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
        assert_eq!(changes.validity(&before), Validity::Unknown);
    }
}
