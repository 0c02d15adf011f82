//! The bulk creation of registration requests in PostgreSQL: many CSV rows in one transaction (N-11).

use std::collections::HashSet;

use deadpool_postgres::{Pool, Transaction};
use platform_model::devices::bulk_registration::NewRequest;
use platform_model::devices::reference::LinkKind;
use platform_model::error::Result;
use platform_model::id::{IdGenerator, TenantId};

use crate::Database;
use crate::devices::bulk::group_paths::{self, FoundGroups};
use crate::devices::bulk::registration::{Batch, Memory, Registered, Registrar, refusal_of_tenant};
use crate::devices::inventory::links;
use crate::devices::new_requests;
use crate::devices::users;
use crate::statistics::Counted;

/// Creates registration requests, and publishes CREATE of every new group. One transaction, which takes the lock of
/// link changes when a row names groups.
///
/// # Errors
/// `Duplicate` when one of them is created concurrently, and nothing is stored then; `Unavailable` or `Database`.
pub async fn register_requests(
    database: &Database,
    pool: &Pool,
    tenant: &TenantId,
    registrar: &Registrar,
    ids: &IdGenerator,
    rows: &[NewRequest],
    memory: &mut Memory,
) -> Result<Batch> {
    database.ensure_stored_quota(tenant)?;
    let known = &*memory;
    let attempt = async || {
        let mut client = pool.get().await?;
        let transaction = client.transaction().await?;
        let done = register(&transaction, tenant, registrar, ids, rows, known).await?;
        let publications = done.0.publications(&registrar.cause);
        database.commit_published(transaction, tenant, done, publications).await
    };
    let (batch, found) = database.until_uncontended(attempt).await?;
    database.statistics.add(tenant, Counted::InventoryCreated, batch.created.len() as u64);
    memory.paths.learn(tenant, found);
    Ok(batch)
}

async fn register(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    registrar: &Registrar,
    ids: &IdGenerator,
    rows: &[NewRequest],
    memory: &Memory,
) -> Result<(Batch, FoundGroups)> {
    if rows.iter().any(|row| !row.path.is_empty()) {
        links::lock(transaction, tenant).await?;
    }
    if let Some(reason) = refusal_of_tenant(transaction, tenant).await? {
        let rows = vec![Registered::Failed(reason); rows.len()];
        return Ok((Batch { rows, ..Batch::default() }, FoundGroups::new()));
    }
    let wanted: Vec<_> = rows.iter().map(|row| &row.id).collect();
    let taken = new_requests::list_taken(transaction, &wanted).await?;
    let names: Vec<String> = rows.iter().map(|row| row.id.user_name()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let others = users::list_others(transaction, tenant, &names).await?;
    let mut seen = HashSet::new();
    let outcome = |row: &NewRequest| {
        if taken.contains(row.id.as_str()) || !seen.insert(row.id.clone()) {
            Registered::Failed("Duplicate ID: there is a registration request for it".into())
        } else {
            match others.get(&row.id.user_name()) {
                Some(user) => Registered::Failed(users::refusal(user)),
                None => Registered::Created,
            }
        }
    };
    let outcomes: Vec<Registered> = rows.iter().map(outcome).collect();
    let new = || rows.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Registered::Created);
    let paths = new().map(|(row, _)| &*row.path);
    let groups =
        group_paths::find_or_create(transaction, tenant, registrar, ids, paths, &memory.paths).await?;
    links::insert_links(transaction, tenant, LinkKind::ChildAssets, &groups.links).await?;
    let devices: Vec<_> = new().map(|(row, _)| (&row.id, groups.at(&row.path))).collect();
    new_requests::insert_all(transaction, tenant, &registrar.user, &devices).await?;
    let found = groups.found();
    let changed_groups = groups.links.iter().map(|(group, _)| *group).collect();
    Ok((Batch { rows: outcomes, created: groups.created, changed_groups }, found))
}
