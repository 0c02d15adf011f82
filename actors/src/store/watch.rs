//! One connection per server process that listens: for changes of users, and for PostgreSQL being there at all.

use std::future::poll_fn;
use std::time::Duration;

use deadpool_postgres::GenericClient;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, NoTls};

use super::Database;
use crate::error::{Error, Result};
use crate::model::id::{ManagedObjectId, TenantId};

/// Channel of `NOTIFY` for changes of users: payload `<tenant>/<user>`; without a user the tenant itself changed, or one
/// of its groups.
const USERS: &str = "platform_users";
const ANNOUNCE_USERS: &str = include_str!("../../../sql/queries/device_users/announce.sql");

/// Tells every server process, with the commit of a transaction, that a user changed; an empty name stands for the
/// whole tenant.
pub(crate) async fn announce(transaction: &impl GenericClient, tenant: &TenantId, user: &str) -> Result<()> {
    let payload = format!("{tenant}/{user}");
    transaction.execute("SELECT pg_notify($1, $2)", &[&USERS, &payload]).await?;
    Ok(())
}

/// Tells every server process, with the commit of a transaction, that some users changed. One statement.
pub(crate) async fn announce_users<'a>(
    transaction: &impl GenericClient,
    users: impl Iterator<Item = (&'a TenantId, &'a str)>,
) -> Result<()> {
    let (tenants, names): (Vec<&str>, Vec<&str>) =
        users.map(|(tenant, name)| (tenant.as_str(), name)).unzip();
    if !names.is_empty() {
        let statement = transaction.prepare_cached(ANNOUNCE_USERS).await?;
        transaction.execute(&statement, &[&USERS, &tenants, &names]).await?;
    }
    Ok(())
}

/// Stands in the place of a user for the options of a tenant; no user is called so (U-08). Unlike a change of the
/// tenant it ends no sessions.
const OPTIONS: &str = "+options";

/// Tells every server process, with the commit of a transaction, to forget what it remembers of a tenant's options.
pub(crate) async fn announce_options(transaction: &impl GenericClient, tenant: &TenantId) -> Result<()> {
    announce(transaction, tenant, OPTIONS).await
}

/// Stands in the place of a user for the availability of a managed object, its id follows (`managed_objects/update.sql`).
const AVAILABILITY: &str = "+availability/";

/// Stands in the place of a user for the names of a tenant: external ids and template sets (`managed_objects/update.sql`,
/// `external_ids/delete.sql`).
pub(super) const NAMES: &str = "+names";

/// Stands in the place of a user when an application of the tenant, or a subscription of it, came, changed or went.
pub(super) const APPLICATIONS: &str = "+applications";

/// Stands in the place of a user when modules of the tenant came, changed or went.
pub(super) const MODULES: &str = "+modules";

/// How often PostgreSQL is asked whether it is there; also the pause before it is tried again.
const PING: Duration = Duration::from_millis(500);
/// A PostgreSQL that needs longer than this for nothing counts as away.
const PONG: Duration = Duration::from_secs(4);

/// What the watch saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A user changed: password, roles, or gone.
    UserChanged {
        /// Whose user.
        tenant: TenantId,
        /// The user's name.
        user: String,
    },
    /// Something that concerns every user of a tenant changed: its status, its domain, a group.
    TenantChanged(TenantId),
    /// An option changed that servers remember.
    OptionsChanged(TenantId),
    /// A managed object asks for another availability than before.
    AvailabilityChanged(TenantId, ManagedObjectId),
    /// External ids or template sets changed that servers remember.
    NamesChanged(TenantId),
    /// An application or a subscription changed.
    ApplicationsChanged,
    /// Modules of a tenant changed.
    ModulesChanged(TenantId),
    /// Changes may have been missed while the connection was away.
    Gap,
}

/// Watches until the receiver is gone.
pub(crate) async fn watch(database: Database, seen: mpsc::UnboundedSender<Seen>) {
    while !seen.is_closed() {
        let outcome = listen(&database, &seen).await;
        if seen.is_closed() {
            return;
        }
        database.set_reachable(false);
        if let Err(error) = outcome {
            tracing::debug!(%error, "database watch ended");
        }
        sleep(PING).await;
    }
}

async fn listen(database: &Database, seen: &mpsc::UnboundedSender<Seen>) -> Result<()> {
    let connecting = timeout(PONG, database.config.connect(NoTls)).await;
    let (client, mut connection) =
        connecting.map_err(|_| Error::unavailable("connecting took too long"))??;
    let told = seen.clone();
    let driver = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message
                && let Some(change) = parse(notification.payload())
                && told.send(change).is_err()
            {
                return;
            }
        }
    });
    let outcome = async {
        client.batch_execute(&format!("LISTEN {USERS}")).await?;
        database.set_reachable(true);
        if seen.send(Seen::Gap).is_err() {
            return Ok(());
        }
        loop {
            let pong = timeout(PONG, client.simple_query("")).await;
            pong.map_err(|_| Error::unavailable("no answer to a ping"))??;
            tokio::select! {
                () = sleep(PING) => {}
                () = seen.closed() => return Ok(()),
            }
        }
    }
    .await;
    driver.abort();
    outcome
}

fn parse(payload: &str) -> Option<Seen> {
    let (tenant, user) = payload.split_once('/')?;
    let tenant = TenantId::parse(tenant).ok()?;
    if let Some(object) = user.strip_prefix(AVAILABILITY) {
        return ManagedObjectId::parse(object).ok().map(|object| Seen::AvailabilityChanged(tenant, object));
    }
    Some(match user {
        "" => Seen::TenantChanged(tenant),
        OPTIONS => Seen::OptionsChanged(tenant),
        NAMES => Seen::NamesChanged(tenant),
        MODULES => Seen::ModulesChanged(tenant),
        APPLICATIONS => Seen::ApplicationsChanged,
        user => Seen::UserChanged { tenant, user: user.to_owned() },
    })
}
