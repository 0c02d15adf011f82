//! The users of microservices: one bootstrap user in the owner's tenant (W-10) and one service user in each
//! subscriber's tenant (W-11). They are created and deleted with the application and its subscriptions and cannot be
//! changed otherwise.

use deadpool_postgres::GenericClient;
use platform_model::applications::application::{Application, UserPurpose};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, TenantId};
use platform_model::page::{After, Count, Page, PageRequest, TotalPages};
use platform_model::role;
use tokio_postgres::Row;

use crate::Database;
use crate::applications::roles;
use crate::query::filter::page_of;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, RightsChange};

const INSERT: &str = include_str!("../../../../sql/queries/application_users/insert.sql");
const FOLLOW: &str = include_str!("../../../../sql/queries/application_users/follow.sql");
const DELETE: &str = include_str!("../../../../sql/queries/application_users/delete.sql");
const DELETE_ALL: &str = include_str!("../../../../sql/queries/application_users/delete_all.sql");
const INHERIT_SUBUSERS: &str = include_str!("../../../../sql/queries/application_users/inherit_subusers.sql");
const DELETE_SUBSCRIPTIONS: &str = include_str!("../../../../sql/queries/subscriptions/delete_all.sql");
const LOCK_SOME_APPLICATIONS: &str = include_str!("../../../../sql/queries/applications/lock_some.sql");
const DELETE_SOME_APPLICATIONS: &str = include_str!("../../../../sql/queries/applications/delete_some.sql");
const FIND_BOOTSTRAP_USER: &str =
    include_str!("../../../../sql/queries/application_users/find_bootstrap_user.sql");
const LIST_SERVICE_USERS: &str =
    include_str!("../../../../sql/queries/application_users/list_service_users.sql");
const COUNT_SERVICE_USERS: &str =
    include_str!("../../../../sql/queries/application_users/count_service_users.sql");
const LIST_TENANTS: &str = include_str!("../../../../sql/queries/subscriptions/list_tenants.sql");

/// The number of applications that one transaction deletes with their tenant. Each may have users in very many other
/// tenants.
const AT_ONCE: i64 = 100;

/// The password of a new user: its hash, and its ciphertext, because the microservice requests the password again.
#[derive(Debug, Clone)]
pub struct UserSecret {
    /// The keyed hash.
    pub hash: String,
    /// The ciphertext.
    pub sealed: String,
}

/// Creates the bootstrap user, as part of the transaction that creates the microservice.
///
/// # Errors
/// `Conflict` when both names it could have are in use, or `Database`.
pub(crate) async fn enter_bootstrap_user(
    client: &impl GenericClient,
    announcements: &Announcements,
    application: &Application,
    secret: &UserSecret,
) -> Result<()> {
    enter(client, announcements, &application.owner, application, UserPurpose::Bootstrap, &[], secret).await
}

/// Creates the service user in the tenant of a subscriber, as part of the transaction of the subscription.
///
/// # Errors
/// The errors of [`enter_bootstrap_user`].
pub(crate) async fn enter_service_user(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenant: &TenantId,
    application: &Application,
    secret: &UserSecret,
) -> Result<()> {
    enter(client, announcements, tenant, application, UserPurpose::Service, &held(application), secret).await
}

/// Creates a user of a microservice. When its name is in use, the id of the application is appended.
async fn enter(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenant: &TenantId,
    application: &Application,
    purpose: UserPurpose,
    roles: &[&str],
    secret: &UserSecret,
) -> Result<()> {
    let name = format!("{}{}", purpose.user_prefix(), application.name);
    let other_name = format!("{name}_{}", application.id);
    for name in [&name, &other_name] {
        let inserted = client
            .execute(
                INSERT,
                &[
                    &tenant.as_str(),
                    name,
                    &secret.hash,
                    &secret.sealed,
                    &roles,
                    &application.id.0,
                    &purpose.as_str(),
                ],
            )
            .await?;
        if inserted == 1 {
            announcements.add_rights_of(tenant, name, RightsChange::Granted);
            return Ok(());
        }
    }
    let message =
        format!("the user names {name} and {other_name} are in use, and its user needs one of them");
    Err(Error::Conflict { noun: Noun::Application, message })
}

/// Returns the roles of the service users of an application: exactly those it requires (W-11), except roles that nobody
/// can be assigned.
fn held(application: &Application) -> Vec<&str> {
    let given_to_nobody = [role::SYSTEM, role::DEVICE_BOOTSTRAP];
    application
        .required_roles
        .iter()
        .map(String::as_str)
        .filter(|role| !given_to_nobody.contains(role))
        .collect()
}

/// Updates users after a change of their application, as part of the same transaction. Its service users in every
/// tenant get the roles it requires now (W-11), and nobody in these tenants keeps a role that it no longer defines
/// (U-03). Each affected user is announced.
///
/// # Errors
/// `Database`.
pub(crate) async fn follow(
    client: &impl GenericClient,
    announcements: &Announcements,
    application: &Application,
) -> Result<()> {
    let changed = client.query(FOLLOW, &[&application.id.0, &held(application)]).await?;
    for (tenant, row) in tenants_of(&changed)?.iter().zip(&changed) {
        announcements.add_rights_of(tenant, row.get(1), RightsChange::Withdrawn);
    }
    let tenants = client.query(LIST_TENANTS, &[&application.id.0]).await?;
    roles::withdraw_undefined(client, announcements, &tenants_of(&tenants)?).await
}

/// Removes a microservice from a tenant, as part of the transaction that ended its subscription: deletes its service
/// user and withdraws the roles that only this microservice defined there. Each affected user is announced.
///
/// # Errors
/// `Database`.
pub(crate) async fn dismiss(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenant: &TenantId,
    application: ApplicationId,
) -> Result<()> {
    let gone = client.query(DELETE, &[&tenant.as_str(), &application.0]).await?;
    announce_deleted(client, announcements, &gone).await?;
    roles::withdraw_undefined(client, announcements, std::slice::from_ref(tenant)).await
}

/// Removes a microservice from every tenant, as part of the transaction that deletes it and before the deletion:
/// deletes all its users and its subscriptions and withdraws the roles that only this microservice defined.
///
/// # Errors
/// `Database`.
pub(crate) async fn dismiss_all(
    client: &impl GenericClient,
    announcements: &Announcements,
    application: ApplicationId,
) -> Result<()> {
    dismiss_each(client, announcements, &[application.0]).await
}

async fn dismiss_each(
    client: &impl GenericClient,
    announcements: &Announcements,
    applications: &[i64],
) -> Result<()> {
    let gone = client.query(DELETE_ALL, &[&applications]).await?;
    announce_deleted(client, announcements, &gone).await?;
    let tenants = client.query(DELETE_SUBSCRIPTIONS, &[&applications]).await?;
    roles::withdraw_undefined(client, announcements, &tenants_of(&tenants)?).await
}

/// Deletes some applications of a tenant with their users and subscriptions, as part of a transaction that empties the
/// tenant. Returns `false` when there are none.
///
/// # Errors
/// `Database`.
pub(crate) async fn delete_some_applications(
    client: &impl GenericClient,
    announcements: &Announcements,
    owner: &TenantId,
) -> Result<bool> {
    let rows = client.query(LOCK_SOME_APPLICATIONS, &[&owner.as_str(), &AT_ONCE]).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    dismiss_each(client, announcements, &ids).await?;
    client.execute(DELETE_SOME_APPLICATIONS, &[&owner.as_str(), &ids]).await?;
    Ok(true)
}

/// A user of a microservice as it is stored.
#[derive(Debug, Clone)]
pub struct StoredUser {
    /// The tenant of the user.
    pub tenant: TenantId,
    /// The name of the user.
    pub name: String,
    /// The encrypted password.
    pub sealed_password: String,
}

/// Looks up the bootstrap user of a microservice. Returns `None` for an application that is not a microservice.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_bootstrap_user(
    database: &Database,
    application: ApplicationId,
) -> Result<Option<StoredUser>> {
    database
        .reader()
        .await?
        .find(FIND_BOOTSTRAP_USER, &[&application.0])
        .await?
        .map(|row| stored(&row))
        .transpose()
}

/// Returns a page of the service users of a microservice, by tenant.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_service_users(
    database: &Database,
    application: ApplicationId,
    page: &PageRequest,
) -> Result<Page<StoredUser>> {
    let client = database.reader().await?;
    let count = match page.total {
        TotalPages::Counted => Count::Of(client.row(COUNT_SERVICE_USERS, &[&application.0]).await?.get(0)),
        TotalPages::Omitted => Count::Omitted,
    };
    let (after, limit) = (page.after_name().unwrap_or_default(), i64::from(page.size) + 1);
    let rows = client.rows(LIST_SERVICE_USERS, &[&application.0, &after, &limit, &page.offset()]).await?;
    let users = rows.iter().map(stored).collect::<Result<Vec<_>>>()?;
    let page = page_of(users, page, |user| After::Name(user.tenant.as_str().into()));
    Ok(Page { count, ..page })
}

fn stored(row: &Row) -> Result<StoredUser> {
    Ok(StoredUser { tenant: TenantId::parse(row.get(0))?, name: row.get(1), sealed_password: row.get(2) })
}

async fn announce_deleted(
    client: &impl GenericClient,
    announcements: &Announcements,
    gone: &[Row],
) -> Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let named = gone.iter().map(|row| (row.get::<_, &str>(0), row.get::<_, &str>(1)));
    let (tenants, names): (Vec<&str>, Vec<&str>) = named.unzip();
    client.execute(INHERIT_SUBUSERS, &[&tenants, &names]).await?;
    for (tenant, row) in tenants_of(gone)?.iter().zip(gone) {
        announcements.add_user(tenant, row.get(1));
    }
    Ok(())
}

/// Reads the tenants from the first column of rows.
pub(crate) fn tenants_of(rows: &[Row]) -> Result<Vec<TenantId>> {
    rows.iter().map(|row| TenantId::parse(row.get(0))).collect()
}
