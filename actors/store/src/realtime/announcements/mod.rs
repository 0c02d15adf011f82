//! Announcements of changes to data that servers cache. PostgreSQL notifies every server process at the commit
//! (`NOTIFY`), and this process applies the changes before it responds to the request (B-18b).
//!
//! A transaction collects its changes in [`Announcements`] and sends them as notifications that carry the mark of this
//! process. After the commit this process applies them itself and ignores the notifications when they come back. They
//! may come back late, for example when a deleted user exists again and has new sessions. When the client disconnects
//! during the commit, this process does not learn how the transaction ended; its notifications then count as those of
//! another process.
//!
//! Reading order: [`changes`] defines the kinds of changes, [`bus`] recognizes this process's own notifications, this
//! file runs the transactions, and [`applied`] lets commands wait for the servers.

mod applied;
mod bus;
mod changes;

use std::net::IpAddr;
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Transaction};
use parking_lot::Mutex;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;
use platform_model::users::user::Administration;

use crate::query::prepared::PreparedQueries;

use crate::realtime::publications::Ended;
use crate::realtime::signatures::Signatures;
use crate::{Connection, Database, until_uncontended};
pub(crate) use bus::Bus;
pub use bus::CarriedOut;
pub use changes::{Change, RightsChange};
pub use changes::{Holders, Names};

/// The `NOTIFY` channel of all changes.
pub(crate) const CHANNEL: &str = "platform_users";
const TELL_GUESSES: &str = include_str!("../../../../../sql/queries/announcements/tell_guesses.sql");
const NOTIFY: &str = include_str!("../../../../../sql/queries/announcements/notify.sql");

/// Notifies every server process of a change, including this one, at the commit of a transaction. It is for changes
/// that this process has applied already and may apply again without harm.
pub(crate) async fn announce(
    client: &impl GenericClient,
    signatures: &Signatures,
    change: &Change,
) -> Result<()> {
    client.execute(NOTIFY, &[&CHANNEL, &signed(signatures, change)]).await?;
    Ok(())
}

/// Returns the signed payloads of a change.
pub(crate) fn signed(signatures: &Signatures, change: &Change) -> Vec<String> {
    change.payloads().iter().map(|payload| signatures.sign(CHANNEL, payload).into_owned()).collect()
}

/// Notifies the other servers of failed log-ins, if there are any other servers.
///
/// # Errors
/// `Unavailable` or `Database`; the failures are counted at this server alone then.
pub async fn tell_guesses(database: &Database, guesses: Vec<Change>) -> Result<()> {
    let payloads: Vec<String> =
        guesses.iter().flat_map(|guess| signed(&database.signatures, guess)).collect();
    database.loader().await?.execute(TELL_GUESSES, &[&CHANNEL, &payloads]).await?;
    Ok(())
}

/// Runs a transaction that changes cached data. It is retried when it conflicts with concurrent ones. When this
/// returns, this process has dropped what it had cached, and the affected sessions have ended.
///
/// # Errors
/// The error of `work`; `Contended`, `Unavailable` or `Database`.
pub(crate) async fn change<T>(
    database: &Database,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    change_over(database, async || database.reader().await, work).await
}

/// Does the same as [`change`], over a connection that `connect` returns.
///
/// # Errors
/// The errors of [`change`].
pub(crate) async fn change_over<T>(
    database: &Database,
    connect: impl AsyncFn() -> Result<Connection>,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    let attempt = async || {
        let mut client = connect().await?;
        let transaction = client.transaction().await?;
        let announcements = Announcements::new(database.signatures.clone());
        let outcome = work(&transaction, &announcements).await?;
        let published = announcements.published.lock().take();
        let logged = std::mem::take(&mut *announcements.logged.lock());
        let sent = announcements.send(database, &transaction).await?;
        let ended = match published {
            Some((tenant, publications)) => {
                Box::pin(database.commit_published(transaction, &tenant, outcome, publications)).await?
            }
            None => {
                transaction.commit().await?;
                Ended::Committed(outcome)
            }
        };
        Ok(ended.map(|outcome| {
            logged.iter().for_each(ChangeOfRights::log);
            (outcome, sent.committed())
        }))
    };
    let (outcome, carried_out) = database.until_uncontended(attempt).await?;
    // The connection is back in the pool by now: ending sessions needs connections too.
    carried_out.finished().await;
    Ok(outcome)
}

/// Runs a transaction as [`change_over`] does, and rolls it back.
///
/// # Errors
/// The errors of [`change`].
pub(crate) async fn rehearse<T>(
    database: &Database,
    connect: impl AsyncFn() -> Result<Connection>,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    let attempt = async || {
        let mut client = connect().await?;
        let transaction = client.transaction().await?;
        let outcome = work(&transaction, &Announcements::new(database.signatures.clone())).await?;
        transaction.rollback().await?;
        Ok(outcome)
    };
    until_uncontended(attempt).await
}

/// The changes of one transaction, and its other publications.
#[derive(Debug)]
pub(crate) struct Announcements {
    changes: Mutex<Vec<Change>>,
    published: Mutex<Option<(TenantId, Vec<Publication>)>>,
    signatures: Arc<Signatures>,
    logged: Mutex<Vec<ChangeOfRights>>,
}

/// A change of users, groups, roles, options or tenants, as the log of security events shows it after the commit. It is
/// logged here, so that every path to a change is covered: requests, rows of the CSV protocol and commands.
#[derive(Debug)]
struct ChangeOfRights {
    tenant: TenantId,
    by: String,
    client: Option<IpAddr>,
    activity: &'static str,
    target: String,
}

impl ChangeOfRights {
    fn log(&self) {
        let Self { tenant, by, activity, target, .. } = self;
        let client = self.client.map(|client| client.to_string()).unwrap_or_default();
        let user = if by.contains('/') { by.clone() } else { format!("{tenant}/{by}") };
        tracing::info!(target: "platform::security", %tenant, user, client, activity, changed = ?target,
            "rights changed");
    }
}

impl Announcements {
    fn new(signatures: Arc<Signatures>) -> Self {
        Self { changes: Mutex::default(), published: Mutex::default(), signatures, logged: Mutex::default() }
    }

    /// Returns the signatures, for notifications that statements of the transaction send.
    pub(crate) fn signatures(&self) -> &Signatures {
        &self.signatures
    }

    /// Adds a change.
    pub(crate) fn add(&self, change: Change) {
        change.join(&mut self.changes.lock());
    }

    /// Sets the publications that the sessions and modules of a tenant receive at the commit.
    pub(crate) fn publish(&self, tenant: &TenantId, publications: Vec<Publication>) {
        *self.published.lock() = Some((tenant.clone(), publications));
    }

    /// Logs a change of rights when the transaction is committed.
    pub(crate) fn log_change(&self, by: &Administration, activity: &'static str, target: &str) {
        self.logged.lock().push(ChangeOfRights {
            tenant: by.tenant.clone(),
            by: by.by.clone(),
            client: by.client,
            activity,
            target: target.to_owned(),
        });
    }

    /// Adds the change of a user who has another password, was disabled or was deleted.
    pub(crate) fn add_user(&self, tenant: &TenantId, name: &str) {
        self.add(Change::Users(tenant.clone(), Names::from([name.into()])));
    }

    /// Adds a change of the rights of a user.
    pub(crate) fn add_rights_of(&self, tenant: &TenantId, name: &str, shift: RightsChange) {
        self.add(Change::Rights(tenant.clone(), Holders::Users(Names::from([name.into()])), shift));
    }

    /// Sends the changes as notifications, which PostgreSQL delivers at the commit.
    async fn send(self, database: &Database, transaction: &Transaction<'_>) -> Result<Sent> {
        let changes = self.changes.into_inner();
        let bus = database.bus.clone();
        if changes.is_empty() {
            return Ok(Sent { bus, number: None, changes });
        }
        let number = bus.begin();
        let sent = Sent { bus, number: Some(number), changes };
        let mark = sent.bus.mark(number);
        let payloads = sent.changes.iter().flat_map(Change::payloads);
        let marked = payloads.map(|payload| format!("{mark}:{payload}"));
        let payloads: Vec<String> =
            marked.map(|payload| database.signatures.sign(CHANNEL, &payload).into_owned()).collect();
        transaction.run(NOTIFY, &[&CHANNEL, &payloads]).await?;
        Ok(sent)
    }
}

/// Announcements that take effect at the commit of their transaction. When this is dropped without
/// [`committed`](Self::committed), the notifications that have arrived are applied like those of another process.
struct Sent {
    bus: Arc<Bus>,
    /// `None` when nothing was announced or the transaction has ended.
    number: Option<u64>,
    changes: Vec<Change>,
}

impl Sent {
    /// Drops cached entries at once and starts to end sessions, which continues even when nobody waits for it.
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
