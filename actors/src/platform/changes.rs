//! What is done about changes of users, groups, roles, tenants and options (B-18b): the edge forgets, and sessions end that rested on
//! what is gone. Changes of this process come with their commit and are waited for, those of others by the database.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::Addr;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{Platform, Tenant};
use crate::bayeux::Pattern;
use crate::error::Result;
use crate::heartbeats;
use crate::model::id::{ManagedObjectId, TenantId};
use crate::session::{End, ListSubscriptions, Rights, SessionActor, Verdict, may_receive};
use crate::store::announcements::{Change, Shift};
pub use crate::store::announcements::{Holders, Names};
use crate::store::{users, watch};
use crate::tenant::ListSessions;

/// What must not be remembered any more.
#[derive(Debug, Clone, Copy)]
pub enum Changed<'a> {
    /// Users have another password, were disabled or deleted: who proved to be one has to do it again.
    Users(&'a TenantId, &'a Names),
    /// Users may do something else than before.
    Rights(&'a TenantId, &'a Holders),
    /// The status or the domain of a tenant.
    Tenant(&'a TenantId),
    /// Options of a tenant, such as the keys of its tokens. Ends no sessions.
    Options(&'a TenantId),
    /// Changes may have been missed.
    Anything,
}

/// How the edge forgets; empty until the edge is there.
pub(super) type Forget = OnceLock<Box<dyn Fn(Changed<'_>) + Send + Sync>>;

/// Sessions that are checked at once, with one statement for the rights of their users.
const TOGETHER: usize = 1000;
/// Pauses between attempts to look up rights.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];

/// Whether a session ends when the rights of its user cannot be looked up although the database is reachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InDoubt {
    /// They end: rights were taken away, and better a client handshakes in vain than somebody hears what is for others.
    End,
    /// They stay: nothing is known to have been taken away.
    Stay,
}

/// A session that listens to something.
struct Listening {
    user: Arc<str>,
    session: Addr<SessionActor>,
    patterns: Box<[Pattern]>,
}

impl Platform {
    /// Says once how the edge forgets what changed. Called with each change before it is answered, so it must not wait.
    pub fn forget_by(&self, forget: impl Fn(Changed<'_>) + Send + Sync + 'static) {
        self.forget.set(Box::new(forget)).ok();
    }

    /// Has the database hand over what this process changes.
    pub(super) fn carry_changes_out(self: &Arc<Self>) {
        let platform = Arc::downgrade(self);
        self.database.bus().install(Box::new(move |changes| match platform.upgrade() {
            Some(platform) => {
                changes.iter().for_each(|change| platform.forget(change));
                async move { platform.end_sessions_after(&changes).await }.boxed()
            }
            None => async {}.boxed(),
        }));
    }

    /// Watches the database until the returned future is dropped: keeps [`Database::is_reachable`](crate::store::Database) true to
    /// life, and follows what other processes change.
    pub async fn watch(self: Arc<Self>) {
        let (sender, mut seen) = mpsc::unbounded_channel();
        let watching = tokio::spawn(watch::watch(self.database.clone(), sender));
        let mut changes = Vec::new();
        while seen.recv_many(&mut changes, TOGETHER).await > 0 {
            // Nobody waits for the sessions: the next change shall not do so either.
            drop(self.database.bus().carry_out(Change::joined(changes.drain(..))));
        }
        watching.abort();
    }

    fn forget(&self, change: &Change) {
        let tell = |changed| self.forget.get().into_iter().for_each(|forget| forget(changed));
        match change {
            Change::Users(tenant, names) => tell(Changed::Users(tenant, names)),
            Change::Rights(tenant, of, _) => tell(Changed::Rights(tenant, of)),
            Change::Tenant(tenant) => {
                self.forget_options(tenant);
                // A tenant that is suspended has its modules stopped.
                self.modules.look_soon();
                tell(Changed::Tenant(tenant));
            }
            Change::Options(tenant) => {
                self.forget_options(tenant);
                tell(Changed::Options(tenant));
            }
            Change::Availability(tenant, object) => self.forget_rhythm(Some((tenant.clone(), *object))),
            Change::Names(tenant) => self.database.names_changed(tenant),
            Change::Modules(_) => self.modules.look_soon(),
            Change::Applications(_) => self.database.applications_changed(),
            Change::Anything => {
                self.modules.look_soon();
                self.database.applications_changed();
                self.database.any_names_changed();
                self.tenants.read().values().for_each(|tenant| tenant.forget_options());
                self.forget_rhythm(None);
                tell(Changed::Anything);
            }
        }
    }

    /// How often a device is written down depends on what it asks for.
    fn forget_rhythm(&self, device: Option<(TenantId, ManagedObjectId)>) {
        for thread in &self.threads {
            thread.heartbeats.do_send(heartbeats::Forget { device: device.clone() });
        }
    }

    async fn end_sessions_after(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Users(tenant, names) => {
                    self.end_sessions(tenant, Holders::Users(names.clone())).await;
                }
                Change::Tenant(tenant) => self.end_sessions(tenant, Holders::Everybody).await,
                Change::Rights(tenant, of, Shift::Taken) => {
                    self.end_denied(tenant, of.clone(), InDoubt::End).await;
                }
                Change::Anything => {
                    for (tenant, _) in self.living_tenants() {
                        self.end_denied(&tenant, Holders::Everybody, InDoubt::Stay).await;
                    }
                }
                Change::Rights(_, _, Shift::Given)
                | Change::Options(_)
                | Change::Availability(..)
                | Change::Names(_)
                | Change::Applications(_)
                | Change::Modules(_) => {}
            }
        }
    }

    async fn end_sessions(&self, tenant: &TenantId, of: Holders) {
        let sessions = self.sessions_of(tenant, of).await;
        end(sessions.into_iter().map(|(_, session)| session).collect()).await;
    }

    /// Ends the sessions of these users that listen to something the user may not receive (any more). When this returns they have
    /// ended; whoever subscribes meanwhile by rights of before must ask for this once more.
    pub async fn end_what_rested_on_lost_rights(&self, tenant: &TenantId, of: Holders) {
        self.end_denied(tenant, of, InDoubt::End).await;
    }

    async fn end_denied(&self, tenant: &TenantId, of: Holders, in_doubt: InDoubt) {
        for sessions in self.sessions_of(tenant, of).await.chunks(TOGETHER) {
            let listening = listening(sessions).await;
            if !listening.is_empty() {
                end(self.denied(tenant, listening, in_doubt).await).await;
            }
        }
    }

    async fn sessions_of(&self, tenant: &TenantId, of: Holders) -> Vec<(Arc<str>, Addr<SessionActor>)> {
        let Some(tenant) = self.tenants.read().get(tenant).cloned() else { return Vec::new() };
        // A tenant's actor that is gone has no sessions either.
        let listed = tenant.address.send(ListSessions { of }).await.unwrap_or_default();
        let found = |(user, client)| Some((user, Tenant::session(&tenant, client)?));
        listed.into_iter().filter_map(found).collect()
    }

    /// Which of these may not go on. While the database is away sessions stay, and are looked at when it is back.
    async fn denied(
        &self,
        tenant: &TenantId,
        listening: Vec<Listening>,
        in_doubt: InDoubt,
    ) -> Vec<Addr<SessionActor>> {
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            let error = match self.find_denied(tenant, &listening).await {
                Ok(denied) => return denied,
                Err(error) => error,
            };
            if !self.database.is_reachable() {
                return Vec::new();
            }
            match pause {
                Some(pause) => sleep(pause).await,
                None => tracing::error!(tenant.id = %tenant, %error, ?in_doubt,
                    "what users may receive cannot be looked up, so it is not known which of their sessions may go on"),
            }
        }
        let of_doubt = listening.into_iter().filter(|_| in_doubt == InDoubt::End);
        of_doubt.map(|listening| listening.session).collect()
    }

    /// Two statements.
    async fn find_denied(
        &self,
        tenant: &TenantId,
        listening: &[Listening],
    ) -> Result<Vec<Addr<SessionActor>>> {
        let mut names: Vec<&str> = listening.iter().map(|listening| &*listening.user).collect();
        names.dedup();
        let held = users::list_rights(&self.database, tenant, &names).await?;
        let (mut denied, mut sessions, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for Listening { user, session, patterns } in listening {
            match held.get(&**user) {
                Some((roles, permissions)) => {
                    sessions.push(session);
                    asked.push((Rights { user, roles, permissions }, &**patterns));
                }
                // Who is gone or disabled receives nothing.
                None => denied.push(session.clone()),
            }
        }
        let verdicts = may_receive(&self.database, tenant, &asked).await?;
        let lost = sessions.into_iter().zip(verdicts).filter(|(_, verdict)| *verdict == Verdict::Denied);
        denied.extend(lost.map(|(session, _)| session.clone()));
        Ok(denied)
    }
}

/// Those of some sessions that listen to something.
async fn listening(sessions: &[(Arc<str>, Addr<SessionActor>)]) -> Vec<Listening> {
    let asked = sessions.iter().map(async |(user, session)| {
        let patterns = session.send(ListSubscriptions).await.ok()?;
        (!patterns.is_empty()).then(|| Listening { user: user.clone(), session: session.clone(), patterns })
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Ends sessions and waits for it, so that nothing is delivered to them afterwards.
async fn end(sessions: Vec<Addr<SessionActor>>) {
    for sessions in sessions.chunks(TOGETHER) {
        join_all(sessions.iter().map(|session| session.send(End))).await;
    }
}
