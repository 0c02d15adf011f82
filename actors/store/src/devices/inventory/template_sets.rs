//! Template sets of the CSV protocol in PostgreSQL: managed objects with a fragment and an external id (S-15).

use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::naming::naming;

use crate::Database;

const FIND: &str = include_str!("../../../../../sql/queries/template_sets/find.sql");

/// The version of a template set, which differs after each change of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The managed object that holds the set.
    pub object: ManagedObjectId,
    transaction: String,
}

/// A template set as it is stored.
#[derive(Debug)]
pub struct StoredTemplateSet {
    /// The version of the set.
    pub revision: Revision,
    /// The fragment as JSON; `None` when the caller knows this version already.
    pub fragment: Option<String>,
}

/// The fragment that makes a managed object a template set.
pub fn fragment() -> String {
    naming().model("smartrest_SmartRestTemplate")
}

/// The type of the external ids that are X-Ids.
pub fn x_id_type() -> String {
    naming().fragment("SmartRestDeviceIdentifier")
}

/// Looks up the set with this X-Id, or else the one whose object has it as its id (S-12). One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_template_set(
    database: &Database,
    tenant: &TenantId,
    x_id: &str,
    known: Option<&Revision>,
) -> Result<Option<StoredTemplateSet>> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(FIND).await?;
    let by_id = ManagedObjectId::parse(x_id).ok().map(|id| id.0);
    let (object, transaction) = known.map(|known| (known.object.0, &*known.transaction)).unzip();
    let row = client
        .query_opt(
            &statement,
            &[&tenant.as_str(), &x_id, &x_id_type(), &fragment(), &by_id, &object, &transaction],
        )
        .await?;
    Ok(row.map(|row| {
        let revision = Revision { object: ManagedObjectId(row.get(0)), transaction: row.get(1) };
        StoredTemplateSet { revision, fragment: row.get(2) }
    }))
}
