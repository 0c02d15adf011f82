//! The secrets of a tenant, which are sealed for places that name the tenant and its applications.

use std::collections::HashMap;

use platform_model::error::Result;
use platform_model::id::TenantId;
use tokio_postgres::Transaction;

use super::Secrets;
use crate::schema::sealed_texts::{SealedKind, SealedText, list_of_tenant, store};

/// Seals the secrets of an imported tenant for their new places. One that cannot be opened stays as it is, as useless
/// as at the source. Returns the number of those.
pub(super) async fn seal_again(
    transaction: &Transaction<'_>,
    (source, tenant): (&str, &TenantId),
    ids: &HashMap<i64, i64>,
    secrets: &Secrets<'_>,
) -> Result<usize> {
    let at_source = |name: &str| {
        let id = ids.iter().find(|(_, here)| here.to_string() == name).map(|(there, _)| there.to_string());
        id.unwrap_or_else(|| name.to_owned())
    };
    let mut closed = 0;
    for here in list_of_tenant(transaction, tenant).await? {
        let mut there = SealedText { tenant: source.to_owned(), ..here.clone() };
        if here.kind == SealedKind::ApplicationUser {
            there.name = at_source(&here.name);
        }
        match (secrets.seal)(&there, &here) {
            Some(replacement) => store(transaction, &here, &replacement).await?,
            None => closed += 1,
        }
    }
    Ok(closed)
}
