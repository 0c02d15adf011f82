//! The listening connection of a server process: it receives the changes that other processes announce and monitors
//! whether PostgreSQL is reachable.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use platform_model::error::{Error, Result};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client};

use crate::Database;
use crate::connect::Driver;
use crate::realtime::announcements::{CHANNEL, Change};
use crate::realtime::publications::{Assemblies, Assembly, Listening};

/// The pause between two pings, and before the next connection attempt.
const PING: Duration = Duration::from_millis(500);
/// The timeout of a new connection that replaces one that was cut, while requests continue. Changes of other servers
/// are applied late by this time at most.
const REPLACEMENT: Duration = Duration::from_millis(200);

/// Listens until the receiver is dropped. Passes on changes of other processes; this process has applied its own
/// changes at their commit.
pub async fn watch(database: Database, seen: mpsc::UnboundedSender<Change>) {
    tokio::select! {
        () = listen_again_and_again(&database, seen) => {}
        () = database.pauses().tick() => {}
    }
}

async fn listen_again_and_again(database: &Database, seen: mpsc::UnboundedSender<Change>) {
    let mut patience = database.ping;
    while !seen.is_closed() {
        let mut stage = Stage::Connecting;
        let outcome = listen(database, &seen, patience, &mut stage).await;
        if seen.is_closed() {
            return;
        }
        database.publications.lost();
        if stage == Stage::Cut {
            tracing::debug!("the listening connection was cut");
            patience = REPLACEMENT;
            continue;
        }
        patience = database.ping;
        if let Err(error) = outcome {
            tracing::debug!(%error, "database watch ended");
            database.set_unreachable(&error);
        }
        sleep(PING).await;
    }
}

/// The progress of a listening connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Listening,
    /// The connection was cut while PostgreSQL responded.
    Cut,
}

/// Listens over a new connection until it is lost. `patience` is the timeout of its opening.
async fn listen(
    database: &Database,
    seen: &mpsc::UnboundedSender<Change>,
    patience: Duration,
    stage: &mut Stage,
) -> Result<()> {
    let connecting = timeout(patience, database.connector.connect()).await;
    let (client, connection) = connecting.map_err(|_| Error::unavailable("connecting took too long"))??;
    let driver = tokio::spawn(receive(database.clone(), connection, seen.clone()));
    let client = Arc::new(client);
    let outcome = async {
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        if let Some(listen) = database.session_moves.listen() {
            client.batch_execute(&listen).await?;
        }
        database.connector.note_primary(name_of(&client).await?);
        // Ids can be generated again before requests come back.
        renew_membership(database, &client).await?;
        // Sources are remembered as long as the database is reachable, and changes may have been missed until now.
        database.any_names_changed();
        database.set_reachable();
        if seen.send(Change::Anything).is_err() {
            return Ok(());
        }
        let beginning =
            timeout(database.ping, Listening::begin(&database.publications, client.clone())).await;
        let mut listening = beginning.map_err(|_| Error::unavailable("no response to a ping"))??;
        *stage = Stage::Listening;
        loop {
            ping_in_time(database, &client, &mut listening).await?;
            tokio::select! {
                () = sleep(PING) => {}
                () = seen.closed() => return Ok(()),
            }
        }
    }
    .await;
    if *stage == Stage::Listening && client.is_closed() {
        *stage = Stage::Cut;
    }
    driver.abort();
    outcome
}

/// Passes on what arrives over the listening connection, if a server of the deployment sent it.
async fn receive(database: Database, mut connection: Driver, seen: mpsc::UnboundedSender<Change>) {
    let (mut assemblies, mut messages) = (Assemblies::default(), Assembly::default());
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        let AsyncMessage::Notification(notification) = message else { continue };
        let (channel, pid) = (notification.channel(), notification.process_id());
        if let Some(payload) = database.signatures.verify(channel, notification.payload(), pid)
            && !database.publications.receive(&mut assemblies, channel, payload)
            && !database.session_moves.receive(&mut messages, channel, payload)
            && let Some(change) = database.bus.read(payload)
            && seen.send(change).is_err()
        {
            return;
        }
    }
}

/// Returns a name for the running PostgreSQL; a restarted or another one has another name.
async fn name_of(client: &Client) -> Result<String> {
    let statement =
        "SELECT concat_ws(' ', inet_server_addr(), inet_server_port(), pg_postmaster_start_time())";
    Ok(client.query_one(statement, &[]).await?.get(0))
}

/// Waits for a timely response of PostgreSQL. After a pause of this process a new ping decides, because the response to
/// the last one may have arrived meanwhile.
async fn ping_in_time(database: &Database, client: &Client, listening: &mut Listening) -> Result<()> {
    loop {
        let pauses = database.pauses().note();
        match timeout(database.ping, ping(database, client, listening)).await {
            Ok(pong) => return pong.map(drop),
            Err(_) if database.pauses().note() != pauses => {}
            Err(_) => return Err(Error::unavailable("no response to a ping")),
        }
    }
}

/// Waits for a response of PostgreSQL. Once a second the request is the renewal of this server's lease.
async fn ping(database: &Database, client: &Client, listening: &mut Listening) -> Result<()> {
    renew_membership(database, client).await?;
    database.signatures.keep_agreed(client, database.publications.is_alone()).await?;
    listening.check(&database.publications).await
}

/// Renews the lease of this server if it is time, and returns whether PostgreSQL responded. A refusal is a response: a
/// database that accepts reads only serves reads.
async fn renew_membership(database: &Database, client: &Client) -> Result<bool> {
    match database.membership().renew(client, database.most_connections()).await {
        Err(error) if client.is_closed() => Err(error),
        Err(error) => {
            tracing::debug!(%error, "the lease of this server cannot be renewed now");
            Ok(false)
        }
        renewed => renewed,
    }
}
