//! Presence: which device users hold a real-time connection to this process.
//!
//! A session tells when its first connect is held, or a socket attached, and when it is over: which is its interval after
//! the last connect. What is written are these edges, and while a user is here a promise that is renewed in time; so
//! every process sees it, and nobody believes a process for long that died.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::WeakAddr;
use actix::prelude::*;
use deadpool_postgres::Pool;

use crate::error::Error;
use crate::few::Few;
use crate::limits::Limits;
use crate::model::id::TenantId;
use crate::session::{ClientId, SessionActor};
use crate::store::presence::{self, User};

/// After this time a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Rows of one statement.
const AT_ONCE: usize = 1000;

/// A session of a device user holds a connection for the first time.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Appeared {
    pub(crate) tenant: TenantId,
    pub(crate) user: Arc<str>,
    pub(crate) client: ClientId,
    /// Whether it lives is looked at before a promise is renewed: its tenant may have died, and told nothing.
    pub(crate) session: WeakAddr<SessionActor>,
}

/// A session of a device user is over, whether or not it ever held a connection.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Vanished {
    pub(crate) tenant: TenantId,
    pub(crate) user: Arc<str>,
    pub(crate) client: ClientId,
}

/// Tells all processes who is here.
pub(crate) struct Presence {
    pool: Pool,
    /// Number of this process.
    process: i64,
    lease: Duration,
    here: HashMap<User, Few<ClientId, WeakAddr<SessionActor>>>,
    /// Users of whom the database does not know yet whether they are here.
    untold: HashSet<User>,
    writing: bool,
}

impl Presence {
    pub(crate) fn new(pool: Pool, process: i64, limits: &Limits) -> Self {
        let lease = limits.presence_lease;
        Self { pool, process, lease, here: HashMap::new(), untold: HashSet::new(), writing: false }
    }

    /// Writes what is untold, one statement of each kind at a time.
    fn tell(&mut self, ctx: &mut Context<Self>) {
        if self.writing || self.untold.is_empty() {
            return;
        }
        self.writing = true;
        let mut users: Vec<User> = self.untold.iter().take(AT_ONCE).cloned().collect();
        for user in &users {
            self.untold.remove(user);
        }
        // In one order, so that two processes wait for each other in it.
        users.sort_unstable();
        let (here, gone): (Vec<User>, Vec<User>) =
            users.iter().cloned().partition(|user| self.here.contains_key(user));
        let (pool, process, lease) = (self.pool.clone(), self.process, self.lease);
        let write = async move {
            if !here.is_empty() {
                presence::renew(&pool, process, &here, lease).await?;
            }
            if !gone.is_empty() {
                presence::end(&pool, process, &gone).await?;
            }
            Ok::<_, Error>(())
        };
        ctx.spawn(write.into_actor(self).map(move |outcome, actor, ctx| {
            actor.writing = false;
            match outcome {
                Ok(()) => actor.tell(ctx),
                Err(error) => {
                    tracing::debug!(%error, "presence of devices is told a little later");
                    actor.untold.extend(users);
                    ctx.run_later(RETRY, Self::tell);
                }
            }
        }));
    }
}

impl Actor for Presence {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(self.lease / 3, |actor, ctx| {
            actor.untold.extend(actor.here.keys().cloned());
            actor.here.retain(|_, sessions| {
                sessions.retain(|_, session| session.upgrade().is_some_and(|session| session.connected()));
                !sessions.is_empty()
            });
            actor.tell(ctx);
        });
    }
}

impl Handler<Appeared> for Presence {
    type Result = ();

    fn handle(&mut self, appeared: Appeared, ctx: &mut Self::Context) {
        let user = (appeared.tenant, appeared.user);
        let sessions = self.here.entry(user.clone()).or_default();
        let first = sessions.is_empty();
        sessions.insert(appeared.client, appeared.session);
        if first {
            self.untold.insert(user);
            self.tell(ctx);
        }
    }
}

impl Handler<Vanished> for Presence {
    type Result = ();

    fn handle(&mut self, vanished: Vanished, ctx: &mut Self::Context) {
        let user = (vanished.tenant, vanished.user);
        let Some(sessions) = self.here.get_mut(&user) else { return };
        sessions.remove(&vanished.client);
        if sessions.is_empty() {
            self.here.remove(&user);
            self.untold.insert(user);
            self.tell(ctx);
        }
    }
}
