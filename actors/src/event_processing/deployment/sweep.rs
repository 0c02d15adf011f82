//! Leases of modules, looked after every few seconds and whenever something changed: those of this process are renewed, those that
//! nobody holds are taken on, and those whose events come here and no more to their holder.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use tokio::time::{sleep, timeout};

use super::hold::Hold;
use super::runner::Reconcile;
use super::{Deployments, Held};
use crate::error::Result;
use crate::event_processing::stream::InputStreams;
use crate::model::id::TenantId;
use crate::model::links::Links;
use crate::store::module_holders::{self, ModuleHold, Survey, TAKEN_OVER_AT_ONCE, Terms};

/// Changes that come so close together are looked at together.
const TOGETHER: Duration = Duration::from_millis(20);

impl Deployments {
    /// Looks after leases until it is dropped. Links in what modules tell start with `links`.
    pub(crate) async fn keep_going(self: Arc<Self>, links: Links) {
        // It is set once: a process keeps its modules going once.
        let _ = self.links.set(links);
        let pause = self.limits.module_lease.min(self.limits.module_idle) / 3;
        loop {
            if let Err(error) = self.look_after().await {
                tracing::debug!(%error, "leases of modules cannot be looked after now");
            }
            let _ = timeout(pause, self.due.notified()).await;
            sleep(TOGETHER).await;
        }
    }

    async fn look_after(self: &Arc<Self>) -> Result<()> {
        let _turn = self.turn.lock().await;
        let client = self.pool.get().await?;
        let kept = self.renew(&client).await?;
        let survey: HashMap<TenantId, Survey> = module_holders::survey(&client).await?.into_iter().collect();
        self.leave_idle(&client, &kept, &survey).await?;
        self.take_on(&client).await?;
        self.tell(&survey);
        Ok(())
    }

    /// Renews what this process holds, and ends what others took over. Gives what it still holds.
    async fn renew(&self, client: &Object) -> Result<Vec<ModuleHold>> {
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        let own: Vec<(ModuleHold, bool)> = {
            let held = self.held.lock();
            held.iter().map(|(tenant, held)| (held.to_hold(tenant), held.feeds().take_fed())).collect()
        };
        let renewed = module_holders::renew(client, &own, lease).await?;
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
        client: &Object,
        kept: &[ModuleHold],
        survey: &HashMap<TenantId, Survey>,
    ) -> Result<()> {
        let idle: Vec<ModuleHold> =
            kept.iter().filter(|hold| !survey.contains_key(&hold.tenant)).cloned().collect();
        idle.iter().for_each(|hold| self.end(&hold.tenant));
        module_holders::give_back(client, &idle).await
    }

    /// Takes on what nobody runs, and what runs where nothing comes any more while it comes here.
    async fn take_on(self: &Arc<Self>, client: &Object) -> Result<()> {
        let Some(platform) = self.platform.upgrade() else { return Ok(()) };
        let living = platform.living_tenants();
        let missed = living.iter().filter(|(_, tenant)| tenant.context().feeds.take_missed());
        let missed: Vec<TenantId> = missed.map(|(id, _)| id.clone()).collect();
        let (asked, lease) = (Instant::now(), self.limits.module_lease);
        let terms = Terms { lease, idle: self.limits.module_idle };
        let taken = module_holders::take_over(client, self.process, &missed, terms).await?;
        if taken.len() == TAKEN_OVER_AT_ONCE {
            self.look_soon();
        }
        for taken in taken {
            self.begin(&taken.tenant, Arc::new(Hold::new(taken.fence, asked, lease)));
        }
        Ok(())
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
