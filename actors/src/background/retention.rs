//! The daily deletion of data by age (Z-08).
//!
//! One server runs the retention of a tenant. It holds a lease and renews it with every step; if it dies, another
//! server continues. A step is a transaction of some thousand rows. After each step the run pauses for twice its
//! duration, so that it uses a connection for at most a third of the time. A continued run repeats nothing, because
//! deleted rows are gone.

use std::sync::Arc;
use std::time::Instant;

use platform_model::error::{Error, Result};
use platform_model::links::Links;
use platform_model::origin::Origin;
use platform_model::timestamp::Timestamp;
use platform_store::Database;
use platform_store::tenancy::retention::matching::Sweep;
use platform_store::tenancy::retention::runs::{self, HeldRun};
use platform_store::tenancy::retention::{list_rules_in_force, partitions};
use tokio::time::sleep;

use crate::metrics::RETENTION_DELETED;
use crate::platform::Platform;
use crate::tenant_alarms::{PartOfTenant, TenantAlarm};

/// The part of a tenant that is the source of the alarm about a late run.
const RETENTION: PartOfTenant = PartOfTenant { type_: "Retention", name: "Retention" };

/// Makes the runs of all tenants that are due, and raises alarms for those that are late. Links in notifications start
/// with `links`, because no request causes them.
///
/// # Errors
/// `Unavailable` or `Database`; the run is continued by the next call.
pub async fn run_when_due(platform: &Platform, links: &Links) -> Result<()> {
    let told = tell_late_runs(platform, links).await;
    run_all(platform).await?;
    told
}

/// Raises an alarm for each run that has not ended within a day.
async fn tell_late_runs(platform: &Platform, links: &Links) -> Result<()> {
    for late in runs::take_late(platform.database()).await? {
        let (due, begun) = (late.due, late.begun);
        let text = format!(
            "The retention run that was due at {due} has not ended within a day. It began at {begun}. Data that is too \
             old stays for longer; the next run follows when this one has ended."
        );
        tracing::warn!(tenant.id = %late.tenant, %due, "a run of retention has not ended within a day");
        let origin = Arc::new(Origin::of_server(links.clone()));
        let alarm = TenantAlarm { of: RETENTION, type_: "RetentionLate", text };
        if let Err(error) = alarm.raise(&platform.tenant(&late.tenant), &origin).await {
            tracing::warn!(tenant.id = %late.tenant, %error, "the alarm about a late run could not be raised yet");
            runs::give_late_back(platform.database(), &late).await?;
        }
    }
    Ok(())
}

async fn run_all(platform: &Platform) -> Result<()> {
    let (database, mut looked_at) = (platform.database(), None);
    while let Some(mut run) = runs::take(database, platform.limits().retention_hour).await? {
        let begun = Instant::now();
        // Partitions contain measurements of all tenants, so the first run of a day checks them.
        if looked_at.replace(run.due) != Some(run.due) {
            drop_partitions(database, run.due).await?;
        }
        match carry_out(database, &mut run).await {
            Ok(true) => {
                let (deleted, seconds) = (run.deleted.values().sum::<i64>(), begun.elapsed().as_secs());
                tracing::info!(tenant = %run.tenant, deleted, seconds, "outdated data is deleted");
            }
            Ok(false) => {}
            // The lease of this run expires in a minute, and the runs of other tenants do not wait for it.
            Err(error) => tracing::warn!(
                tenant = %run.tenant, %error,
                "outdated data of a tenant could not be deleted; the run is continued later"
            ),
        }
    }
    Ok(())
}

/// Drops old partitions of measurements that no tenant keeps.
async fn drop_partitions(database: &Database, due: Timestamp) -> Result<()> {
    let dropped = partitions::drop_covered(database, due).await?;
    if !dropped.is_empty() {
        tracing::info!(partitions = dropped.join(", "), "old partitions of measurements are dropped");
    }
    Ok(())
}

/// Deletes the data that the rules of a tenant match. Returns `false` if another server has taken the run over.
async fn carry_out(database: &Database, run: &mut HeldRun) -> Result<bool> {
    for rule in list_rules_in_force(database, &run.tenant, run.due).await? {
        for kind in rule.retention.data_types() {
            let mut sweep = Sweep::new(database, &run.tenant, kind, &rule.retention).await?;
            loop {
                let begun = Instant::now();
                let deleted = match sweep.step(database, &run.tenant).await {
                    Ok(Some(deleted)) => deleted,
                    Ok(None) => break,
                    // The next attempt uses a smaller step.
                    Err(Error::Timeout) if sweep.shrink() => continue,
                    Err(error) => return Err(error),
                };
                *run.deleted.entry(kind).or_default() += deleted;
                RETENTION_DELETED.increment(deleted.unsigned_abs());
                if !run.report(database, false).await? {
                    return Ok(false);
                }
                sleep(begun.elapsed() * 2).await;
            }
        }
    }
    run.report(database, true).await
}
