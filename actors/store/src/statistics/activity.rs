//! The current activity of tenants at each server: written with each batch of counts, and read over all servers.

use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::tenancy::statistics::TenantActivity;
use tokio_postgres::Row;

use super::batches::FRESH;
use crate::Database;

const PUT: &str = include_str!("../../../../sql/queries/statistics/put_activity.sql");
const FORGET: &str = include_str!("../../../../sql/queries/statistics/forget_activity.sql");
const LIST: &str = include_str!("../../../../sql/queries/statistics/list_activity.sql");

/// The most tenants in a list.
const MOST: i64 = 1000;

/// The activity of a tenant at this server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ActivityHere {
    /// Sessions.
    pub sessions: i64,
    /// Held long polls.
    pub polls: i64,
    /// Open WebSockets of sessions.
    pub sockets: i64,
    /// Notifications that wait in the queues of sessions.
    pub queued: i64,
    /// Requests per second.
    pub requests: f64,
    /// Created and changed objects per second.
    pub writes: f64,
    /// Delivered notifications per second.
    pub deliveries: f64,
}

impl ActivityHere {
    /// Returns whether the tenant does nothing at this server.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

/// The tenants whose activity is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The caller's tenant.
    Own,
    /// The caller's tenant and those that it manages.
    Managed,
}

impl Database {
    /// Replaces the activity of tenants at this server. Two statements.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn put_activity(&self, activity: &[(TenantId, ActivityHere)]) -> Result<()> {
        let Some(server) = self.membership.incarnation() else { return Ok(()) };
        let tenants: Vec<&str> = activity.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let numbers =
            |of: fn(&ActivityHere) -> i64| activity.iter().map(|(_, here)| of(here)).collect::<Vec<_>>();
        let rates =
            |of: fn(&ActivityHere) -> f64| activity.iter().map(|(_, here)| of(here)).collect::<Vec<_>>();
        let client = self.loader().await?;
        client
            .execute(
                PUT,
                &[
                    &server,
                    &tenants,
                    &numbers(|here| here.sessions),
                    &numbers(|here| here.polls),
                    &numbers(|here| here.sockets),
                    &numbers(|here| here.queued),
                    &rates(|here| here.requests),
                    &rates(|here| here.writes),
                    &rates(|here| here.deliveries),
                ],
            )
            .await?;
        client.execute(FORGET, &[&server, &tenants]).await?;
        Ok(())
    }

    /// Returns the activity of tenants at all servers, the busiest first, at most a thousand; with `only` that of
    /// this tenant alone. A server that has written nothing for three times `pause` is left out. One statement.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub async fn list_activity(
        &self,
        caller: &TenantId,
        scope: Scope,
        only: Option<&TenantId>,
        pause: Duration,
    ) -> Result<Vec<TenantActivity>> {
        let client = self.reader().await?;
        let fresh = (pause.as_secs_f64() * 3.0).clamp(1.0, FRESH.max(pause.as_secs_f64() * 3.0));
        let only = only.map(TenantId::as_str);
        let managed = scope == Scope::Managed;
        let rows = client.query(LIST, &[&caller.as_str(), &managed, &only, &fresh, &MOST]).await?;
        rows.iter().map(from_row).collect()
    }
}

fn from_row(row: &Row) -> Result<TenantActivity> {
    Ok(TenantActivity {
        tenant: row.try_get(0)?,
        sessions: row.try_get(1)?,
        polls: row.try_get(2)?,
        sockets: row.try_get(3)?,
        queued: row.try_get(4)?,
        requests: row.try_get(5)?,
        writes: row.try_get(6)?,
        deliveries: row.try_get(7)?,
        servers: row.try_get(8)?,
    })
}
