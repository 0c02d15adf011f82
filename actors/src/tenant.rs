//! One actor per tenant: it gives birth to devices and sessions and knows which of them live. It never proxies
//! traffic: who needs a child reads the registry, and asks here only when it is missing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::WeakAddr;
use actix::prelude::*;

use crate::courier::Courier;
use crate::device::{self, DeviceActor};
use crate::few::Few;
use crate::model::id::{ManagedObjectId, TenantId};
use crate::model::origin::is_device_user;
use crate::model::units::SystemOfUnits;
use crate::presence::{Appeared, Vanished};
use crate::session::{ClientId, End, Home, SessionActor};

/// Starts the actor of a device, unless it lives. Replies with its address.
#[derive(Debug, Message)]
#[rtype(result = "Addr<DeviceActor>")]
pub(crate) struct StartDevice {
    pub(crate) id: ManagedObjectId,
}

/// Starts a session on the thread of its first connection. Replies `None` when the user has as many as allowed.
#[derive(Debug, Message)]
#[rtype(result = "Option<ClientId>")]
pub(crate) struct StartSession {
    pub(crate) user: Arc<str>,
    pub(crate) interval: Option<Duration>,
    pub(crate) acknowledgement: AcknowledgementExtension,
    pub(crate) units: Option<SystemOfUnits>,
    /// Of the thread of the connection.
    pub(crate) courier: Addr<Courier>,
}

/// Whether a client asked for numbered batches at handshake (B-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcknowledgementExtension {
    /// `ext.ack` was true.
    Requested,
    /// It was not.
    Absent,
}

/// A session holds a connection for the first time. Sent by the session of a device user.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SessionConnected {
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
    pub(crate) session: WeakAddr<SessionActor>,
}

/// A session is over. Sent by the session itself.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SessionEnded {
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
}

/// Ends all sessions of a user that changed, or of all users when the tenant did (U-16, B-18, Z-01).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct EndSessions {
    /// `None` stands for every user of the tenant.
    pub(crate) user: Option<String>,
}

/// The parent of a tenant's actors.
pub struct TenantActor {
    home: Arc<Home>,
    devices: Vec<(ArbiterHandle, device::Context)>,
    sessions_of_user: HashMap<Arc<str>, Few<ClientId, ()>>,
}

impl TenantActor {
    /// `devices` holds, for each actor thread, where it is and what devices there work with.
    pub(crate) fn new(home: Arc<Home>, devices: Vec<(ArbiterHandle, device::Context)>) -> Self {
        Self { home, devices, sessions_of_user: HashMap::new() }
    }
}

impl Actor for TenantActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024);
    }
}

impl Handler<StartDevice> for TenantActor {
    type Result = MessageResult<StartDevice>;

    fn handle(&mut self, start: StartDevice, _: &mut Self::Context) -> Self::Result {
        let (arbiter, context) = &self.devices[place(start.id, self.devices.len())];
        let (id, context) = (start.id, context.clone());
        let devices = context.devices.clone();
        MessageResult(devices.find(&id).unwrap_or_else(|| {
            let address = DeviceActor::start_in_arbiter(arbiter, move |_| DeviceActor::new(id, context));
            devices.enter(id, address.clone());
            address
        }))
    }
}

impl Handler<StartSession> for TenantActor {
    type Result = MessageResult<StartSession>;

    fn handle(&mut self, start: StartSession, _: &mut Self::Context) -> Self::Result {
        let of_user = self.sessions_of_user.entry(start.user.clone()).or_default();
        if self.home.limits.sessions_per_user.is_some_and(|most| of_user.len() >= most) {
            return MessageResult(None);
        }
        let client = ClientId::draw();
        of_user.insert(client, ());
        let session =
            SessionActor::new(self.home.clone(), client, start.user, start.interval).in_units(start.units);
        let session = match start.acknowledgement {
            AcknowledgementExtension::Requested => session.acknowledging(),
            AcknowledgementExtension::Absent => session,
        };
        self.home.sessions.enter(client, Courier::begin(&start.courier, session));
        MessageResult(Some(client))
    }
}

impl Handler<SessionConnected> for TenantActor {
    type Result = ();

    fn handle(&mut self, connected: SessionConnected, _: &mut Self::Context) {
        if let Some((_, context)) = self.devices.first() {
            let SessionConnected { client, user, session } = connected;
            context.presence.do_send(Appeared { tenant: context.tenant.clone(), user, client, session });
        }
    }
}

impl Handler<SessionEnded> for TenantActor {
    type Result = ();

    fn handle(&mut self, ended: SessionEnded, _: &mut Self::Context) {
        if let Some(of_user) = self.sessions_of_user.get_mut(&ended.user) {
            of_user.remove(&ended.client);
            if of_user.is_empty() {
                self.sessions_of_user.remove(&ended.user);
            }
        }
        if let Some((_, context)) = self.devices.first().filter(|_| is_device_user(&ended.user)) {
            let SessionEnded { client, user } = ended;
            context.presence.do_send(Vanished { tenant: context.tenant.clone(), user, client });
        }
    }
}

impl Handler<EndSessions> for TenantActor {
    type Result = ();

    fn handle(&mut self, end: EndSessions, _: &mut Self::Context) {
        let concerned = |user: &str| end.user.as_deref().is_none_or(|changed| changed == user);
        let of_users = self.sessions_of_user.iter().filter(|(user, _)| concerned(user));
        for (client, ()) in of_users.flat_map(|(_, clients)| clients.iter()) {
            if let Some(session) = self.home.sessions.find(client) {
                session.do_send(End);
            }
        }
    }
}

/// On which of so many threads the actors of a tenant live.
pub(crate) fn place_of_tenant(tenant: &TenantId, threads: usize) -> usize {
    let mix = |hash: i64, byte: u8| hash.wrapping_mul(31).wrapping_add(byte.into());
    place(ManagedObjectId(tenant.as_str().bytes().fold(7, mix)), threads)
}

/// On which actor thread a device lives. Ids carry a time, so their bits are mixed first.
pub(crate) fn place(id: ManagedObjectId, threads: usize) -> usize {
    ((id.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % threads
}
