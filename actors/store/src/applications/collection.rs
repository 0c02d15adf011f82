//! Lists of applications, by ascending id (P-06). The applications that a tenant sees are the union of parts that each
//! have an index, so the cost of a page does not grow with the number of private applications of other tenants.

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::limits::EXACT_COUNT;
use platform_model::page::{Count, Page, PageRequest, Position, TotalPages};
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::applications::{SeenApplication, seen_from_row};
use crate::query::filter::page_of;
use crate::query::prepared::PreparedQueries;

const IDS_VISIBLE: &str = include_str!("../../../../sql/queries/applications/ids_visible.sql");
const IDS_BY_NAME: &str = include_str!("../../../../sql/queries/applications/ids_by_name.sql");
const IDS_BY_OWNER: &str = include_str!("../../../../sql/queries/applications/ids_by_owner.sql");
const IDS_BY_SUBSCRIBER: &str = include_str!("../../../../sql/queries/applications/ids_by_subscriber.sql");

/// The columns of `see.sql`.
const COLUMNS: &str = "a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, \
    a.resources_username, a.external_url, a.required_roles, a.roles, a.manifest, a.active_version, a.route, \
    CASE WHEN a.tenant = $1 THEN a.sealed_key END";

/// The applications to list.
#[derive(Debug, Clone)]
pub enum ApplicationFilter {
    /// The applications that the requesting tenant sees.
    Visible,
    /// The visible applications with this name.
    Named(String),
    /// The visible applications that this tenant owns.
    OwnedBy(TenantId),
    /// The applications this tenant subscribes to, whether or not the requesting tenant sees them.
    SubscribedBy(TenantId),
}

impl ApplicationFilter {
    /// Returns the statement that selects ids, and its fourth parameter.
    fn parts(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Visible => (IDS_VISIBLE, None),
            Self::Named(name) => (IDS_BY_NAME, Some(name)),
            Self::OwnedBy(tenant) => (IDS_BY_OWNER, Some(tenant.as_str())),
            Self::SubscribedBy(tenant) => (IDS_BY_SUBSCRIBER, Some(tenant.as_str())),
        }
    }
}

/// Returns a page of applications as a tenant sees them.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_applications(
    database: &Database,
    tenant: &TenantId,
    filter: &ApplicationFilter,
    page: &PageRequest,
) -> Result<Page<SeenApplication>> {
    let client = database.reader().await?;
    let count = match page.total {
        TotalPages::Counted => Count::Of(count(&client, tenant, filter).await?),
        TotalPages::Omitted => Count::Omitted,
    };
    let (ids, subject) = filter.parts();
    let (after, offset) = match page.position() {
        Some(position) => (position.id, 0),
        None => (0, page.offset()),
    };
    let limit = i64::from(page.size) + 1;
    let most = offset.saturating_add(limit);
    let tenant = tenant.as_str();
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &after, &most];
    parameters.extend(subject.iter().map(|subject| subject as &(dyn ToSql + Sync)));
    parameters.extend([&limit as &(dyn ToSql + Sync), &offset]);
    let last = parameters.len();
    let statement = format!(
        "SELECT {COLUMNS} FROM applications a WHERE a.id = ANY(ARRAY( \
            SELECT seen.id FROM ({ids}) seen (id) ORDER BY seen.id LIMIT ${} OFFSET ${last} \
         )) ORDER BY a.id",
        last - 1
    );
    let rows = client.rows(&statement, &parameters).await?;
    let applications = rows.iter().map(seen_from_row).collect::<Result<Vec<_>>>()?;
    let page = page_of(applications, page, |seen| Position::of_id(seen.application.id.0));
    Ok(Page { count, ..page })
}

/// Returns the number of applications, exact up to a million of each part (P-03).
async fn count(
    client: &deadpool_postgres::Object,
    tenant: &TenantId,
    filter: &ApplicationFilter,
) -> Result<i64> {
    let (ids, subject) = filter.parts();
    let (tenant, most) = (tenant.as_str(), EXACT_COUNT + 1);
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &0_i64, &most];
    parameters.extend(subject.iter().map(|subject| subject as &(dyn ToSql + Sync)));
    let statement = client.prepare_cached(&format!("SELECT count(*) FROM ({ids}) matching")).await?;
    Ok(client.query_one(&statement, &parameters).await?.get(0))
}
