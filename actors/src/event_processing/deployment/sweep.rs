//! Leases of modules, looked after every few seconds and whenever something changed: those of this process are renewed, those that
//! nobody holds are taken on, and those whose events come here and no more to their holder.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use super::hold::Hold;
use super::runner::Reconcile;
use super::{Deployments, Held};
use crate::error::{Error, Result};
use crate::event_processing::stream::InputStreams;
use crate::model::id::TenantId;
use crate::model::links::Links;
use crate::store::module_holders::{self, Lost, ModuleHold, Survey, TAKEN_OVER_AT_ONCE, Terms};
use crate::store::module_session::ModuleSession;

/// Changes that come so close together are looked at together.
const TOGETHER: Duration = Duration::from_millis(20);
/// After this time a look is tried again that failed: a connection that was lost must be there again before others take over.
const AGAIN: Duration = Duration::from_millis(300);
/// A server that starts waits so long for its modules before it says that it is ready.
const STARTED: Duration = Duration::from_secs(60);

impl Deployments {
    /// Takes on what nobody runs, also what a process ran that was killed (CSV3). Returns when those modules run: what is committed from
    /// then on through this process, they do not miss. Links in what modules tell start with `links`.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn start(self: &Arc<Self>, links: Links) -> Result<()> {
        // It is set once: a process starts its modules once.
        let _ = self.links.set(links);
        while self.look_after(Lost::IsGone).await? == TAKEN_OVER_AT_ONCE {}
        let runners: Vec<_> = self.held.lock().values().map(|held| held.runner.clone()).collect();
        let settling = runners.iter().map(|runner| runner.send(Reconcile { generation: None }));
        let settled = timeout(STARTED, join_all(settling)).await;
        if !settled.is_ok_and(|settled| settled.iter().all(|one| matches!(one, Ok(Ok(()))))) {
            tracing::warn!("some event-processing modules run only a while after the server is ready");
        }
        Ok(())
    }

    /// Looks after leases until it is dropped.
    pub(crate) async fn keep_going(self: Arc<Self>) {
        let pause = self.limits.module_lease.min(self.limits.module_idle) / 3;
        loop {
            let looked = self.look_after(Lost::MayComeBack).await;
            if let Err(error) = &looked {
                tracing::debug!(%error, "leases of modules cannot be looked after now");
            }
            let pause = if looked.is_ok() { pause } else { pause.min(AGAIN) };
            let _ = timeout(pause, self.due.notified()).await;
            sleep(TOGETHER).await;
        }
    }

    /// Gives how many tenants' modules were taken on. `lost` is what connections of others mean that have ended, when the own one is new;
    /// else they ended while this process looked on.
    async fn look_after(self: &Arc<Self>, lost: Lost) -> Result<usize> {
        let mut own = self.session.lock().await;
        let (session, lost) = match own.take().filter(|session| !session.is_over()) {
            Some(session) => (session, Lost::IsGone),
            None => (self.open_session().await?, lost),
        };
        let looked = timeout(self.limits.module_lease, self.look_by(&session, lost)).await;
        if looked.is_ok() {
            *own = Some(session);
        } else {
            // It answers no more, and ends here; so what is held by it may be taken over.
            self.lapse();
        }
        looked.map_err(|_| Error::unavailable("leases of modules took too long"))?
    }

    async fn look_by(self: &Arc<Self>, session: &ModuleSession, lost: Lost) -> Result<usize> {
        let kept = self.renew(session).await?;
        let survey: HashMap<TenantId, Survey> = module_holders::survey(session).await?.into_iter().collect();
        self.leave_idle(session, &kept, &survey).await?;
        let taken = self.take_on(session, lost).await?;
        self.tell(&survey);
        Ok(taken)
    }

    async fn open_session(self: &Arc<Self>) -> Result<ModuleSession> {
        let deployments = Arc::downgrade(self);
        let ended = move || {
            if let Some(deployments) = deployments.upgrade() {
                deployments.lapse();
                deployments.look_soon();
            }
        };
        ModuleSession::open(&self.database, ended).await
    }

    /// The connection by which this process holds modules is gone: none of them goes on until they were renewed by another one.
    fn lapse(&self) {
        self.held.lock().values().for_each(|held| held.hold.lapse());
    }

    /// Renews what this process holds, and ends what others took over. Gives what it still holds.
    async fn renew(&self, session: &ModuleSession) -> Result<Vec<ModuleHold>> {
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        let own: Vec<(ModuleHold, bool)> = {
            let held = self.held.lock();
            held.iter().map(|(tenant, held)| (held.to_hold(tenant), held.feeds().take_fed())).collect()
        };
        let renewed = module_holders::renew(session, &own, lease).await?;
        let renewed: HashSet<TenantId> = renewed.into_iter().collect();
        let (kept, lost): (Vec<_>, Vec<_>) =
            own.into_iter().map(|(hold, _)| hold).partition(|hold| renewed.contains(&hold.tenant));
        lost.iter().for_each(|hold| self.end(&hold.tenant));
        let held = self.held.lock();
        kept.iter()
            .filter_map(|hold| held.get(&hold.tenant))
            .for_each(|held| held.hold.renewed(asked, lease));
        Ok(kept)
    }

    /// Gives back the leases of tenants that have nothing deployed any more.
    async fn leave_idle(
        &self,
        session: &ModuleSession,
        kept: &[ModuleHold],
        survey: &HashMap<TenantId, Survey>,
    ) -> Result<()> {
        let idle: Vec<ModuleHold> =
            kept.iter().filter(|hold| !survey.contains_key(&hold.tenant)).cloned().collect();
        idle.iter().for_each(|hold| self.end(&hold.tenant));
        module_holders::give_back(session, &idle).await
    }

    /// Takes on what nobody runs, and what runs where nothing comes any more while it comes here. Gives of how many tenants.
    async fn take_on(self: &Arc<Self>, session: &ModuleSession, lost: Lost) -> Result<usize> {
        let Some(platform) = self.platform.upgrade() else { return Ok(0) };
        let living = platform.living_tenants();
        let missed = living.iter().filter(|(_, tenant)| tenant.context().feeds.take_missed());
        let missed: Vec<TenantId> = missed.map(|(id, _)| id.clone()).collect();
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        let terms = Terms { lost, lease, idle: self.limits.module_idle };
        let taken = module_holders::take_over(session, self.process, &missed, terms).await?;
        if taken.len() == TAKEN_OVER_AT_ONCE {
            self.look_soon();
        }
        for taken in &taken {
            self.begin(&taken.tenant, Arc::new(Hold::new(taken.fence, asked, lease)));
        }
        Ok(taken.len())
    }

    /// Tells runners what was seen, and who writes what is read elsewhere.
    fn tell(self: &Arc<Self>, survey: &HashMap<TenantId, Survey>) {
        let Some(platform) = self.platform.upgrade() else { return };
        for (id, tenant) in platform.living_tenants() {
            let seen = survey.get(&id);
            let held = self.held.lock().get(&id).map(|held| {
                let generation = seen.map(|seen| seen.generation);
                held.runner.do_send(Reconcile { generation });
                // The tenant's actor died, and what was started afresh does not feed these modules; or the runner died.
                let is_alive = Arc::ptr_eq(&held.tenant, &tenant) && held.runner.connected();
                (held.hold.clone(), is_alive)
            });
            let is_held = held.is_some();
            if let Some((hold, false)) = held {
                self.begin(&id, hold);
            }
            let elsewhere = seen.filter(|_| !is_held).map_or_else(InputStreams::default, |seen| seen.inputs);
            tenant.context().feeds.set_elsewhere(elsewhere);
        }
    }
}

impl Held {
    fn feeds(&self) -> &crate::event_processing::feed::Feeds {
        &self.tenant.context().feeds
    }
}
