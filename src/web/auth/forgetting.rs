//! The end of what is remembered about callers: after a change, and after a pause of this process.

use std::sync::atomic::Ordering;

use platform_actors::{Changed, Holders};

use super::changes::TenantBy;
use super::{Authenticator, CachedCaller};

impl Authenticator {
    /// Forgets everything that was remembered before a pause of this process, in which changes of other servers were
    /// not received. It is called before anything is recalled.
    pub(super) fn notice_pause(&self) {
        let pauses = self.database.pauses().note();
        if self.pauses.load(Ordering::Acquire) == pauses {
            return;
        }
        let mut forgotten = self.forgotten.lock();
        if *forgotten != pauses {
            self.forget(Changed::Anything);
            *forgotten = pauses;
            self.pauses.store(pauses, Ordering::Release);
        }
    }

    /// Drops the cached data of users whose password or rights changed. A changed tenant may have another
    /// host, so its domains are dropped too.
    pub fn forget(&self, changed: Changed<'_>) {
        if let Changed::Guess(text) = changed {
            return self.throttle.heard(text);
        }
        if let Changed::Tenant(_) | Changed::Anything = changed {
            self.foreign_keys.outdate();
        }
        let keep = |keep: &dyn Fn(&CachedCaller) -> bool| self.remembered.retain(|_, known| keep(known));
        self.changes.note(changed, || match changed {
            Changed::Users(tenant, names) | Changed::Rights(tenant, Holders::Users(names)) => {
                keep(&|known| known.caller.tenant != *tenant || !names.contains(&*known.caller.user));
            }
            Changed::Rights(tenant, Holders::Everybody) => keep(&|known| known.caller.tenant != *tenant),
            Changed::Options(tenant) => {
                self.public_keys.forget(Some(tenant));
                self.identity_providers.forget(Some(tenant));
                keep(&|known| known.caller.tenant != *tenant || !known.caller.by_jwt());
            }
            Changed::Tenant(tenant) => {
                self.domains.forget();
                self.public_keys.forget(Some(tenant));
                self.identity_providers.forget(Some(tenant));
                keep(&|known| known.caller.tenant != *tenant && known.tenant_by == TenantBy::Credentials);
            }
            Changed::Guess(_) => {}
            Changed::Anything => {
                self.domains.forget();
                self.public_keys.forget(None);
                self.identity_providers.forget(None);
                self.remembered.clear();
            }
        });
    }
}
