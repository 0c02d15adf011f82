//! The sessions of a tenant, which callers look up without a message.

use actix::{Addr, WeakAddr};

use super::dispatcher::{SessionDispatcher, SessionSlot};
use super::{ClientId, SessionActor, SessionHere};
use crate::registry::{Registry, StoredAddress};
use crate::server_key_hasher::ServerKeyHasher;

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
    /// Returns the slot of a session, if it has one yet.
    pub(crate) fn slot_of(&self, client: ClientId) -> Option<SessionSlot> {
        self.look(&client, |entry| entry.slot)?
    }

    /// Returns a session that runs on the calling thread.
    pub fn find_here(&self, client: ClientId) -> Option<SessionHere> {
        let slot = self.slot_of(client)?;
        SessionDispatcher::session_here(slot).map(SessionHere)
    }
}
