//! The consequences of changed users, groups, roles, tenants and options (B-18b): caches of the HTTP layer drop
//! outdated entries, and sessions end that relied on a lost right. Changes by this process arrive with their commit,
//! which waits for the consequences; changes by other processes arrive through the database.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::Addr;
use futures_util::FutureExt;
use futures_util::future::join_all;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::publication::Publication;
use platform_model::realtime::trace::record::EndReason;
use platform_store::realtime::announcements::{CarriedOut, Change, RightsChange};
use platform_store::realtime::publications::{DeliveryHold, Receivers};
use platform_store::realtime::watch;
use platform_store::users;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{Platform, Tenant};
use crate::heartbeats;
use crate::session::{ListSubscriptions, RevokeSession, Rights, SessionActor, Verdict, may_receive};
pub use platform_store::realtime::announcements::{Holders, Names};

/// The cached entries that are outdated.
#[derive(Debug, Clone, Copy)]
pub enum Changed<'a> {
    /// These users have a new password, were disabled or were deleted; they have to authenticate again.
    Users(&'a TenantId, &'a Names),
    /// The rights of these users changed.
    Rights(&'a TenantId, &'a Holders),
    /// The status or the domain of the tenant changed.
    Tenant(&'a TenantId),
    /// Options of the tenant changed, for example the keys of its tokens. This ends no sessions.
    Options(&'a TenantId),
    /// Another server counted a guess; the text is that of the HTTP layer of that server.
    Guess(&'a str),
    /// Changes may have been missed, so every cached entry is outdated.
    Anything,
}

/// The function by which the HTTP layer drops cached entries; empty until the HTTP layer has set it.
pub(super) type Forget = OnceLock<Box<dyn Fn(Changed<'_>) + Send + Sync>>;

/// The most sessions that one statement checks.
const SESSIONS_PER_CHECK: usize = 1000;
/// The pauses between attempts to look up rights.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];

/// Whether a session ends when its user's rights cannot be looked up although the database is reachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InDoubt {
    /// Sessions end. Rights were removed, and a needless handshake is better than notifications for the wrong user.
    End,
    /// Sessions stay, because no right is known to be lost.
    Stay,
}

/// A session with subscriptions.
struct Listening {
    user: Arc<str>,
    session: Addr<SessionActor>,
    patterns: Box<[Pattern]>,
}

impl Platform {
    /// Sets the function by which the HTTP layer drops cached entries. It is called with each change before the
    /// response, so it must not block.
    pub fn forget_by(&self, forget: impl Fn(Changed<'_>) + Send + Sync + 'static) {
        self.forget.set(Box::new(forget)).ok();
    }

    /// Registers the handling of changes that this process commits.
    pub(super) fn install_change_handler(self: &Arc<Self>) {
        let platform = Arc::downgrade(self);
        self.database.bus().install(Box::new(move |changes| match platform.upgrade() {
            Some(platform) => {
                changes.iter().for_each(|change| platform.forget(change));
                async move { platform.end_sessions_after(&changes).await }.boxed()
            }
            None => async {}.boxed(),
        }));
    }

    /// Registers the handling of publications that come through the database.
    pub(super) fn install_publication_handler(self: &Arc<Self>, process: i64) {
        let (delivering, ending) = (Arc::downgrade(self), Arc::downgrade(self));
        let deliver = move |tenant: &TenantId, publications: Vec<Publication>, transaction| {
            let Some(platform) = delivering.upgrade() else { return };
            let tenant = platform.tenant(tenant);
            for publication in publications {
                match publication {
                    Publication::SessionMoves(point) => {
                        platform.transfers.reach(&tenant.context().hub, point);
                    }
                    other => tenant.context().deliver(other, transaction),
                }
            }
        };
        let end_sessions = move |tenant: &TenantId, delivery_hold: DeliveryHold| {
            let Some(platform) = ending.upgrade() else { return };
            platform.all_consumers_changed(tenant);
            let (id, transfers) = (tenant.clone(), platform.transfers.clone());
            transfers.stay_until(tenant, async move {
                platform.end_sessions(&id, Holders::Everybody, EndReason::Gap).await;
                drop(delivery_hold);
            });
        };
        let using = Arc::downgrade(self);
        let is_used = move |tenant: &TenantId| {
            using.upgrade().is_some_and(|platform| {
                platform.modules.run(tenant) || platform.tenant(tenant).context().has_receivers()
            })
        };
        let receivers = Receivers {
            deliver: Box::new(deliver),
            end_sessions: Box::new(end_sessions),
            is_used: Box::new(is_used),
        };
        self.database.publications().install(process, &self.database, receivers);
    }

    /// Watches the database until the returned future is dropped. The watch keeps
    /// [`Database::is_reachable`](platform_store::Database) up to date and handles the changes of other processes.
    pub async fn watch(self: Arc<Self>) {
        let (sender, mut seen) = mpsc::unbounded_channel();
        let watching = tokio::spawn(watch::watch(self.database.clone(), sender));
        let (mut changes, mut under_way) = (Vec::new(), Vec::new());
        while seen.recv_many(&mut changes, SESSIONS_PER_CHECK).await > 0 {
            let asks = |change: &Change| matches!(change, Change::IsApplied(..));
            let (questions, changes): (Vec<_>, Vec<_>) = changes.drain(..).partition(asks);
            // This loop does not wait until the sessions have ended, so the next change is handled at once.
            under_way.retain(|before: &CarriedOut| !before.is_finished());
            under_way.push(self.database.bus().carry_out(Change::joined(changes)));
            for question in Change::joined(questions) {
                let reported = self.clone().report(question, std::mem::take(&mut under_way));
                under_way.push(CarriedOut::begin(reported));
            }
        }
        watching.abort();
    }

    /// Reports to a command that changes are applied, as soon as they are.
    async fn report(self: Arc<Self>, question: Change, before: Vec<CarriedOut>) {
        for before in before {
            before.finished().await;
        }
        if let Change::IsApplied(_, asker) = question
            && let Err(error) = self.database.report_applied(&asker).await
        {
            tracing::debug!(%error, "a command is not notified that its change is applied");
        }
    }

    fn forget(&self, change: &Change) {
        let notify = |changed| self.forget.get().into_iter().for_each(|forget| forget(changed));
        self.interrupt_readers(change);
        match change {
            Change::Users(tenant, names) => notify(Changed::Users(tenant, names)),
            Change::Rights(tenant, of, _) => notify(Changed::Rights(tenant, of)),
            Change::Tenant(tenant) => {
                self.database.publications().tenant_changed(tenant);
                // A new tenant may be bounded by the one that created it.
                self.database.tenant_limits().outdate();
                self.forget_options(tenant);
                // A suspended tenant has its modules stopped.
                self.modules.check_soon();
                notify(Changed::Tenant(tenant));
            }
            Change::Options(tenant) => {
                self.forget_options(tenant);
                notify(Changed::Options(tenant));
            }
            Change::Availability(tenant, object) => {
                self.forget_heartbeat_schedule(Some((tenant.clone(), *object)))
            }
            Change::Imported(_) => self.database.shapes().forget_sources(),
            // They are loaded before the response.
            Change::Limits(_) => self.database.tenant_limits().outdate(),
            Change::Names(tenant) => self.database.names_changed(tenant),
            Change::Guess(_, text) => notify(Changed::Guess(text)),
            Change::Modules(_) => self.modules.check_soon(),
            Change::Applications(_) => self.database.applications_changed(),
            // Their traces are loaded before the response.
            Change::Traces(_) | Change::Consumer(..) | Change::IsApplied(..) => {}
            Change::Anything => {
                self.database.shapes().forget_sources();
                self.modules.check_soon();
                self.database.applications_changed();
                self.database.any_names_changed();
                self.database.tenant_limits().outdate();
                self.tenants.read().values().for_each(|tenant| tenant.forget_options());
                self.forget_heartbeat_schedule(None);
                notify(Changed::Anything);
            }
        }
    }

    /// Discards the time of a device's next written heartbeat, because it depends on the device's response interval.
    fn forget_heartbeat_schedule(&self, device: Option<(TenantId, ManagedObjectId)>) {
        for thread in &self.threads {
            thread.heartbeats.do_send(heartbeats::RescheduleHeartbeat { device: device.clone() });
        }
    }

    async fn end_sessions_after(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Users(tenant, names) => {
                    self.revoke_sessions(tenant, Holders::Users(names.clone())).await;
                }
                Change::Tenant(tenant) => self.revoke_sessions(tenant, Holders::Everybody).await,
                Change::Rights(tenant, of, RightsChange::Withdrawn) => {
                    self.end_denied(tenant, of.clone(), InDoubt::End).await;
                }
                Change::Limits(tenant) => {
                    if let Err(error) = self.database.load_tenant_limits().await {
                        tracing::debug!(tenant.id = %tenant, %error, "changed limits do not apply yet");
                    }
                }
                Change::Traces(tenant) => {
                    if let Err(error) = self.load_traces(Some(tenant)).await {
                        tracing::debug!(tenant.id = %tenant, %error, "changed traces do not apply yet");
                    }
                }
                Change::Anything => {
                    for (tenant, _) in self.known_tenants() {
                        self.end_denied(&tenant, Holders::Everybody, InDoubt::Stay).await;
                    }
                }
                Change::Rights(_, _, RightsChange::Granted)
                | Change::Options(_)
                | Change::Availability(..)
                | Change::Imported(_)
                | Change::Names(_)
                | Change::Consumer(..)
                | Change::Applications(_)
                | Change::Modules(_)
                | Change::Guess(..)
                | Change::IsApplied(..) => {}
            }
        }
    }

    async fn end_sessions(&self, tenant: &TenantId, of: Holders, reason: EndReason) {
        let sessions = self.sessions_of(tenant, of).await;
        end(sessions.into_iter().map(|(_, session)| session).collect(), reason).await;
    }

    /// Ends the sessions of these users, also those that are leaving or have just left: their new server may have
    /// applied the change before they arrived.
    async fn revoke_sessions(&self, tenant: &TenantId, of: Holders) {
        self.end_sessions(tenant, of.clone(), EndReason::Revoked).await;
        let Some(here) = self.tenants.read().get(tenant).cloned() else { return };
        let listed = here.environment.of_users.lock().list(&of);
        for (_, client) in listed {
            if self.transfers.is_departing(client) {
                self.transfers.end_departing(client, tenant, || here.session(client)).await;
            }
        }
    }

    /// Ends the sessions of these users that subscribed to a channel which the user may not receive (any more). They
    /// have ended when this returns. A caller that subscribes meanwhile with the earlier rights must call this again.
    pub async fn end_sessions_without_rights(&self, tenant: &TenantId, of: Holders) {
        self.end_denied(tenant, of, InDoubt::End).await;
    }

    async fn end_denied(&self, tenant: &TenantId, of: Holders, in_doubt: InDoubt) {
        for sessions in self.sessions_of(tenant, of).await.chunks(SESSIONS_PER_CHECK) {
            let listening = listening(sessions).await;
            if !listening.is_empty() {
                end(self.denied(tenant, listening, in_doubt).await, EndReason::Revoked).await;
            }
        }
    }

    async fn sessions_of(&self, tenant: &TenantId, of: Holders) -> Vec<(Arc<str>, Addr<SessionActor>)> {
        let Some(tenant) = self.tenants.read().get(tenant).cloned() else { return Vec::new() };
        let listed = tenant.environment.of_users.lock().list(&of);
        let found = |(user, client)| Some((user, Tenant::session(&tenant, client)?));
        listed.into_iter().filter_map(found).collect()
    }

    /// Returns the sessions that have to end. While the database is unreachable sessions stay; they are checked when
    /// it is back.
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
                    "the rights of users cannot be looked up, so it is unknown which of their sessions must end"),
            }
        }
        let of_doubt = listening.into_iter().filter(|_| in_doubt == InDoubt::End);
        of_doubt.map(|listening| listening.session).collect()
    }

    /// Runs two statements.
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
                // A user who was deleted or disabled receives nothing.
                None => denied.push(session.clone()),
            }
        }
        let verdicts = may_receive(&self.database, tenant, &asked).await?;
        let lost = sessions.into_iter().zip(verdicts).filter(|(_, verdict)| *verdict == Verdict::Denied);
        denied.extend(lost.map(|(session, _)| session.clone()));
        Ok(denied)
    }
}

/// Returns those sessions that have subscriptions.
async fn listening(sessions: &[(Arc<str>, Addr<SessionActor>)]) -> Vec<Listening> {
    let asked = sessions.iter().map(async |(user, session)| {
        let patterns = session.send(ListSubscriptions).await.ok()?;
        (!patterns.is_empty()).then(|| Listening { user: user.clone(), session: session.clone(), patterns })
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Ends sessions and waits until they have ended, so that nothing is delivered to them afterwards.
async fn end(sessions: Vec<Addr<SessionActor>>, reason: EndReason) {
    for sessions in sessions.chunks(SESSIONS_PER_CHECK) {
        join_all(sessions.iter().map(|session| session.send(RevokeSession(reason)))).await;
    }
}
