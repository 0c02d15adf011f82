//! Waiting until the servers of a deployment have applied the changes of a command.
//!
//! The command announces its changes, then asks on the same channel whether they are applied. PostgreSQL delivers both
//! in this order, so a server that has processed the question has applied the changes. It reports that on a channel of
//! the command.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::AsyncMessage;

use super::{CHANNEL, Change, NOTIFY, announce};
use crate::Database;
use crate::connect::Driver;
use crate::realtime::signatures::Signatures;

const LIST_CONNECTED: &str = include_str!("../../../../../sql/queries/servers/list_connected.sql");

/// The longest wait for the servers.
const LONGEST: Duration = Duration::from_secs(5);
/// The time after which a server is asked again: it may have connected to the database again meanwhile.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// The number of characters by which a process is known.
const ORIGIN: usize = 16;

impl Database {
    /// Waits until every living server has applied the changes that this process announced. Returns the slots and names
    /// of those that have not within five seconds.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn wait_until_applied(&self) -> Result<Vec<(i16, String)>> {
        let mut missing = self.list_connected().await?;
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let (client, connection) = self.connector.connect().await?;
        let (sender, mut reports) = mpsc::unbounded_channel();
        let driver = tokio::spawn(pass_on(connection, self.signatures.clone(), sender));
        let origin = self.bus.origin();
        client.batch_execute(&format!("LISTEN \"{}\"", channel(&origin))).await?;
        let nobody = TenantId::parse("management")?;
        let question = Change::IsApplied(nobody, origin.into());
        let deadline = Instant::now() + LONGEST;
        while !missing.is_empty() && Instant::now() < deadline {
            announce(&*self.loader().await?, &self.signatures, &question).await?;
            let asked_at = Instant::now();
            while !missing.is_empty()
                && let Ok(report) = timeout_at(asked_at + ASK_AGAIN, reports.recv()).await
            {
                let report = report.ok_or_else(|| Error::unavailable("the connection was lost"))?;
                report.parse::<i64>().into_iter().for_each(|server| drop(missing.remove(&server)));
            }
        }
        driver.abort();
        if !missing.is_empty() {
            // A server that has ended meanwhile applies nothing any more.
            let connected = self.list_connected().await?;
            missing.retain(|server, _| connected.contains_key(server));
        }
        let mut missing: Vec<_> = missing.into_values().collect();
        missing.sort_unstable();
        Ok(missing)
    }

    /// Returns the living servers that are connected to the database, by their incarnations.
    async fn list_connected(&self) -> Result<HashMap<i64, (i16, String)>> {
        let rows = self.loader().await?.query(LIST_CONNECTED, &[]).await?;
        Ok(rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect())
    }

    /// Reports to a command that this server has applied all changes before its question, and what the operator asks of
    /// this server.
    ///
    /// # Errors
    /// `Unavailable` or `Database`; the command asks again then.
    pub async fn report_applied(&self, asker: &str) -> Result<()> {
        let is_origin = asker.len() == ORIGIN && asker.chars().all(|c| c.is_ascii_hexdigit());
        let Some(server) = self.membership().incarnation().filter(|_| is_origin) else { return Ok(()) };
        let client = self.loader().await?;
        self.membership().read_state(&client).await?;
        let (channel, server) = (channel(asker), server.to_string());
        let report = self.signatures.sign(&channel, &server);
        client.execute(NOTIFY, &[&channel, &[report].as_slice()]).await?;
        Ok(())
    }
}

/// Returns the channel on which servers report to a command.
fn channel(origin: &str) -> String {
    format!("{CHANNEL}_applied_{origin}")
}

/// Passes on the payloads of servers that come over a connection.
async fn pass_on(mut connection: Driver, signatures: Arc<Signatures>, sender: mpsc::UnboundedSender<String>) {
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if let AsyncMessage::Notification(notification) = message
            && let (channel, pid) = (notification.channel(), notification.process_id())
            && let Some(report) = signatures.verify(channel, notification.payload(), pid)
            && sender.send(report.to_owned()).is_err()
        {
            return;
        }
    }
}
