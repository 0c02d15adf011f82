//! Publications that no transaction stores: TRANSIENT writes, rows of modules, and the UPDATE of the groups of a bulk
//! registration, which is read after the last of its transactions. They are sent in the order of the calls. While
//! this server is alone, the caller delivers them at once.

use std::sync::atomic::Ordering;

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;
use tokio::sync::{mpsc, oneshot};

use super::{Checked, NOTIFY, Publications, TransactionPublications, add};
use crate::Database;
use crate::realtime::panics::caught;

/// The most publications that are sent at once.
const AT_ONCE: usize = 1000;

/// An entry of the outbox.
pub(super) enum Outgoing {
    Publication(TenantId, Publication),
    /// Requests a notification whether everything before this entry was sent.
    Flush(oneshot::Sender<Result<()>>),
}

impl Publications {
    /// Publishes something that no transaction carries, after all earlier publications of this kind. Returns it if
    /// the caller has to deliver it, because this server is alone.
    pub fn publish(&self, tenant: &TenantId, publication: Publication) -> Option<Publication> {
        match self.outbox_if_needed() {
            Some(outbox) => {
                self.in_outbox.fetch_add(1, Ordering::AcqRel);
                // The task that receives it ends only with the process.
                drop(outbox.send(Outgoing::Publication(tenant.clone(), publication)));
                None
            }
            None => Some(publication),
        }
    }

    /// Waits until all earlier publications are sent. It is called before the response to a write that is not stored.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: other servers may not have received the last publications.
    pub async fn flush(&self) -> Result<()> {
        let Some(outbox) = self.outbox_if_needed() else { return Ok(()) };
        let (sender, sent) = oneshot::channel();
        self.in_outbox.fetch_add(1, Ordering::AcqRel);
        drop(outbox.send(Outgoing::Flush(sender)));
        sent.await.unwrap_or_else(|_| Err(Error::unavailable("the server is stopping")))
    }

    /// Returns the outbox if other servers exist, or if earlier publications still wait in it.
    fn outbox_if_needed(&self) -> Option<&mpsc::UnboundedSender<Outgoing>> {
        self.outbox.get().filter(|_| !self.is_alone() || self.in_outbox.load(Ordering::Acquire) > 0)
    }
}

/// Sends the content of the outbox until the server ends.
pub(super) async fn run(database: Database, mut outbox: mpsc::UnboundedReceiver<Outgoing>) {
    let (mut batch, mut outcome) = (Vec::new(), Ok(()));
    while outbox.recv_many(&mut batch, AT_ONCE).await > 0 {
        let (count, mut flushes) = (batch.len(), Vec::new());
        let mut by_tenant: Vec<(TenantId, Vec<Publication>)> = Vec::new();
        for outgoing in batch.drain(..) {
            match outgoing {
                Outgoing::Flush(sender) => flushes.push(sender),
                Outgoing::Publication(tenant, publication) => {
                    add(&mut by_tenant, tenant, vec![publication]);
                }
            }
        }
        if !by_tenant.is_empty() {
            outcome = Box::pin(caught(send(&database, &by_tenant))).await;
        }
        if let Err(error) = &outcome {
            tracing::error!(%error, "publications could not be sent to other servers; sessions of the tenants end");
            by_tenant.iter().for_each(|(tenant, _)| database.publications.end_sessions(tenant));
        }
        database.publications.in_outbox.fetch_sub(count, Ordering::AcqRel);
        flushes.into_iter().for_each(|flush| drop(flush.send(outcome.clone())));
    }
}

/// Sends publications to all servers, or delivers those of tenants that no other server has joined.
async fn send(database: &Database, by_tenant: &[(TenantId, Vec<Publication>)]) -> Result<()> {
    loop {
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL synchronous_commit = off").await?;
        let tenants = by_tenant.iter().map(|(tenant, _)| tenant).collect();
        let mut carried = TransactionPublications::begin(&database.publications, tenants);
        if let Checked::HasToSwitch(tenant) = carried.check(&transaction).await? {
            drop((transaction, carried));
            drop(client);
            database.switch_order(&tenant).await?;
            continue;
        }
        let sent: Vec<_> = by_tenant
            .iter()
            .filter(|(tenant, _)| carried.sends(tenant))
            .map(|(tenant, publications)| (tenant, publications.clone()))
            .collect();
        let notify = transaction.prepare_cached(NOTIFY).await?;
        let bytes = carried.send(&transaction, &notify, &sent).await?;
        transaction.commit().await?;
        for ((tenant, _), bytes) in sent.iter().zip(bytes) {
            database.tenant_limits().of(tenant).transient_bytes().charge(bytes as u64);
        }
        for (tenant, kept) in by_tenant.iter().filter(|(tenant, _)| !carried.sends(tenant)) {
            database.publications.deliver_here(tenant, kept.clone(), None);
        }
        return Ok(());
    }
}
