//! The sessions of a tenant, by clientId and by user. Callers look them up without a message.

use std::collections::HashMap;
use std::sync::Arc;

use actix::{Addr, WeakAddr};
use platform_store::realtime::announcements::Holders;

use super::dispatcher::{SessionDispatcher, SessionSlot};
use super::{ClientId, SessionActor, SessionHere};
use crate::registry::{Registry, StoredAddress};
use crate::server_key_hasher::ServerKeyHasher;
use crate::small_map::SmallMap;
use crate::tables::shrink_if_sparse;

/// The sessions of a tenant by clientId. The registry holds weak addresses; the dispatchers own the sessions.
pub type Sessions = Registry<ClientId, SessionActor, SessionEntry, ServerKeyHasher>;

/// A session in the registry of its tenant.
#[derive(Debug)]
pub struct SessionEntry {
    address: WeakAddr<SessionActor>,
    /// The slot at the session's dispatcher; `None` until the dispatcher has started the session.
    pub(super) slot: Option<SessionSlot>,
}

impl StoredAddress<SessionActor> for SessionEntry {
    fn store(address: Addr<SessionActor>) -> Self {
        Self { address: address.downgrade(), slot: None }
    }

    fn running(&self) -> Option<Addr<SessionActor>> {
        self.address.upgrade()
    }
}

impl Sessions {
    /// Returns the slot of a session, or `None` until the session has one.
    pub(crate) fn slot_of(&self, client: ClientId) -> Option<SessionSlot> {
        self.look(&client, |entry| entry.slot)?
    }

    /// Returns a session that runs on the calling thread.
    pub fn find_here(&self, client: ClientId) -> Option<SessionHere> {
        let slot = self.slot_of(client)?;
        SessionDispatcher::session_here(slot).map(SessionHere)
    }
}

/// The sessions of a tenant by user.
#[derive(Debug, Default)]
pub(crate) struct SessionsOfUsers(HashMap<Arc<str>, SmallMap<ClientId, ()>>);

impl SessionsOfUsers {
    /// Returns the sessions of a user.
    pub(super) fn of(&self, user: &str) -> impl Iterator<Item = &ClientId> {
        self.0.get(user).into_iter().flat_map(|clients| clients.iter().map(|(client, ())| client))
    }

    pub(super) fn insert(&mut self, user: &Arc<str>, client: ClientId) {
        self.0.entry(user.clone()).or_default().insert(client, ());
    }

    pub(super) fn remove(&mut self, user: &str, client: ClientId) {
        let Some(of_user) = self.0.get_mut(user) else { return };
        of_user.remove(&client);
        if of_user.is_empty() {
            self.0.remove(user);
            shrink_if_sparse(&mut self.0);
        }
    }

    /// Lists the sessions of these users.
    pub(crate) fn list(&self, users: &Holders) -> Vec<(Arc<str>, ClientId)> {
        let of = |(user, clients): (&Arc<str>, &SmallMap<ClientId, ()>)| {
            clients.iter().map(|(client, ())| (user.clone(), *client)).collect::<Vec<_>>()
        };
        match users {
            Holders::Everybody => self.0.iter().flat_map(of).collect(),
            Holders::Users(names) => {
                names.iter().filter_map(|name| self.0.get_key_value(&**name)).flat_map(of).collect()
            }
        }
    }
}
