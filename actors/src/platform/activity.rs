//! The activity of tenants at this server: the requests, deliveries and sessions of the last seconds. Each server
//! writes its part to the database with the counts every few seconds, so that every server knows the sum of all, and
//! keeps it for metrics (Z-07).

use std::collections::HashMap;
use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_store::statistics::Recent;
use platform_store::statistics::activity::ActivityHere;
use tokio::time::timeout;

use super::Platform;
use crate::session::deliveries::note_active;
use crate::session::listing::{SessionSums, SumSessions};

/// The time that a thread may take to describe its sessions.
const LONGEST: Duration = Duration::from_secs(1);
/// The number of requests or deliveries per second from which a tenant counts as active, so that others may not disturb
/// it.
const NOTICED: f64 = 1.0;

/// The activity of tenants at this server in the last few seconds, the busiest first.
pub type Activity = Vec<(TenantId, ActivityHere)>;

impl Platform {
    /// Writes the counts and the activity of tenants in the time `elapsed` since the last call.
    ///
    /// # Errors
    /// `Unavailable` or `Database`; what could not be written is written by the next call.
    pub async fn write_statistics(&self, elapsed: Duration) -> Result<()> {
        let (recent, written) = self.database.write_statistics().await;
        let activity = activity(self.sum_sessions().await, recent, elapsed);
        let is_noticed = |here: &ActivityHere| here.requests.max(here.deliveries) >= NOTICED;
        note_active(activity.iter().filter(|(_, here)| is_noticed(here)).map(|(tenant, _)| tenant));
        let written = match written {
            Ok(()) => self.database.put_activity(&activity).await,
            Err(error) => Err(error),
        };
        *self.activity.lock() = activity;
        written
    }

    /// Writes the counts since the last write, before the server stops.
    pub async fn write_last_statistics(&self) {
        if let (_, Err(error)) = self.database.write_statistics().await {
            tracing::warn!(%error, "the statistics of the last seconds could not be written");
        }
    }

    /// Sums the sessions of this server by tenant.
    async fn sum_sessions(&self) -> HashMap<TenantId, SessionSums> {
        let mut sums: HashMap<TenantId, SessionSums> = HashMap::new();
        for dispatcher in self.dispatchers().await {
            let Ok(Ok(of_thread)) = timeout(LONGEST, dispatcher.send(SumSessions)).await else { continue };
            for (tenant, sum) in of_thread {
                sums.entry(tenant).or_default().add(sum);
            }
        }
        sums
    }

    /// Returns the activity of the busiest tenants at this server in the last few seconds, at most `most` of them, and
    /// the sum of all others.
    pub fn busiest(&self, most: usize) -> (Activity, ActivityHere) {
        let activity = self.activity.lock();
        let (busiest, others) = activity.split_at(most.min(activity.len()));
        let mut sum = ActivityHere::default();
        for (_, other) in others {
            sum.sessions += other.sessions;
            sum.polls += other.polls;
            sum.sockets += other.sockets;
            sum.queued += other.queued;
            sum.requests += other.requests;
            sum.writes += other.writes;
            sum.deliveries += other.deliveries;
        }
        (busiest.to_vec(), sum)
    }
}

fn activity(
    sums: HashMap<TenantId, SessionSums>,
    recent: HashMap<TenantId, Recent>,
    elapsed: Duration,
) -> Activity {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let mut all: HashMap<TenantId, ActivityHere> = HashMap::new();
    for (tenant, SessionSums { sessions, polls, sockets, queued }) in sums {
        all.insert(tenant, ActivityHere { sessions, polls, sockets, queued, ..ActivityHere::default() });
    }
    for (tenant, recent) in recent {
        let here = all.entry(tenant).or_default();
        here.requests = recent.requests as f64 / seconds;
        here.writes = recent.writes as f64 / seconds;
        here.deliveries = recent.deliveries as f64 / seconds;
    }
    let mut activity: Activity = all.into_iter().filter(|(_, here)| !here.is_idle()).collect();
    let load = |here: &ActivityHere| here.requests + here.writes + here.deliveries;
    activity.sort_by(|(one, this), (other, that)| {
        load(that).total_cmp(&load(this)).then(that.sessions.cmp(&this.sessions)).then_with(|| one.cmp(other))
    });
    activity
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(id: &str) -> TenantId {
        TenantId::parse(id).expect("an id")
    }

    #[test]
    fn busiest_tenants_come_first_and_idle_ones_are_left_out() {
        let sums = HashMap::from([
            (tenant("quiet"), SessionSums { sessions: 3, ..SessionSums::default() }),
            (tenant("busy"), SessionSums::default()),
        ]);
        let recent = HashMap::from([
            (tenant("busy"), Recent { requests: 10, writes: 4, deliveries: 6 }),
            (tenant("idle"), Recent::default()),
        ]);

        let activity = activity(sums, recent, Duration::from_secs(2));

        let names: Vec<&str> = activity.iter().map(|(tenant, _)| tenant.as_str()).collect();
        assert_eq!(names, ["busy", "quiet"]);
        assert_eq!((activity[0].1.requests, activity[0].1.writes, activity[1].1.sessions), (5.0, 2.0, 3));
    }
}
