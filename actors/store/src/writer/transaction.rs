//! The transaction of a batch: one statement per kind of write, over arrays, all sent in one round trip.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use deadpool_postgres::Object;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, maybe_done};
use platform_model::devices::reference::WantedReferences;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;

use super::counting::count;
use super::kinds::{Batch, ChangeOutcome, Statements};
use super::{Committed, Write, Written};
use crate::Database;
use crate::devices::inventory::links::fill_references;
use crate::idempotency_keys::{self, Keyed};
use crate::leases::module_leases;
use crate::realtime::journal;
use crate::realtime::publications::{self, Checked, TransactionPublications, add};

/// The outcome of a transaction.
pub(super) enum Outcome {
    /// One result per change, in order.
    Committed(Vec<Committed>),
    /// Nothing is written, because this server first has to change how it publishes a tenant.
    HasToSwitch(TenantId),
}

/// Runs the batch as one transaction. If no other server has joined its tenants, it is one round trip: everything is
/// sent before the first response is awaited. Otherwise, and if a tenant has a journal or a request a key, the
/// publications are appended and sent, the keys are stored and the transaction is committed in further round trips.
pub(super) async fn transaction(client: &Object, database: &Database, writes: &[Write]) -> Result<Outcome> {
    let tenants: BTreeSet<_> = writes.iter().filter_map(Write::published_tenant).collect();
    let mut carried = TransactionPublications::begin(&database.publications, tenants.into_iter().collect());
    let has_keys = writes.iter().any(|write| write.conditions.key.is_some());
    if !has_keys && !carried.have_to_be_checked() {
        match Box::pin(run(client, &carried, writes, End::IfUnshared)).await {
            Ok(outcomes) => return Ok(Outcome::Committed(committed(database, carried, writes, outcomes))),
            Err(error) if TransactionPublications::is_refused(&error) => {}
            Err(error) => return Err(error),
        }
    }
    carried.ask();
    let outcome = Box::pin(checked_transaction(client, &mut carried, writes)).await;
    match outcome {
        Ok(Ending::Committed(outcomes)) => {
            Ok(Outcome::Committed(committed(database, carried, writes, outcomes)))
        }
        Ok(Ending::HasToSwitch(tenant)) => {
            client.batch_execute("ROLLBACK").await?;
            Ok(Outcome::HasToSwitch(tenant))
        }
        Err(error) => {
            client.batch_execute("ROLLBACK").await?;
            Err(error)
        }
    }
}

/// The outcome of a transaction that checks how its publications are delivered.
enum Ending {
    Committed(Vec<ChangeOutcome>),
    /// The transaction is still open; this server first has to change how it publishes the tenant.
    HasToSwitch(TenantId),
}

/// Runs a batch whose publications the database sends, that appends them to journals, or whose requests have keys.
async fn checked_transaction(
    client: &Object,
    carried: &mut TransactionPublications,
    writes: &[Write],
) -> Result<Ending> {
    let notify = client.prepare_cached(publications::NOTIFY).await?;
    let append = client.prepare_cached(journal::APPEND).await?;
    client.prepare_cached(idempotency_keys::INSERT).await?;
    let mut outcomes = Box::pin(run(client, carried, writes, End::Open)).await?;
    if let Checked::HasToSwitch(tenant) = carried.check(client).await? {
        return Ok(Ending::HasToSwitch(tenant));
    }
    let keyed = keyed(writes, &mut outcomes);
    let mut by_tenant: Vec<(&TenantId, Vec<Publication>)> = Vec::new();
    for (write, ChangeOutcome { written, .. }) in writes.iter().zip(&mut outcomes) {
        let tenant = write.change.tenant();
        if !carried.carries(tenant) {
            continue;
        }
        if let Written::ManagedObject(object) = written {
            let (objects, wanted) = (std::slice::from_mut(&mut **object), WantedReferences::default());
            fill_references(client, tenant, objects, wanted).await?;
        }
        if let Some(describe) = &write.describe {
            add(&mut by_tenant, tenant, describe(written));
        }
    }
    let (stored, appended, sent, ended) = tokio::join!(
        biased;
        idempotency_keys::insert(client, &keyed),
        carried.append(client, &append, &by_tenant),
        carried.send(client, &notify, &by_tenant),
        client.batch_execute("COMMIT"),
    );
    stored?;
    appended?;
    sent?;
    ended?;
    Ok(Ending::Committed(outcomes))
}

/// Takes the responses of the writes whose requests have keys.
fn keyed<'a>(writes: &'a [Write], outcomes: &mut [ChangeOutcome]) -> Vec<Keyed<'a>> {
    let keyed = writes.iter().zip(outcomes).filter_map(|(write, outcome)| {
        let (key, response) = (write.conditions.key.as_deref()?, outcome.response.take()?);
        Some(Keyed { tenant: write.change.tenant(), key, response })
    });
    keyed.collect()
}

/// Counts what was committed, and returns it with the deliverers of its publications.
fn committed(
    database: &Database,
    carried: TransactionPublications,
    writes: &[Write],
    outcomes: Vec<ChangeOutcome>,
) -> Vec<Committed> {
    let counted = writes.iter().zip(&outcomes);
    count(
        &database.statistics,
        counted.filter_map(|(write, outcome)| Some((write.change.tenant(), outcome.counted?))),
    );
    let routes = carried.routes(writes.iter().map(|write| write.published_tenant().cloned()));
    let committed = |(outcome, route): (ChangeOutcome, _)| Committed { written: outcome.written, route };
    outcomes.into_iter().zip(routes).map(committed).collect()
}

/// The end of the statements of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// They are committed if no other server has joined the tenants.
    IfUnshared,
    /// The transaction stays open.
    Open,
}

/// Runs the statements of a batch, all sent before the first response is awaited. A failed transaction is rolled back.
async fn run(
    client: &Object,
    carried: &TransactionPublications,
    writes: &[Write],
    end: End,
) -> Result<Vec<ChangeOutcome>> {
    let mut batch = Batch::of(writes);
    send(client, carried, &mut batch.parts(), writes.iter().filter_map(Write::required_fence).collect(), end)
        .await?;
    // There is one outcome per change, in the order of the changes.
    let outcome = |write: &Write| batch.outcome(&write.change, write.conditions.key.as_deref());
    Ok(writes.iter().map(outcome).collect())
}

/// Prepares the statements of the parts of a batch, and runs them between BEGIN and COMMIT.
async fn send(
    client: &Object,
    carried: &TransactionPublications,
    parts: &mut [&mut (dyn Statements + '_)],
    fences: BTreeSet<(&TenantId, i64)>,
    end: End,
) -> Result<()> {
    for sql in parts.iter().flat_map(|part| part.all()) {
        client.prepare_cached(sql).await?;
    }
    let hold = module_leases::prepare(client, &fences).await?;
    let assert_unshared = client.prepare_cached(publications::ASSERT_UNSHARED).await?;
    // A single statement is a transaction by itself.
    let statements = usize::from(hold.is_some()) + parts.iter().map(|part| part.count()).sum::<usize>();
    let alone = statements == 1 && carried.asserts_nothing() && end == End::IfUnshared;
    let execute = |word| async move { Ok(client.batch_execute(word).await?) }.boxed_local();
    let mut sent = Vec::with_capacity(parts.len() + 4);
    if !alone {
        sent.push(execute("BEGIN"));
        sent.push(module_leases::hold(client, hold.as_ref(), &fences).boxed_local());
    }
    sent.extend(parts.iter_mut().map(|part| part.run(client, carried.signatures())));
    if !alone && end == End::IfUnshared {
        sent.push(carried.assert_unshared(client, &assert_unshared).boxed_local());
        sent.push(execute("COMMIT"));
    }
    in_order(sent).await
}

/// Runs futures that send something when they are polled for the first time, in their order. Returns the first error
/// in this order, because the errors after it are its consequence. If one fails, COMMIT rolls everything back.
async fn in_order(futures: Vec<LocalBoxFuture<'_, Result<()>>>) -> Result<()> {
    let mut sent: Vec<_> = futures.into_iter().map(maybe_done).collect();
    let send = poll_fn(|context| {
        for future in &mut sent {
            // The result is taken below.
            let _ = future.poll_unpin(context);
        }
        Poll::Ready(())
    });
    send.await;
    let mut outcome = Ok(());
    for mut future in sent {
        (&mut future).await;
        outcome = outcome.and(Pin::new(&mut future).take_output().unwrap_or(Ok(())));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use platform_model::error::Error;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn statements_are_sent_in_order_before_the_first_response_and_the_first_error_counts() {
        let sent = RefCell::new(Vec::new());
        let (responds, response) = oneshot::channel();
        let (sent, fail) = (&sent, |text: &str| Err(Error::unavailable(text.to_owned())));
        let first = async {
            sent.borrow_mut().push("first");
            response.await.expect("a response")
        };
        let failing = |name| async move {
            sent.borrow_mut().push(name);
            fail(name)
        };
        let all = [first.boxed_local(), failing("second").boxed_local(), failing("third").boxed_local()];

        let mut running = Box::pin(in_order(all.into()));

        assert!((&mut running).now_or_never().is_none());
        assert_eq!(*sent.borrow(), ["first", "second", "third"]);
        responds.send(Ok(())).expect("the receiver waits");
        let error = running.await.expect_err("two of them fail");
        assert!(error.to_string().contains("second"), "{error}");
    }
}
