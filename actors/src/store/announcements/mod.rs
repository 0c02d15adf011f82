//! Announcements: changes of what servers cache. PostgreSQL tells every server process with the commit (`NOTIFY`), and this process
//! applies the changes before it responds to the request (B-18b).
//!
//! A transaction collects its changes in [`Announcements`] and sends them as notifications, marked as those of this process. After
//! the commit this process applies them itself and ignores the notifications when they come back. They may come late, when a
//! deleted user exists again and has new sessions. When the client goes away during the commit, this process does not learn how the
//! transaction ended; its notifications then count as those of another process.
//!
//! Reading order: [`changes`] the kinds of changes, [`bus`] which notifications are this process's own, and here the transactions.

mod bus;
mod changes;

use std::sync::Arc;

use deadpool_postgres::{GenericClient, Object, Transaction};
use parking_lot::Mutex;

use super::{Database, until_uncontended};
use crate::error::Result;
use crate::model::id::TenantId;
pub(crate) use bus::Bus;
use bus::CarriedOut;
pub(crate) use changes::{Change, Shift};
pub use changes::{Holders, Names};

/// Channel of `NOTIFY` for all of this.
pub(super) const CHANNEL: &str = "platform_users";
const NOTIFY: &str = include_str!("../../../../sql/queries/announcements/notify.sql");

/// Tells every server process of a change, this one too, with the commit of a transaction. For what this process has carried out
/// by itself, where it does no harm to do it again.
pub(super) async fn announce(client: &impl GenericClient, change: &Change) -> Result<()> {
    client.execute(NOTIFY, &[&CHANNEL, &change.payloads()]).await?;
    Ok(())
}

/// Changes what servers remember. One transaction, which is run again when it lost against others of the same moment; when this
/// returns, what was announced is forgotten here, and what had to end has ended.
///
/// # Errors
/// What `work` fails with; `Contended`, `Unavailable` or `Database`.
pub(super) async fn change<T>(
    database: &Database,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    change_over(database, async || database.reader().await, work).await
}

/// As [`change`], over a connection of the caller's choice.
///
/// # Errors
/// As [`change`].
pub(super) async fn change_over<T>(
    database: &Database,
    connect: impl AsyncFn() -> Result<Object>,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    let (outcome, carried_out) = until_uncontended(async || {
        let mut client = connect().await?;
        let transaction = client.transaction().await?;
        let announcements = Announcements::default();
        let outcome = work(&transaction, &announcements).await?;
        let sent = announcements.send(database, &transaction).await?;
        transaction.commit().await?;
        Ok((outcome, sent.committed()))
    })
    .await?;
    // The connection was given back: what ends sessions needs some itself.
    carried_out.finished().await;
    Ok(outcome)
}

/// The changes of one transaction.
#[derive(Debug, Default)]
pub(super) struct Announcements(Mutex<Vec<Change>>);

impl Announcements {
    /// Adds a change.
    pub(super) fn add(&self, change: Change) {
        change.join(&mut self.0.lock());
    }

    /// Adds that a user has another password, was disabled or is gone.
    pub(super) fn add_user(&self, tenant: &TenantId, name: &str) {
        self.add(Change::Users(tenant.clone(), Names::from([name.into()])));
    }

    /// Adds that a user may do something else than before.
    pub(super) fn add_rights_of(&self, tenant: &TenantId, name: &str, shift: Shift) {
        self.add(Change::Rights(tenant.clone(), Holders::Users(Names::from([name.into()])), shift));
    }

    /// Sends them, to be told with the commit.
    async fn send(self, database: &Database, transaction: &Transaction<'_>) -> Result<Sent> {
        let changes = self.0.into_inner();
        let bus = database.bus.clone();
        if changes.is_empty() {
            return Ok(Sent { bus, number: None, changes });
        }
        let number = bus.begin();
        let sent = Sent { bus, number: Some(number), changes };
        let mark = sent.bus.mark(number);
        let payloads = sent.changes.iter().flat_map(Change::payloads);
        let payloads: Vec<String> = payloads.map(|payload| format!("{mark}:{payload}")).collect();
        let statement = transaction.prepare_cached(NOTIFY).await?;
        transaction.execute(&statement, &[&CHANNEL, &payloads]).await?;
        Ok(sent)
    }
}

/// Announcements that come true with the commit of their transaction. Dropped without [`committed`](Self::committed), what came
/// back meanwhile is carried out as the news of others.
struct Sent {
    bus: Arc<Bus>,
    /// `None` when nothing was announced, or is under way no longer.
    number: Option<u64>,
    changes: Vec<Change>,
}

impl Sent {
    /// Carries out what can be done at once, and begins the rest, which goes on when nobody waits for it.
    fn committed(mut self) -> CarriedOut {
        let carried_out = self.bus.carry_out(std::mem::take(&mut self.changes));
        if let Some(number) = self.number.take() {
            self.bus.end(number);
        }
        carried_out
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let came_back = self.bus.abandon(number);
            self.bus.carry_out(came_back);
        }
    }
}
