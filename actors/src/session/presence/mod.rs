//! Presence: which device users have a real-time connection to this process.
//!
//! A session reports when its first connect is held or its first socket is attached, and when it ends, which is one
//! interval after its last connect. This actor writes these changes. While a user is connected it renews a lease in
//! time, so every process sees the user, and the entries of a process that died expire soon.

mod reports;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::WeakAddr;
use actix::prelude::*;
use platform_model::error::Error;
use platform_model::id::TenantId;
use platform_model::limits::Limits;
use platform_store::Pool;
use platform_store::devices::presence::{self, User};

use crate::session::{ClientId, SessionActor};
use crate::small_map::SmallMap;

/// The delay before a failed write is retried.
const RETRY: Duration = Duration::from_secs(1);
/// The most rows of one statement.
const AT_ONCE: usize = 1000;

/// Reports that a session of a device user has its first connection.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct UserConnected {
    pub(crate) tenant: TenantId,
    pub(crate) user: Arc<str>,
    pub(crate) client: ClientId,
    /// Checked before a lease is renewed, because a session reports nothing if its thread died.
    pub(crate) session: WeakAddr<SessionActor>,
}

/// Reports that a session of a device user ended, whether or not it ever had a connection.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct UserDisconnected {
    pub(crate) tenant: TenantId,
    pub(crate) user: Arc<str>,
    pub(crate) client: ClientId,
}

/// Writes the presence of this process's users to the database.
pub(crate) struct Presence {
    pool: Pool,
    /// The number of this process.
    process: i64,
    lease: Duration,
    here: HashMap<User, SmallMap<ClientId, WeakAddr<SessionActor>>>,
    /// The users whose change of presence is not yet written.
    unwritten: HashSet<User>,
    writing: bool,
}

impl Presence {
    pub(crate) fn new(pool: Pool, process: i64, limits: &Limits) -> Self {
        let lease = limits.presence_lease;
        Self { pool, process, lease, here: HashMap::new(), unwritten: HashSet::new(), writing: false }
    }

    /// Writes the pending changes, with at most one statement of each kind at a time.
    fn write_changes(&mut self, ctx: &mut Context<Self>) {
        if self.writing || self.unwritten.is_empty() {
            return;
        }
        self.writing = true;
        let mut users: Vec<User> = self.unwritten.iter().take(AT_ONCE).cloned().collect();
        for user in &users {
            self.unwritten.remove(user);
        }
        // The users are sorted, so that two processes lock them in the same order and cannot deadlock.
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
                Ok(()) => actor.write_changes(ctx),
                Err(error) => {
                    tracing::debug!(%error, "the presence of devices could not be written; it is retried");
                    actor.unwritten.extend(users);
                    ctx.run_later(RETRY, Self::write_changes);
                }
            }
        }));
    }
}

impl Actor for Presence {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(self.lease / 3, |actor, ctx| {
            actor.unwritten.extend(actor.here.keys().cloned());
            actor.here.retain(|_, sessions| {
                sessions.retain(|_, session| session.upgrade().is_some_and(|session| session.connected()));
                !sessions.is_empty()
            });
            actor.write_changes(ctx);
        });
    }
}

impl Handler<UserConnected> for Presence {
    type Result = ();

    fn handle(&mut self, appeared: UserConnected, ctx: &mut Self::Context) {
        let user = (appeared.tenant, appeared.user);
        let sessions = self.here.entry(user.clone()).or_default();
        let first = sessions.is_empty();
        sessions.insert(appeared.client, appeared.session);
        if first {
            self.unwritten.insert(user);
            self.write_changes(ctx);
        }
    }
}

impl Handler<UserDisconnected> for Presence {
    type Result = ();

    fn handle(&mut self, vanished: UserDisconnected, ctx: &mut Self::Context) {
        let user = (vanished.tenant, vanished.user);
        let Some(sessions) = self.here.get_mut(&user) else { return };
        sessions.remove(&vanished.client);
        if sessions.is_empty() {
            self.here.remove(&user);
            self.unwritten.insert(user);
            self.write_changes(ctx);
        }
    }
}
