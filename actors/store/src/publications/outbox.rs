//! Publications that no transaction of a writer carries: TRANSIENT writes, rows of modules, and what is published after
//! its commit. They are sent in the order of the calls. While this server is alone, they are delivered at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::publication::Publication;
use tokio::sync::{mpsc, oneshot};

use super::{Checked, NOTIFY, Publications, TransactionPublications};
use crate::Database;

/// The most publications that are sent at once.
const AT_ONCE: usize = 1000;

/// A publication that waits to be sent.
pub(super) struct Outgoing {
    tenant: TenantId,
    publication: Publication,
    /// Resolves when it is sent.
    sent: Option<oneshot::Sender<Result<()>>>,
}

impl Publications {
    /// Publishes something that no transaction carries, after everything that was published so before it. Returns it
    /// if the caller has to deliver it, because there is no other server.
    pub fn publish(&self, tenant: &TenantId, publication: Publication) -> Option<Publication> {
        if self.needs_no_outbox() {
            return Some(publication);
        }
        self.enqueue(tenant, publication, None);
        None
    }

    /// Does the same as [`publish`](Self::publish), and returns when it is sent.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: the other servers do not receive it.
    pub async fn publish_and_wait(&self, tenant: &TenantId, publication: Publication) -> Result<()> {
        if self.needs_no_outbox() {
            self.deliver_here(tenant, vec![publication]);
            return Ok(());
        }
        let (sender, sent) = oneshot::channel();
        self.enqueue(tenant, publication, Some(sender));
        sent.await.unwrap_or_else(|_| Err(Error::unavailable("the server is stopping")))
    }

    /// Returns whether a publication may be delivered at once: there are no other servers, and none waits before it.
    fn needs_no_outbox(&self) -> bool {
        self.is_alone() && self.in_outbox.load(Ordering::Acquire) == 0
    }

    fn enqueue(
        &self,
        tenant: &TenantId,
        publication: Publication,
        sent: Option<oneshot::Sender<Result<()>>>,
    ) {
        let outgoing = Outgoing { tenant: tenant.clone(), publication, sent };
        match self.outbox.get() {
            Some(outbox) => {
                self.in_outbox.fetch_add(1, Ordering::AcqRel);
                // The task ends only with the process.
                drop(outbox.send(outgoing));
            }
            None => self.deliver_here(tenant, vec![outgoing.publication]),
        }
    }
}

/// Sends what is in the outbox until the server ends.
pub(super) async fn run(database: Database, mut outbox: mpsc::UnboundedReceiver<Outgoing>) {
    let mut batch = Vec::new();
    while outbox.recv_many(&mut batch, AT_ONCE).await > 0 {
        let count = batch.len();
        let (outgoing, senders): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|outgoing| ((outgoing.tenant, outgoing.publication), outgoing.sent)).unzip();
        let mut by_tenant: Vec<(TenantId, Vec<Publication>)> = Vec::new();
        for (tenant, publication) in outgoing {
            match by_tenant.iter_mut().find(|(known, _)| *known == tenant) {
                Some((_, publications)) => publications.push(publication),
                None => by_tenant.push((tenant, vec![publication])),
            }
        }
        let outcome = send(&database, &by_tenant).await;
        if let Err(error) = &outcome {
            tracing::error!(%error, "publications could not be sent to other servers; sessions of the tenants end");
            by_tenant.iter().for_each(|(tenant, _)| database.publications.end_sessions(tenant));
        }
        database.publications.in_outbox.fetch_sub(count, Ordering::AcqRel);
        for sender in senders.into_iter().flatten() {
            drop(sender.send(outcome.clone()));
        }
    }
}

/// Sends publications to all servers, or delivers those of tenants that no other server takes part in.
async fn send(database: &Database, by_tenant: &[(TenantId, Vec<Publication>)]) -> Result<()> {
    let publications: &Arc<Publications> = &database.publications;
    loop {
        let mut client = database.loader().await?;
        let transaction = client.build_transaction().start().await?;
        transaction.batch_execute("SET LOCAL synchronous_commit = off").await?;
        let tenants = by_tenant.iter().map(|(tenant, _)| tenant).collect();
        let mut carried = TransactionPublications::begin(publications, tenants);
        if let Checked::HasToJoin(tenant) = carried.check(&transaction).await? {
            drop(transaction);
            drop(client);
            database.join_as_writer(&tenant).await?;
            continue;
        }
        let sent: Vec<_> = by_tenant
            .iter()
            .filter(|(tenant, _)| carried.sends(tenant))
            .map(|(tenant, publications)| (tenant, publications.clone()))
            .collect();
        let notify = transaction.prepare_cached(NOTIFY).await?;
        carried.send(&transaction, &notify, &sent).await?;
        transaction.commit().await?;
        for (tenant, kept) in by_tenant.iter().filter(|(tenant, _)| !carried.sends(tenant)) {
            publications.deliver_here(tenant, kept.clone());
        }
        return Ok(());
    }
}
