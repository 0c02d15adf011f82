//! Sessions that were requested from another server and have not arrived yet. Everybody who knows a clientId can cause
//! such a request, but the session arrives only for its owner. So a request for one user does not decide about the
//! messages of another (B-18).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use parking_lot::Mutex;
use platform_model::realtime::bayeux::Pattern;
use tokio::time::Instant;

use super::moving::Moving;
use super::{ClientId, SessionActor, SessionContext};
use crate::session_moves::NotArrived;

/// The time in which a session that has not arrived responds to the messages that were sent to it meanwhile.
const MISSED: Duration = Duration::from_secs(1);

/// The users for whom sessions are requested from other servers at the moment.
#[derive(Debug, Default)]
pub(crate) struct Requested {
    /// The number of sessions, so that messages for other sessions take no lock.
    count: AtomicUsize,
    users: Mutex<HashMap<ClientId, Arc<str>>>,
}

impl Requested {
    pub(super) fn insert(&self, client: ClientId, user: &Arc<str>) {
        let mut users = self.users.lock();
        users.insert(client, user.clone());
        self.count.store(users.len(), Ordering::Release);
    }

    pub(super) fn remove(&self, client: ClientId, user: &str) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut users = self.users.lock();
        if users.get(&client).is_some_and(|requested| **requested == *user) {
            users.remove(&client);
            self.count.store(users.len(), Ordering::Release);
        }
    }

    /// Returns whether a session is on its way for another user, who may not be its owner.
    pub(crate) fn is_for_another(&self, client: ClientId, user: &str) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.users.lock().get(&client).is_some_and(|requested| **requested != *user)
    }
}

/// Waits until the session has arrived. Sent for a message of a user that names a session of another server.
#[derive(Debug, Message)]
#[rtype(result = "Arrival")]
pub(crate) struct AwaitArrival {
    pub(crate) user: Arc<str>,
}

/// The result of an arrival for one user.
#[derive(Debug, MessageResponse)]
pub(crate) enum Arrival {
    /// The session is here, with these subscriptions.
    Here(Box<[Pattern]>),
    /// The session has ended, or belongs to another user.
    Unknown,
    /// The session may exist elsewhere, but cannot move at the moment.
    NotNow,
    /// The session was requested for another user and did not arrive, so it has to be requested for this one.
    ForAnother,
}

impl SessionActor {
    /// Gives the arrival up. Messages that wait here get a response; later ones try again.
    pub(super) fn miss(&mut self, reason: NotArrived, ctx: &mut SessionContext) {
        self.end_move();
        self.moving = Some(Box::new(Moving::Missed(reason)));
        let environment = &self.environment;
        // A request for the same session waits for this lock, so that it finds either this arrival or nothing.
        let mut of_users = environment.of_users.lock();
        environment.sessions.remove(&self.client, &ctx.address());
        of_users.remove(&self.user, self.client);
        environment.requested.remove(self.client, &self.user);
        drop(of_users);
        self.due = Instant::now() + MISSED;
        self.arm(ctx);
    }

    /// Returns whether the session has not arrived.
    pub(super) fn is_missed(&self) -> bool {
        matches!(self.moving.as_deref(), Some(Moving::Missed(_)))
    }

    /// Returns whether the session has not arrived but may exist elsewhere for this user, who then gets 503 and not 402
    /// (B-16a).
    pub(super) fn may_be_elsewhere(&self, user: &str) -> bool {
        match self.moving.as_deref() {
            Some(Moving::Missed(NotArrived::NotNow)) => true,
            Some(Moving::Missed(NotArrived::Ended)) => *self.user != *user,
            _ => false,
        }
    }
}

impl Handler<AwaitArrival> for SessionActor {
    type Result = Arrival;

    fn handle(&mut self, AwaitArrival { user }: AwaitArrival, _: &mut Self::Context) -> Arrival {
        match (self.is_missed(), *self.user == *user) {
            (false, true) => Arrival::Here(self.patterns()),
            (false, false) => Arrival::Unknown,
            (true, true) if self.may_be_elsewhere(&user) => Arrival::NotNow,
            (true, true) => Arrival::Unknown,
            (true, false) => Arrival::ForAnother,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_requested_for_another_until_it_has_arrived_or_not() {
        let requested = Requested::default();
        let (client, joe, ann) = (ClientId::from_bits(1), Arc::from("joe"), Arc::from("ann"));
        requested.insert(client, &joe);
        assert!(!requested.is_for_another(client, "joe"));
        assert!(requested.is_for_another(client, "ann"));
        assert!(!requested.is_for_another(ClientId::from_bits(2), "ann"));

        requested.insert(client, &ann);
        requested.remove(client, "joe");
        assert!(requested.is_for_another(client, "joe"), "the end of the first request leaves the second");
        requested.remove(client, "ann");
        assert!(!requested.is_for_another(client, "joe"));
    }
}
