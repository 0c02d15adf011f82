//! What a session tells of its being connected.

use actix::prelude::*;

use super::{SessionActor, SessionContext};
use crate::model::origin::is_device_user;
use crate::tenant::SessionConnected;

impl SessionActor {
    /// A connect is held or a socket attached: from now to the end of the session its user counts as connected.
    pub(super) fn appear(&mut self, ctx: &mut SessionContext) {
        if !std::mem::replace(&mut self.appeared, true) && is_device_user(&self.user) {
            let (client, user, session) = (self.client, self.user.clone(), ctx.address().downgrade());
            self.home.tenant.do_send(SessionConnected { client, user, session });
        }
    }
}
