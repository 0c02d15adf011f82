//! Exchange of the usage of tenants between servers: every server stores its counts and reads those of the others
//! once a second, so all agree within two seconds, and earlier when a limit is nearly used up.

use std::collections::HashMap;
use std::sync::Arc;

use platform_model::error::Result;
use platform_model::id::TenantId;
use tokio_postgres::Row;

use super::of_tenant::{Counted, TenantLimits};
use crate::Database;
use crate::query::prepared::PreparedQueries;

const NOTE: &str = include_str!("../../../../../sql/queries/tenant_limits/note_counts.sql");
const COUNT_ELSEWHERE: &str = include_str!("../../../../../sql/queries/tenant_limits/count_elsewhere.sql");
const COUNT_SERVERS: &str = include_str!("../../../../../sql/queries/tenant_limits/count_servers.sql");
const SWEEP: &str = include_str!("../../../../../sql/queries/tenant_limits/sweep_counts.sql");

/// Lets servers exchange counts one after the other, so that the second one reads what the first one has stored.
const BEGIN: &str = "SET LOCAL synchronous_commit = off; SET LOCAL lock_timeout = '500ms'; \
                     SELECT pg_advisory_xact_lock(hashtext('platform tenant counts'))";

/// One count for each kind.
type Counts = [i64; Counted::ALL.len()];

/// The counts that this server wrote last.
#[derive(Debug, Default)]
pub(super) struct Noted {
    counts: HashMap<TenantId, Counts>,
    /// Whether other servers existed at the last exchange.
    was_shared: bool,
}

impl Database {
    /// Exchanges counts before one more is admitted, if other servers may have used up what was left (Z-20); see
    /// [`TenantLimits::must_exchange`]. If the database does not respond, the last counts apply.
    pub async fn agree_on(&self, limits: &TenantLimits, counted: Counted) {
        if !limits.must_exchange(counted) {
            return;
        }
        let mut noted = self.tenant_limits.noted.lock().await;
        // Another request may have exchanged them meanwhile.
        if limits.must_exchange(counted)
            && let Err(error) = self.exchange(&mut noted).await
        {
            tracing::debug!(%error, "counts cannot be exchanged before a limit is checked");
        }
    }

    /// Stores the counts of this server and reads those of the others, if other servers exist. One transaction
    /// without fsync.
    pub(super) async fn exchange_counts(&self) -> Result<()> {
        let mut noted = self.tenant_limits.noted.lock().await;
        self.exchange(&mut noted).await
    }

    async fn exchange(&self, noted: &mut Noted) -> Result<()> {
        let all = &self.tenant_limits;
        let Some(server) = self.membership().incarnation() else { return Ok(()) };
        if self.publications().is_alone() {
            if std::mem::take(noted).was_shared {
                all.set_servers(1);
                for (_, limits) in all.all() {
                    limits.set_elsewhere(Counts::default());
                    limits.set_noted(Counts::default());
                }
            }
            return Ok(());
        }
        let changed = noted.changed(all.all());
        let mut client = self.loader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute(BEGIN).await?;
        if !changed.is_empty() {
            let tenants: Vec<&str> = changed.iter().map(|(tenant, _)| tenant.as_str()).collect();
            let column = |at: usize| changed.iter().map(|(_, counts)| counts[at]).collect::<Vec<i64>>();
            transaction.run(NOTE, &[&server, &tenants, &column(0), &column(1), &column(2)]).await?;
        }
        if !noted.was_shared {
            transaction.execute(SWEEP, &[]).await?;
        }
        let elsewhere = transaction.rows(COUNT_ELSEWHERE, &[&server]).await?;
        let servers: i64 = transaction.row(COUNT_SERVERS, &[]).await?.get(0);
        transaction.commit().await?;
        changed.iter().for_each(|(tenant, counts)| all.of(tenant).set_noted(*counts));
        noted.counts.extend(changed);
        noted.was_shared = true;
        self.count_elsewhere(&elsewhere)?;
        all.set_servers(usize::try_from(servers).unwrap_or(1));
        Ok(())
    }

    /// Applies the counts of the other servers.
    fn count_elsewhere(&self, rows: &[Row]) -> Result<()> {
        let (all, mut counted) = (&self.tenant_limits, HashMap::new());
        for row in rows {
            let counts: Counts = [row.try_get(1)?, row.try_get(2)?, row.try_get(3)?];
            counted.insert(TenantId::parse(row.try_get(0)?)?, counts);
        }
        counted.iter().for_each(|(tenant, counts)| all.of(tenant).set_elsewhere(*counts));
        for (tenant, limits) in all.all() {
            if !counted.contains_key(&tenant) {
                limits.set_elsewhere(Counts::default());
            }
        }
        Ok(())
    }
}

impl Noted {
    /// Returns the counts that differ from the stored ones.
    fn changed(&self, all: Vec<(TenantId, Arc<TenantLimits>)>) -> Vec<(TenantId, Counts)> {
        let now = |(tenant, limits): (TenantId, Arc<TenantLimits>)| {
            let counts = Counted::ALL.map(|counted| limits.here(counted));
            let before = self.counts.get(&tenant).copied().unwrap_or_default();
            (counts != before).then_some((tenant, counts))
        };
        all.into_iter().filter_map(now).collect()
    }
}
