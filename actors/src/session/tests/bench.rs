//! The set-up of the tests: a session that is started as a tenant starts it, without a server and without connections.

use std::time::Duration;

use actix::prelude::*;
use platform_model::id::TenantId;
use platform_store::{Connections, Database};
use tokio::sync::oneshot;
use tokio::time::{advance, pause};

use super::sockets::{Connection, SlowSocket};
use super::*;
use crate::consumers::ConsumerReaders;
use crate::hub::SubscriptionCounts;
use crate::session::dispatcher::{Beginning, NewSessionActor, SessionDispatcher};
use crate::traces::TraceRecorder;

pub(super) const USER: &str = "joe";
/// The hold time of a connect that requests no other.
pub(super) const HOLD: Duration = Duration::from_secs(5400);

/// A session with the given limits, started as a tenant starts it.
pub(super) struct Bench {
    pub(super) hub: NotificationHub,
    pub(super) environment: Arc<SessionEnvironment>,
    pub(super) session: Addr<SessionActor>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) client: ClientId,
}

/// The handshake of a client that requests nothing special.
pub(super) fn new_session() -> NewSession {
    let acknowledgement = AcknowledgementExtension::Absent;
    NewSession {
        user: USER.into(),
        expires: None,
        interval: None,
        acknowledgement,
        units: None,
        address: None,
    }
}

/// A long poll without special requests, and the receiver of its response.
pub(super) fn new_connect() -> (Connect, oneshot::Receiver<ConnectResponse>) {
    let (reply_to, answer) = oneshot::channel();
    let connect = Connect {
        user: USER.into(),
        expires: None,
        hold: HOLD,
        advised: None,
        interval: None,
        acknowledged: None,
        carries: ResponseContent::Notifications,
        first: FirstConnect::Held,
        reply_to,
    };
    (connect, answer)
}

pub(super) fn start(limits: Limits) -> Bench {
    start_with(limits, new_session())
}

pub(super) fn start_acknowledging() -> Bench {
    let acknowledgement = AcknowledgementExtension::Requested;
    start_with(Limits::default(), NewSession { acknowledgement, ..new_session() })
}

pub(super) fn start_with(limits: Limits, new: NewSession) -> Bench {
    pause();
    let sessions = Arc::<Sessions>::default();
    let nowhere =
        Database::new("host=nowhere", Connections { reads: 1, devices: 1 }, &limits).expect("an address");
    let tenant = TenantId::parse("t1").expect("an id");
    let arbiter = Arbiter::current();
    let (id, transfers) = (tenant.clone(), Transfers::new(nowhere.clone(), b"secret", 1));
    let of_tenant = nowhere.tenant_limits().of(&tenant);
    let consumers = Arc::new(ConsumerReaders::new(tenant.clone(), nowhere.clone()));
    let recorder = Arc::new(TraceRecorder::new(|client| client.to_string()));
    let counts = SubscriptionCounts::default();
    let hub = NotificationHub::new(tenant, nowhere, counts, arbiter, recorder.clone());
    let limits = Arc::new(limits);
    let of_bench = hub.clone();
    let environment = Arc::new(SessionEnvironment {
        id,
        hub,
        consumers,
        // No actor receives these messages, because the users of the tests are not devices.
        presence: Context::<Presence>::new().address(),
        sessions: sessions.clone(),
        of_users: Mutex::default(),
        requested: Requested::default(),
        limits,
        of_tenant,
        transfers,
        counters: Arc::default(),
        recorder,
    });
    let (shared, client) = (environment.clone(), ClientId::from_bits(1));
    let session = SessionDispatcher::start_session(
        &SessionDispatcher::here(),
        NewSessionActor { environment: shared, client, beginning: Beginning::New(new) },
    );
    Bench { hub: of_bench, environment, session, sessions, client }
}

impl Bench {
    pub(super) fn connect(&self) -> oneshot::Receiver<ConnectResponse> {
        self.connect_with(|_| {})
    }

    pub(super) fn connect_with(&self, wish: impl FnOnce(&mut Connect)) -> oneshot::Receiver<ConnectResponse> {
        let (mut connect, answer) = new_connect();
        wish(&mut connect);
        self.session.do_send(connect);
        answer
    }

    pub(super) async fn attach(&self, socket: &Addr<SlowSocket>) {
        // The registration is dropped here, so the session finds no connection of its thread and uses the actor.
        let elsewhere = FrameWriterRegistration::new(Connection::that_takes(0)).key();
        self.attach_with(socket, elsewhere).await;
    }

    pub(super) async fn attach_with(&self, socket: &Addr<SlowSocket>, writer: FrameWriterKey) {
        let attach = AttachSocket { user: USER.into(), socket: socket.clone().recipient(), writer };
        assert!(self.session.send(attach).await.expect("the session lives"));
    }

    pub(super) fn notify(&self, text: &str) {
        self.session.do_send(DeliverNotification(Arc::new(Notification::for_test(text))));
    }

    pub(super) fn lives(&self) -> bool {
        self.sessions.find(&self.client).is_some()
    }
}

pub(super) fn texts(answer: &ConnectResponse) -> Vec<&str> {
    answer.delivery.notifications.iter().map(|n| std::str::from_utf8(n.json()).expect("UTF-8")).collect()
}

/// Lets every actor handle its messages.
pub(super) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn pass(time: Duration) {
    settle().await;
    advance(time).await;
    settle().await;
}
