//! Reading event-processing modules from PostgreSQL. Their changes are in
//! [`changes`], their leases in [`holders`].

pub mod changes;
pub mod holders;
pub mod session;

use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ModuleId, TenantId};
use platform_model::page::{Page, PageRequest, Position};
use platform_model::realtime::module::{Module, ModuleStatus};
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use crate::Database;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;

const GET: &str = include_str!("../../../../../sql/queries/modules/get.sql");
const GET_TEXT: &str = include_str!("../../../../../sql/queries/modules/get_text.sql");
const IS_DEPLOYED: &str = include_str!("../../../../../sql/queries/modules/is_deployed.sql");

/// The columns of a module, in the order [`from_row`] reads them: those of `get.sql`.
const COLUMNS: &str = "m.id, m.name, m.deployed, m.last_modified, m.switched_off, m.warnings";

/// Returns a page of the modules of a tenant, by id.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_modules(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<Module>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("modules m", "m.tenant", tenant.as_str());
    let count = filtered.total(&client, page.total).await?;
    let rows = client.rows(&filtered.page(COLUMNS, Order::Id("m.id"), page), &filtered.parameters()).await?;
    let modules = rows.iter().map(from_row).collect();
    Ok(Page { count, ..page_of(modules, page, |module: &Module| Position::of_id(module.id.0)) })
}

/// Returns a module.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_module(database: &Database, tenant: &TenantId, id: ModuleId) -> Result<Module> {
    let client = database.reader().await?;
    let row = client.query_opt(GET, &[&tenant.as_str(), &id.0]).await?;
    Ok(from_row(&row.ok_or_else(|| Error::not_found(Noun::Module, id))?))
}

/// Returns the text of a module as it was uploaded, byte for byte.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_module_text(database: &Database, tenant: &TenantId, id: ModuleId) -> Result<Vec<u8>> {
    let client = database.reader().await?;
    let row = client.query_opt(GET_TEXT, &[&tenant.as_str(), &id.0]).await?;
    Ok(row.ok_or_else(|| Error::not_found(Noun::Module, id))?.get(0))
}

/// Returns how many modules a tenant has. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn count_modules(database: &Database, tenant: &TenantId) -> Result<i64> {
    let client = database.reader().await?;
    Ok(client.row("SELECT count(*) FROM modules WHERE tenant = $1", &[&tenant.as_str()]).await?.get(0))
}

/// Returns whether a module of this name is deployed, on whichever server it runs.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn is_deployed(database: &Database, tenant: &TenantId, name: &str) -> Result<bool> {
    // PostgreSQL cannot store NUL, so there is no such name.
    if name.contains('\0') {
        return Ok(false);
    }
    Ok(database.reader().await?.find(IS_DEPLOYED, &[&tenant.as_str(), &name]).await?.is_some())
}

/// Reads [`COLUMNS`].
pub(crate) fn from_row(row: &Row) -> Module {
    Module {
        id: ModuleId(row.get(0)),
        name: row.get(1),
        status: if row.get(2) { ModuleStatus::Deployed } else { ModuleStatus::NotDeployed },
        last_modified: Timestamp::stored(row.get(3), 0),
        switched_off: row.get::<_, Json<_>>(4).0,
        warnings: row.get(5),
    }
}
