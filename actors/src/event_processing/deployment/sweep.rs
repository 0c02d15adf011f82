//! Checks the leases of modules every few seconds and whenever something changed: it renews those of this process, and
//! acquires free ones.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::links::Links;
use platform_store::applications::modules::holders::{
    self, FormerHolder, Generation, LostConnection, ModuleHold, TAKEN_OVER_AT_ONCE, TakenOver,
};
use platform_store::applications::modules::session::ModuleSession;
use tokio::time::{sleep, timeout};

use super::hold::Hold;
use super::runner::Reconcile;
use super::{Deployments, Session};

/// The time for which changes that come close together are collected, to be handled together.
const TOGETHER: Duration = Duration::from_millis(20);
/// The time that a starting server waits for its modules before it reports that it is ready.
const STARTED: Duration = Duration::from_secs(60);

impl Deployments {
    /// Acquires the modules that no process runs, including those of a process that was killed. Returns when those
    /// modules run: they miss nothing that is committed through this process from then on. Links in notifications of
    /// modules start with `links`.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn start(self: &Arc<Self>, links: Links) -> Result<()> {
        // It is set once: a process starts its modules once.
        let _ = self.links.set(links);
        while self.check_leases(LostConnection::IsGone).await? == TAKEN_OVER_AT_ONCE {}
        let runners: Vec<_> = self.held.lock().values().map(|held| held.runner.clone()).collect();
        let settling = runners.iter().map(|runner| runner.send(Reconcile { generation: None }));
        let settled = timeout(STARTED, join_all(settling)).await;
        if !settled.is_ok_and(|settled| settled.iter().all(|one| matches!(one, Ok(Ok(()))))) {
            tracing::warn!("the server reports that it is ready before all event-processing modules run");
        }
        Ok(())
    }

    /// Checks all leases of a running server.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn check(self: &Arc<Self>) -> Result<()> {
        self.check_leases(LostConnection::MayComeBack).await.map(drop)
    }

    /// Resolves when something changed, together with other changes that come close to it.
    pub(crate) async fn changes_to_check(&self) {
        self.due.notified().await;
        sleep(TOGETHER).await;
    }

    /// Checks all leases. Returns the number of tenants whose modules were acquired. `lost` determines how to treat
    /// holders whose connections have ended, when the own connection is new; otherwise they ended while this process
    /// watched.
    async fn check_leases(self: &Arc<Self>, lost: LostConnection) -> Result<usize> {
        let mut own = self.session.lock().await;
        if matches!(*own, Session::NotNeeded) && !holders::are_any_deployed(&self.database).await? {
            return Ok(0);
        }
        let (session, lost) = match std::mem::replace(&mut *own, Session::Lost) {
            Session::Open(session) if !session.is_over() => (session, LostConnection::IsGone),
            _ => (self.open_session().await?, lost),
        };
        let checked = timeout(self.limits.module_lease, self.check_over(&session, lost)).await;
        if checked.is_ok() {
            *own = Session::Open(session);
        } else {
            // The connection does not respond any more and is closed here, so the leases held by it may be taken over.
            self.lapse();
        }
        checked.map_err(|_| Error::unavailable("leases of modules took too long"))?
    }

    async fn check_over(self: &Arc<Self>, session: &ModuleSession, lost: LostConnection) -> Result<usize> {
        let kept = self.renew(session).await?;
        let survey: HashMap<TenantId, Generation> = holders::survey(session).await?.into_iter().collect();
        self.leave_idle(session, &kept, &survey).await?;
        self.restart_deaf().await?;
        let taken = self.acquire(session, lost).await?;
        self.notify(&survey);
        Ok(taken)
    }

    pub(super) async fn open_session(self: &Arc<Self>) -> Result<ModuleSession> {
        let deployments = Arc::downgrade(self);
        let ended = move || {
            if let Some(deployments) = deployments.upgrade() {
                deployments.lapse();
                deployments.check_soon();
            }
        };
        ModuleSession::open(&self.database, ended).await
    }

    /// Suspends all leases after their connection was lost: no module continues until its lease is renewed through
    /// another connection.
    fn lapse(&self) {
        self.held.lock().values().for_each(|held| held.hold.lapse());
    }

    /// Renews the leases of this process, and ends those that others took over. Returns the leases that it still
    /// holds.
    async fn renew(&self, session: &ModuleSession) -> Result<Vec<ModuleHold>> {
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        let own: Vec<ModuleHold> =
            self.held.lock().iter().map(|(tenant, held)| held.to_hold(tenant)).collect();
        let renewed = holders::renew(session, &own, lease).await?;
        let renewed: HashSet<TenantId> = renewed.into_iter().collect();
        let (kept, lost): (Vec<_>, Vec<_>) = own.into_iter().partition(|hold| renewed.contains(&hold.tenant));
        lost.iter().for_each(|hold| self.end(&hold.tenant));
        let held = self.held.lock();
        kept.iter()
            .filter_map(|hold| held.get(&hold.tenant))
            .for_each(|held| held.hold.renewed(asked, lease));
        Ok(kept)
    }

    /// Restarts the modules of tenants for which publications of other servers may have been missed.
    async fn restart_deaf(self: &Arc<Self>) -> Result<()> {
        let publications = self.database.publications();
        let held: Vec<(TenantId, Arc<Hold>)> =
            self.held.lock().iter().map(|(tenant, held)| (tenant.clone(), held.hold.clone())).collect();
        for (tenant, hold) in held.into_iter().filter(|(tenant, _)| !publications.receives(tenant)) {
            let _subscription = self.database.subscribe(&tenant).await?;
            tracing::warn!(tenant.id = %tenant, "modules start anew, because they may have missed what other servers \
                wrote");
            self.begin(&tenant, hold, Some("its server was cut off from what others write"));
        }
        Ok(())
    }

    /// Gives back the leases of tenants that have no deployed module any more.
    async fn leave_idle(
        &self,
        session: &ModuleSession,
        kept: &[ModuleHold],
        survey: &HashMap<TenantId, Generation>,
    ) -> Result<()> {
        let idle: Vec<ModuleHold> =
            kept.iter().filter(|hold| !survey.contains_key(&hold.tenant)).cloned().collect();
        idle.iter().for_each(|hold| self.end(&hold.tenant));
        holders::give_back(session, &idle).await
    }

    /// Acquires the modules that no process runs. Returns the number of tenants.
    async fn acquire(self: &Arc<Self>, session: &ModuleSession, lost: LostConnection) -> Result<usize> {
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        let taken = holders::take_over(session, self.process, lease, lost).await?;
        if taken.len() == TAKEN_OVER_AT_ONCE {
            self.check_soon();
        }
        for TakenOver { hold: ModuleHold { tenant, fence }, before } in &taken {
            // If this server cannot receive the changes of other servers now, no module runs, and the lease expires.
            let _subscription = self.database.subscribe(tenant).await?;
            // Before the orderly start of a lone server, nothing was written that a module could have missed.
            let missed = (*before == Some(FormerHolder::IsGone)).then_some("the server that ran it is gone");
            self.begin(tenant, Arc::new(Hold::new(*fence, asked, lease)), missed);
        }
        Ok(taken.len())
    }

    /// Notifies runners of the surveyed generations.
    fn notify(self: &Arc<Self>, survey: &HashMap<TenantId, Generation>) {
        let Some(platform) = self.platform.upgrade() else { return };
        for (id, tenant) in platform.known_tenants() {
            let held = self.held.lock().get(&id).map(|held| {
                held.runner.do_send(Reconcile { generation: survey.get(&id).copied() });
                // Either the tenant's actor died, and its successor does not feed these modules, or the runner died.
                let is_alive = Arc::ptr_eq(&held.tenant, &tenant) && held.runner.connected();
                (held.hold.clone(), is_alive)
            });
            if let Some((hold, false)) = held {
                self.begin(&id, hold, Some("an internal error of the server ended it"));
            }
        }
    }
}
