//! Reading users from PostgreSQL. Their changes are in [`changes`].

pub mod access_tokens;
pub mod account_limits;
pub(crate) mod audit;
pub mod changes;
pub mod group_members;
pub mod groups;
pub mod identified;
pub mod second_factors;
pub mod session_ends;
pub mod spent_tokens;
pub mod token_clients;
pub mod user_tokens;

use std::collections::HashMap;
use std::sync::Arc;

use deadpool_postgres::GenericClient;
use platform_model::access::DevicePermissions;
use platform_model::applications::application::{ApplicationUser, UserPurpose};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, GroupId, TenantId};
use platform_model::page::{After, Page, PageRequest};
use platform_model::role::RoleSet;
use platform_model::tenancy::tenant::TenantStatus;
use platform_model::timestamp::Timestamp;
use platform_model::users::group::Group;
use platform_model::users::second_factor::{SecondFactor, SecondFactorRule};
use platform_model::users::user::{Account, Profile, SubusersCount, User, UserFilter, UserKind};
use serde_json::value::RawValue;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::query::rows::fragments;
use crate::query::shared_lookups::Lookup;
use crate::{Database, Pool, take};

const FIND: &str = include_str!("../../../../sql/queries/users/find.sql");
const GET: &str = include_str!("../../../../sql/queries/users/get.sql");
const TENANT_EXISTS: &str = include_str!("../../../../sql/queries/users/tenant_exists.sql");

/// The columns of a user, in the order [`from_row`] reads them: those of `get.sql`.
const COLUMNS: &str = "u.name, u.enabled, u.first_name, u.last_name, u.display_name, u.phone, u.email, u.owner, \
    u.custom_properties, u.device_permissions, u.roles, u.password_changed_at, \
    ARRAY(SELECT json_build_array(g.id, g.name, g.description, g.device_permissions, g.second_factor_required) \
        FROM group_members m JOIN groups g ON g.tenant = m.tenant AND g.id = m.group_id \
        WHERE m.tenant = u.tenant AND m.user_name = u.name ORDER BY g.id), \
    EXISTS (SELECT 1 FROM second_factors f WHERE f.tenant = u.tenant AND f.user_name = u.name AND f.active)";
/// The sort keys of users and members, independent of the locale of the database.
const U_NAME: &str = r#"u.name COLLATE "C""#;
const MEMBER_NAME: &str = r#"m.user_name COLLATE "C""#;
/// The last column: the number of sub-users.
const SUBUSERS: &str = "(SELECT count(*) FROM users s WHERE s.tenant = u.tenant AND s.owner = u.name)";

/// A user, as it is looked up: tenant and name.
type Key = (TenantId, Arc<str>);
/// The data of users that authentication needs, with the status of their tenants.
type Accounts = HashMap<Key, (Account, TenantStatus)>;

/// Looks up users that authenticate, over connections that all look-ups by key share.
pub(crate) struct AccountLookup(pub(crate) Pool);

impl Lookup for AccountLookup {
    type Key = Key;
    type Value = (Account, TenantStatus);

    async fn load(&self, keys: &[Key]) -> Result<Accounts> {
        find_accounts(&*take(&self.0).await?, keys).await
    }
}

/// Looks up a user for authentication, with the status of its tenant. Returns `None` when tenant or user is unknown.
/// Concurrent look-ups share a statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_user(
    database: &Database,
    tenant: &TenantId,
    name: &str,
) -> Result<Option<(Account, TenantStatus)>> {
    database.ensure_reachable()?;
    database.accounts.find((tenant.clone(), name.into())).await
}

/// Looks up a user as [`find_user`] does, as part of the caller's transaction.
pub(crate) async fn find_account(
    client: &impl GenericClient,
    tenant: &TenantId,
    name: &str,
) -> Result<Option<(Account, TenantStatus)>> {
    let key = (tenant.clone(), name.into());
    Ok(find_accounts(client, std::slice::from_ref(&key)).await?.remove(&key))
}

/// Returns roles and device permissions of users, held directly and through groups. Users that are deleted, disabled or
/// of a suspended tenant are left out. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_rights(
    database: &Database,
    tenant: &TenantId,
    names: &[&str],
) -> Result<HashMap<Arc<str>, (RoleSet, DevicePermissions)>> {
    let keys: Vec<Key> = names.iter().map(|name| (tenant.clone(), (*name).into())).collect();
    let accounts = find_accounts(&*database.reader().await?, &keys).await?;
    let active =
        accounts.into_values().filter(|(user, status)| user.enabled && *status == TenantStatus::Active);
    Ok(active.map(|(user, _)| (user.name, (user.roles, user.permissions))).collect())
}

async fn find_accounts(client: &impl GenericClient, keys: &[Key]) -> Result<Accounts> {
    let (tenants, names): (Vec<_>, Vec<_>) =
        keys.iter().map(|(tenant, name)| (tenant.as_str(), &**name)).unzip();
    let rows = client.rows(FIND, &[&tenants, &names]).await?;
    rows.iter().map(account).collect()
}

fn account(row: &Row) -> Result<(Key, (Account, TenantStatus))> {
    let user = Account {
        tenant: TenantId::parse(row.get(0))?,
        name: row.get::<_, &str>(1).into(),
        password_hash: row.get(2),
        enabled: row.get(3),
        roles: roles(row, 5),
        permissions: permissions(row, 6)?,
        unused_until: row.get(7),
        application: application_user(row.get(8), row.get(9)),
        second_factor: SecondFactor::stored(row.get(10)),
    };
    Ok(((user.tenant.clone(), user.name.clone()), (user, TenantStatus::stored(row.get(4))?)))
}

fn roles(row: &Row, column: usize) -> RoleSet {
    row.get::<_, Vec<String>>(column).into_iter().collect()
}

fn permissions(row: &Row, column: usize) -> Result<DevicePermissions> {
    let held: Vec<Json<Box<RawValue>>> = row.get(column);
    let held = held.iter().map(|held| DevicePermissions::parse(&held.0));
    Ok(DevicePermissions::sum(held.collect::<Result<Vec<_>>>()?))
}

fn application_user(application: Option<i64>, purpose: Option<&str>) -> Option<ApplicationUser> {
    Some(ApplicationUser { application: ApplicationId(application?), purpose: UserPurpose::parse(purpose?)? })
}

/// Ensures that a tenant exists, for callers who may name any tenant (U-04).
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn ensure_tenant(database: &Database, tenant: &TenantId) -> Result<()> {
    let client = database.reader().await?;
    if client.row(TENANT_EXISTS, &[&tenant.as_str()]).await?.get(0) {
        Ok(())
    } else {
        Err(Error::not_found(Noun::Tenant, tenant))
    }
}

/// Returns a user as a response shows it.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_user(database: &Database, tenant: &TenantId, name: &str) -> Result<User> {
    read_user(&*database.reader().await?, tenant, name).await
}

/// Returns a user, as part of the caller's transaction.
pub(crate) async fn read_user(client: &impl GenericClient, tenant: &TenantId, name: &str) -> Result<User> {
    let row = client.find(GET, &[&tenant.as_str(), &name]).await?;
    from_row(tenant, &row.ok_or_else(|| Error::not_found(Noun::User, name))?)
}

/// Returns a page of users by ascending name.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`; `Invalid` for a text PostgreSQL cannot store.
pub async fn list_users(
    database: &Database,
    tenant: &TenantId,
    filter: &UserFilter,
    page: &PageRequest,
) -> Result<Page<User>> {
    let mut filtered = Filtered::new("users u", "u.tenant", tenant.as_str());
    match filter.kind {
        // The exact conditions of the two partial indexes. A user of a microservice does not count as a user of the
        // tenant (W-11).
        UserKind::People => filtered.only("NOT starts_with(u.name, 'device_') AND u.application IS NULL"),
        UserKind::Devices => filtered.only("starts_with(u.name, 'device_')"),
    }
    if let Some(prefix) = &filter.name_prefix {
        // The two bounds let the index find the names that the function then checks.
        filtered.and("starts_with(u.name, $)", prefix.clone());
        filtered.and(r#"u.name COLLATE "C" >= $"#, prefix.clone());
        filtered.and(r#"u.name COLLATE "C" <= $"#, format!("{prefix}\u{10ffff}"));
    }
    let in_group = "EXISTS (SELECT 1 FROM group_members f \
        WHERE f.tenant = u.tenant AND f.user_name = u.name AND f.group_id = ANY($))";
    filtered.and_some(in_group, filter.groups.clone());
    filtered.and_some("u.owner = $", filter.owner.clone());
    filtered.and_some("u.owner = $", filter.visible_to.clone());
    let columns = match filter.subusers {
        SubusersCount::Told => format!("{COLUMNS}, {SUBUSERS}"),
        SubusersCount::Omitted => COLUMNS.to_owned(),
    };
    read_page(
        database,
        tenant,
        filtered,
        NameColumns { key: "u.tenant, u.name", order: U_NAME },
        &columns,
        page,
    )
    .await
}

/// Returns a page of the members of a group, by ascending name. The caller ensures that the group exists.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_members(
    database: &Database,
    tenant: &TenantId,
    group: GroupId,
    page: &PageRequest,
) -> Result<Page<User>> {
    let mut filtered = Filtered::new("group_members m", "m.tenant", tenant.as_str());
    filtered.and("m.group_id = $", group.0);
    read_page(
        database,
        tenant,
        filtered,
        NameColumns { key: "m.tenant, m.user_name", order: MEMBER_NAME },
        COLUMNS,
        page,
    )
    .await
}

/// The columns of a table that name its users.
struct NameColumns {
    /// Tenant and name of a user.
    key: &'static str,
    /// The name in the order of the page.
    order: &'static str,
}

/// Selects the names of the page first and then reads these users, because reading a whole user is too expensive for
/// those that are skipped.
async fn read_page(
    database: &Database,
    tenant: &TenantId,
    mut filtered: Filtered,
    names: NameColumns,
    columns: &str,
    page: &PageRequest,
) -> Result<Page<User>> {
    let client = database.reader().await?;
    let count = filtered.total(&client, page.total).await?;
    let keys = filtered.page(names.key, Order::Name(names.order), page);
    let statement = format!(
        "WITH page (tenant, name) AS ({keys}) \
        SELECT {columns} FROM page JOIN users u ON u.tenant = page.tenant AND u.name = page.name ORDER BY {U_NAME}"
    );
    let rows = client.rows(&statement, &filtered.parameters()).await?;
    let users = rows.iter().map(|row| from_row(tenant, row)).collect::<Result<Vec<_>>>()?;
    Ok(Page { count, ..page_of(users, page, |user| After::Name(user.name.clone())) })
}

fn from_row(tenant: &TenantId, row: &Row) -> Result<User> {
    type InGroup = (i64, String, Option<String>, Box<RawValue>, bool);
    let permissions: Json<Box<RawValue>> = row.get(9);
    let groups: Vec<Json<InGroup>> = row.try_get(12)?;
    let group = |Json((id, name, description, permissions, second_factor)): Json<InGroup>| {
        Ok(Group {
            tenant: tenant.clone(),
            id: GroupId(id),
            name,
            description,
            roles: RoleSet::default(),
            permissions: DevicePermissions::parse(&permissions)?,
            second_factor: SecondFactorRule::stored(second_factor),
            users: None,
        })
    };
    Ok(User {
        tenant: tenant.clone(),
        name: row.get::<_, &str>(0).into(),
        profile: Profile {
            first_name: row.get(2),
            last_name: row.get(3),
            display_name: row.get(4),
            phone: row.get(5),
            email: row.get(6),
        },
        enabled: row.get(1),
        owner: row.get(7),
        custom_properties: fragments(row, 8)?,
        permissions: DevicePermissions::parse(&permissions.0)?,
        roles: row.get::<_, Vec<String>>(10).into_iter().collect(),
        groups: groups.into_iter().map(group).collect::<Result<_>>()?,
        last_password_change: Timestamp::stored(row.get(11), 0),
        has_second_factor: row.get(13),
        subusers_count: if row.len() > 14 { Some(row.get(14)) } else { None },
    })
}
