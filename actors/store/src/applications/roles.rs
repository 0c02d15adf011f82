//! Roles that microservices define for the users of their subscribers (U-03). They exist in a tenant as long as it
//! subscribes: the transaction that ends a subscription also removes them from users and groups.

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::role::{self, Role};

use crate::Database;
use crate::applications::users::tenants_of;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, Change, Holders, RightsChange};

const LIST: &str = include_str!("../../../../sql/queries/application_roles/list.sql");
const FIND: &str = include_str!("../../../../sql/queries/application_roles/find.sql");
const KEEP: &str = include_str!("../../../../sql/queries/application_roles/keep.sql");
const LOCK: &str = include_str!("../../../../sql/queries/application_roles/lock.sql");
const WITHDRAW_FROM_USERS: &str =
    include_str!("../../../../sql/queries/application_roles/withdraw_from_users.sql");
const WITHDRAW_FROM_GROUPS: &str =
    include_str!("../../../../sql/queries/application_roles/withdraw_from_groups.sql");

/// The maximum number of microservice roles that a tenant is shown. More would be a mistake or an attack on its
/// administrators.
const MOST: i64 = 10_000;

/// Returns every role of a tenant by name: the roles of the platform and those of the microservices it subscribes to
/// (U-03).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_roles(database: &Database, tenant: &TenantId) -> Result<Vec<Role>> {
    let rows = database.reader().await?.rows(LIST, &[&tenant.as_str(), &MOST]).await?;
    let defined = rows.iter().map(|row| row.get::<_, &str>(0)).filter(|name| role::may_be_defined(name));
    let mut names: Vec<&str> = defined.chain(role::ALL).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.into_iter().map(|name| Role { name: name.into() }).collect())
}

/// Returns a role of a tenant by its name.
///
/// # Errors
/// `NotFound` for a role that neither the platform nor a subscribed microservice defines.
pub async fn get_role(database: &Database, tenant: &TenantId, name: &str) -> Result<Role> {
    let unknown = match Role::named(name) {
        Ok(role) => return Ok(role),
        Err(unknown) => unknown,
    };
    if !role::may_be_defined(name) {
        return Err(unknown);
    }
    let client = database.reader().await?;
    if client.row(FIND, &[&tenant.as_str(), &name]).await?.get(0) {
        Ok(Role { name: name.into() })
    } else {
        Err(unknown)
    }
}

/// Ensures that a role may be assigned in a tenant, and that this stays so until the transaction ends.
///
/// # Errors
/// `Invalid` for a role that neither the platform nor a subscribed microservice defines.
pub(crate) async fn keep_assignable(
    client: &impl GenericClient,
    tenant: &TenantId,
    role: &Role,
) -> Result<()> {
    if role.is_of_platform() || client.query_opt(KEEP, &[&tenant.as_str(), &&*role.name]).await?.is_some() {
        return Ok(());
    }
    let allowed = "a role of the platform, or of a microservice to which the tenant subscribes";
    Err(Error::invalid_value("role", &role.name, allowed))
}

/// Removes from all users and groups of these tenants the roles that no microservice defines there any more, and
/// announces the change. When a group lost a role, every user of its tenant counts as affected.
///
/// # Errors
/// `Database`.
pub(crate) async fn withdraw_undefined(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenants: &[TenantId],
) -> Result<()> {
    if tenants.is_empty() {
        return Ok(());
    }
    let tenants: Vec<&str> = tenants.iter().map(TenantId::as_str).collect();
    client.query_one(LOCK, &[]).await?;
    let users = client.query(WITHDRAW_FROM_USERS, &[&tenants, &&role::ALL[..]]).await?;
    for (tenant, row) in tenants_of(&users)?.iter().zip(&users) {
        announcements.add_rights_of(tenant, row.get(1), RightsChange::Withdrawn);
    }
    let groups = client.query(WITHDRAW_FROM_GROUPS, &[&tenants, &&role::ALL[..]]).await?;
    for tenant in tenants_of(&groups)? {
        announcements.add(Change::Rights(tenant, Holders::Everybody, RightsChange::Withdrawn));
    }
    Ok(())
}
