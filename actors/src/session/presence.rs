//! The report of a session that its user is connected.

use actix::prelude::*;
use platform_model::origin::is_device_user;

use super::{SessionActor, SessionContext};
use crate::tenant::SessionConnected;

impl SessionActor {
    /// Reports the user as connected when a first connect is held or a first socket is attached. This lasts until the
    /// session ends.
    pub(super) fn appear(&mut self, ctx: &mut SessionContext) {
        if !std::mem::replace(&mut self.appeared, true) && is_device_user(&self.user) {
            let (client, user, session) = (self.client, self.user.clone(), ctx.address().downgrade());
            self.environment.tenant.do_send(SessionConnected { client, user, session });
        }
    }
}
