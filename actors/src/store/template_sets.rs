//! Template sets of the CSV protocol in PostgreSQL: managed objects with a fragment and an external id (S-15).

use serde_json::Value;

use super::Database;
use crate::error::Result;
use crate::model::id::{ManagedObjectId, TenantId};
use crate::naming::naming;

const FIND: &str = include_str!("../../../sql/queries/template_sets/find.sql");

/// A template set as it is stored.
#[derive(Debug)]
pub struct StoredTemplateSet {
    /// The managed object that holds it.
    pub object: ManagedObjectId,
    /// Its fragment.
    pub fragment: Value,
}

/// The fragment that makes a managed object a template set.
pub fn fragment() -> String {
    naming().model("smartrest_SmartRestTemplate")
}

/// The type of external ids that are X-Ids.
pub fn x_id_type() -> String {
    naming().fragment("SmartRestDeviceIdentifier")
}

/// The set that is called so, else the one whose object has this id (S-12).
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_template_set(
    database: &Database,
    tenant: &TenantId,
    x_id: &str,
) -> Result<Option<StoredTemplateSet>> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(FIND).await?;
    let object = ManagedObjectId::parse(x_id).ok().map(|id| id.0);
    let row =
        client.query_opt(&statement, &[&tenant.as_str(), &x_id, &x_id_type(), &fragment(), &object]).await?;
    Ok(row.map(|row| StoredTemplateSet { object: ManagedObjectId(row.get(0)), fragment: row.get(1) }))
}
