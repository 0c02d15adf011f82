//! Reports of a session that its user is connected, or no longer connected.

use actix::prelude::*;
use platform_model::origin::is_device_user;

use super::{UserConnected, UserDisconnected};
use crate::session::{SessionActor, SessionContext};

impl SessionActor {
    /// Reports the user as connected when a first connect is held or a first socket is attached. This lasts until the
    /// session ends.
    pub(in crate::session) fn appear(&mut self, ctx: &mut SessionContext) {
        if !std::mem::replace(&mut self.appeared, true) && is_device_user(&self.user) {
            let (client, session) = (self.client, ctx.address().downgrade());
            let (tenant, user) = (self.environment.id.clone(), self.user.clone());
            self.environment.presence.do_send(UserConnected { tenant, user, client, session });
        }
    }

    /// Removes the session from those of its user, who may not be connected any more.
    pub(in crate::session) fn disappear(&self) {
        if self.is_missed() {
            // It is no longer listed, and another arrival of the session may be.
            return;
        }
        let environment = &self.environment;
        let mut of_users = environment.of_users.lock();
        if environment.sessions.find(&self.client).is_some() {
            // The session has moved to another thread of this server.
            return;
        }
        of_users.remove(&self.user, self.client);
        drop(of_users);
        if is_device_user(&self.user) {
            let (tenant, user) = (environment.id.clone(), self.user.clone());
            environment.presence.do_send(UserDisconnected { tenant, user, client: self.client });
        }
    }
}
