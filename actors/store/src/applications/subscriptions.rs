//! Subscriptions in PostgreSQL (Z-03). The service user of a microservice is created and deleted with the subscription
//! (W-11), in the same transaction. Every server process is notified of each change.

use platform_model::applications::application::{ApplicationType, Availability};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, TenantId};
use platform_model::limits::MAX_PAGE_SIZE;
use platform_model::page::{Page, PageRequest, Position, TotalPages};
use platform_model::tenancy::subscription::{
    ApplicationReference, ApplicationReferences, Offer, ReferredApplication, Subscription,
};
use tokio_postgres::Row;

use crate::Database;
use crate::applications::users::{UserSecret, dismiss, enter_service_user};
use crate::applications::{self, change};
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;

const KEEP_APPLICATION: &str = include_str!("../../../../sql/queries/applications/keep.sql");
const INSERT: &str = include_str!("../../../../sql/queries/subscriptions/insert.sql");
const DELETE: &str = include_str!("../../../../sql/queries/subscriptions/delete.sql");

/// Subscriptions with their applications.
const SUBSCRIBED: &str = "subscriptions s JOIN applications a ON a.id = s.application";
/// The columns of an application that is referred to, in the order [`referred`] reads them.
const COLUMNS: &str = "a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.external_url";

/// Subscribes a tenant to an application; `secret` is the password of the service user, if the application is a
/// microservice. One transaction.
///
/// # Errors
/// `Invalid` for an application that is unknown or not offered to the tenant; `Duplicate` when the tenant subscribes
/// already; `NotFound` when the tenant does not exist; `Conflict` when other users have both names the service user
/// could have.
pub async fn insert_subscription(
    database: &Database,
    tenant: &TenantId,
    application: ApplicationId,
    offer: &Offer,
    secret: &UserSecret,
) -> Result<Subscription> {
    change(database, tenant, async |transaction, announcements| {
        // The lock keeps the required roles unchanged until the service user holds them.
        let row = transaction.query_opt(KEEP_APPLICATION, &[&application.0]).await?;
        let found = row.map(|row| applications::from_row(&row)).transpose()?;
        let application = found
            .filter(|found| offer.includes(&found.owner, found.availability))
            .ok_or_else(|| Subscription::unknown("application", &application.to_string()))?;
        let inserted = transaction.execute(INSERT, &[&tenant.as_str(), &application.id.0]).await;
        match inserted.map_err(Error::from) {
            Err(error) if error.is_unique_violation() => {
                let key = format!("{tenant}/{}", application.id);
                return Err(Error::Duplicate { noun: Noun::Subscription, key });
            }
            Err(error) if error.is_foreign_key_violation() => {
                return Err(Error::not_found(Noun::Tenant, tenant));
            }
            other => other?,
        };
        if application.kind == ApplicationType::Microservice {
            enter_service_user(transaction, announcements, tenant, &application, secret).await?;
        }
        Ok(Subscription { tenant: tenant.clone(), application: ReferredApplication::from(&application) })
    })
    .await
}

/// Ends the subscription of a tenant. Its service user is deleted, and nobody in the tenant keeps a role that only this
/// application defined. One transaction.
///
/// # Errors
/// `NotFound` when the tenant does not subscribe; `Refused` for an application that is not offered.
pub async fn delete_subscription(
    database: &Database,
    tenant: &TenantId,
    application: ApplicationId,
    offer: &Offer,
) -> Result<()> {
    change(database, tenant, async |transaction, announcements| {
        let row = transaction.query_opt(DELETE, &[&tenant.as_str(), &application.0]).await?;
        let row = row.ok_or_else(|| Error::not_found(Noun::Subscription, application))?;
        let (owner, availability) = (TenantId::parse(row.get(0))?, Availability::parse(row.get(1))?);
        if !offer.includes(&owner, availability) {
            return Err(Error::Refused("another tenant made this subscription and must end it"));
        }
        dismiss(transaction, announcements, tenant, application).await
    })
    .await
}

/// Returns a page of the applications a tenant subscribes to, by ascending id (P-06).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_subscriptions(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<ApplicationReference>> {
    let filtered = Filtered::new(SUBSCRIBED, "s.tenant", tenant.as_str());
    read(database, filtered, "s.application", page, Some(tenant)).await
}

/// Returns one application a tenant subscribes to.
///
/// # Errors
/// `NotFound` when the tenant does not subscribe; `Timeout`, `Unavailable` or `Database`.
pub async fn get_subscription(
    database: &Database,
    tenant: &TenantId,
    application: ApplicationId,
) -> Result<ApplicationReference> {
    let mut filtered = Filtered::new(SUBSCRIBED, "s.tenant", tenant.as_str());
    filtered.and("s.application = $", application.0);
    let mut page = read(database, filtered, "s.application", &FIRST, Some(tenant)).await?;
    page.members.pop().ok_or_else(|| Error::not_found(Noun::Subscription, application))
}

/// Returns the first subscriptions of a tenant, which its representation contains (Z-01, Z-02).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn first_subscriptions(database: &Database, tenant: &TenantId) -> Result<ApplicationReferences> {
    Ok(first(list_subscriptions(database, tenant, &FIRST).await?))
}

/// Returns the first applications a tenant owns, which its representation contains; to other tenants only those of the
/// market (Z-01).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn first_owned(
    database: &Database,
    tenant: &TenantId,
    seen_by: &TenantId,
) -> Result<ApplicationReferences> {
    let mut filtered = Filtered::new("applications a", "a.tenant", tenant.as_str());
    if tenant != seen_by {
        filtered.only("a.availability = 'MARKET'");
    }
    Ok(first(read(database, filtered, "a.id", &FIRST, None).await?))
}

/// The first page, of the maximum size.
const FIRST: PageRequest =
    PageRequest { size: MAX_PAGE_SIZE, current: 1, after: None, total: TotalPages::Omitted };

fn first(page: Page<ApplicationReference>) -> ApplicationReferences {
    ApplicationReferences { has_more: page.next.is_some(), references: page.members }
}

async fn read(
    database: &Database,
    mut filtered: Filtered,
    id: &'static str,
    page: &PageRequest,
    subscriber: Option<&TenantId>,
) -> Result<Page<ApplicationReference>> {
    let client = database.reader().await?;
    let count = filtered.total(&client, page.total).await?;
    let rows = client.rows(&filtered.page(COLUMNS, Order::Id(id), page), &filtered.parameters()).await?;
    let reference =
        |row: &Row| Ok(ApplicationReference { subscriber: subscriber.cloned(), application: referred(row)? });
    let references = rows.iter().map(reference).collect::<Result<Vec<_>>>()?;
    let position = |last: &ApplicationReference| Position::of_id(last.application.id.0);
    Ok(Page { count, ..page_of(references, page, position) })
}

fn referred(row: &Row) -> Result<ReferredApplication> {
    Ok(ReferredApplication {
        id: ApplicationId(row.get(0)),
        owner: TenantId::parse(row.get(1))?,
        name: row.get(2),
        kind: ApplicationType::parse(row.get(3))?,
        availability: Availability::parse(row.get(4))?,
        context_path: row.get(5),
        external_url: row.get(6),
    })
}
