//! One actor per tenant. It starts devices and sessions and records which of them run. It does not forward messages:
//! callers read the registry and ask this actor only when an entry is missing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::WeakAddr;
use actix::prelude::*;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::origin::is_device_user;
use platform_model::units::SystemOfUnits;
use platform_store::announcements::Holders;
use platform_store::tenant_limits::Counted;

use crate::background::presence::{UserConnected, UserDisconnected};
use crate::device::DeviceActor;
use crate::session::dispatcher::{Beginning, NewSessionActor, SessionDispatcher};
use crate::session::{ClientId, SessionActor, SessionEnvironment};
use crate::session_moves::Source;
use crate::small_map::SmallMap;
use crate::writes;

/// Starts the actor of a device unless it runs. The reply is its address.
#[derive(Debug, Message)]
#[rtype(result = "Addr<DeviceActor>")]
pub(crate) struct StartDevice {
    pub(crate) id: ManagedObjectId,
}

/// Starts a session on the thread of its first connection. The reply is `None` when the user has reached the limit of
/// sessions, and an error when the tenant has (Z-20).
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<ClientId>>")]
pub(crate) struct StartSession {
    pub(crate) new: NewSession,
    /// The dispatcher of the connection's thread.
    pub(crate) dispatcher: Addr<SessionDispatcher>,
    /// The sessions that the user has at other servers, if they count.
    pub(crate) elsewhere: Vec<ClientId>,
}

/// Takes a session over from another server, from another thread or from the table of stored sessions, on the thread of
/// the dispatcher. The reply is the session, also if it is here already; `None` if it has ended.
#[derive(Debug, Message)]
#[rtype(result = "Option<Addr<SessionActor>>")]
pub(crate) struct TakeSession {
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
    pub(crate) source: Source,
    pub(crate) dispatcher: Addr<SessionDispatcher>,
}

/// The properties of a session that a handshake opens.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The user who owns the session.
    pub user: Arc<str>,
    /// The time at which the user's token expires; `None` for a password.
    pub expires: Option<Instant>,
    /// How long the session lives after a connect, if the client asks for a value.
    pub interval: Option<Duration>,
    /// Whether batches are numbered (B-22).
    pub acknowledgement: AcknowledgementExtension,
    /// The system of units for measurements in notifications; `None` leaves them as stored (B-20).
    pub units: Option<SystemOfUnits>,
    /// The address of the client.
    pub address: Option<IpAddr>,
}

/// Whether the client requested numbered batches in its handshake (B-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcknowledgementExtension {
    /// `ext.ack` was true.
    Requested,
    /// `ext.ack` was absent or false.
    Absent,
}

/// Reports that a session has its first connection. Sent by the session of a device user.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SessionConnected {
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
    pub(crate) session: WeakAddr<SessionActor>,
}

/// Reports that a session ended. Sent by the session.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SessionEnded {
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
}

/// Asks for the sessions of users. Sent when something about these users changed.
#[derive(Debug, Message)]
#[rtype(result = "Vec<(Arc<str>, ClientId)>")]
pub(crate) struct ListSessions {
    pub(crate) of: Holders,
}

/// The parent of a tenant's device actors and sessions.
pub struct TenantActor {
    environment: Arc<SessionEnvironment>,
    devices: Vec<(ArbiterHandle, writes::WriteContext)>,
    sessions_of_user: HashMap<Arc<str>, SmallMap<ClientId, ()>>,
}

impl TenantActor {
    /// Creates the actor. `devices` holds, for each actor thread, its arbiter and the context of its devices.
    pub(crate) fn new(
        environment: Arc<SessionEnvironment>,
        devices: Vec<(ArbiterHandle, writes::WriteContext)>,
    ) -> Self {
        Self { environment, devices, sessions_of_user: HashMap::new() }
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
            devices.insert(id, address.clone());
            address
        }))
    }
}

impl Handler<StartSession> for TenantActor {
    type Result = MessageResult<StartSession>;

    fn handle(
        &mut self,
        StartSession { new, dispatcher, elsewhere }: StartSession,
        _: &mut Self::Context,
    ) -> Self::Result {
        let (sessions, of_tenant) = (&self.environment.sessions, &self.environment.of_tenant);
        if let Err(refused) = of_tenant.check_one_more(Counted::Sessions, || sessions.len()) {
            return MessageResult(Err(refused));
        }
        let of_user = self.sessions_of_user.entry(new.user.clone()).or_default();
        if let Some(most) = self.environment.limits.sessions_per_user {
            // One that has left for another server is still here for some seconds, and counts there.
            let sessions = &self.environment.sessions;
            let here = of_user.iter().filter(|(client, ())| sessions.find(client).is_some()).count();
            let there = elsewhere
                .iter()
                .filter(|client| !of_user.contains(client) || sessions.find(client).is_none());
            if here + there.count() >= most {
                return MessageResult(Ok(None));
            }
        }
        let client = self.environment.transfers.ids().make();
        of_user.insert(client, ());
        let beginning = Beginning::New(new);
        let session = NewSessionActor { environment: self.environment.clone(), client, beginning };
        SessionDispatcher::start_session(&dispatcher, session);
        MessageResult(Ok(Some(client)))
    }
}

impl Handler<TakeSession> for TenantActor {
    type Result = MessageResult<TakeSession>;

    fn handle(&mut self, take: TakeSession, _: &mut Self::Context) -> Self::Result {
        let TakeSession { client, user, source, dispatcher } = take;
        let running = self.environment.sessions.find(&client);
        match (&source, running) {
            (Source::Here(session), Some(running)) if *session == running => {}
            (Source::Here(_), _) => return MessageResult(None),
            (Source::Elsewhere(_) | Source::Stored(_), Some(running)) => return MessageResult(Some(running)),
            (Source::Elsewhere(_) | Source::Stored(_), None) => {}
        }
        self.sessions_of_user.entry(user.clone()).or_default().insert(client, ());
        let beginning = Beginning::Arrival { user, source };
        let session = NewSessionActor { environment: self.environment.clone(), client, beginning };
        MessageResult(Some(SessionDispatcher::start_session(&dispatcher, session)))
    }
}

impl Handler<SessionConnected> for TenantActor {
    type Result = ();

    fn handle(&mut self, connected: SessionConnected, _: &mut Self::Context) {
        if let Some((_, context)) = self.devices.first() {
            let SessionConnected { client, user, session } = connected;
            context.presence.do_send(UserConnected { tenant: context.tenant.clone(), user, client, session });
        }
    }
}

impl Handler<SessionEnded> for TenantActor {
    type Result = ();

    fn handle(&mut self, ended: SessionEnded, _: &mut Self::Context) {
        if self.environment.sessions.find(&ended.client).is_some() {
            // The session has moved to another thread of this server.
            return;
        }
        if let Some(of_user) = self.sessions_of_user.get_mut(&ended.user) {
            of_user.remove(&ended.client);
            if of_user.is_empty() {
                self.sessions_of_user.remove(&ended.user);
            }
        }
        if let Some((_, context)) = self.devices.first().filter(|_| is_device_user(&ended.user)) {
            let SessionEnded { client, user } = ended;
            context.presence.do_send(UserDisconnected { tenant: context.tenant.clone(), user, client });
        }
    }
}

impl Handler<ListSessions> for TenantActor {
    type Result = MessageResult<ListSessions>;

    fn handle(&mut self, list: ListSessions, _: &mut Self::Context) -> Self::Result {
        let of = |(user, clients): (&Arc<str>, &SmallMap<ClientId, ()>)| {
            clients.iter().map(|(client, ())| (user.clone(), *client)).collect::<Vec<_>>()
        };
        MessageResult(match &list.of {
            Holders::Everybody => self.sessions_of_user.iter().flat_map(of).collect(),
            Holders::Users(names) => {
                let found = names.iter().filter_map(|name| self.sessions_of_user.get_key_value(&**name));
                found.flat_map(of).collect()
            }
        })
    }
}

/// Returns the index of the actor thread on which the actors of a tenant live.
pub(crate) fn place_of_tenant(tenant: &TenantId, threads: usize) -> usize {
    let mix = |hash: i64, byte: u8| hash.wrapping_mul(31).wrapping_add(byte.into());
    place(ManagedObjectId(tenant.as_str().bytes().fold(7, mix)), threads)
}

/// Returns the index of the actor thread on which a device lives. Ids begin with a time, so their bits are mixed
/// first.
pub(crate) fn place(id: ManagedObjectId, threads: usize) -> usize {
    ((id.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % threads
}
