//! Groups in PostgreSQL. When a change affects the rights of members, every server process is notified whose rights
//! changed.

use std::collections::BTreeSet;

use deadpool_postgres::GenericClient;
use platform_model::access::DevicePermissions;
use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{GroupId, TenantId};
use platform_model::limits::MAX_PAGE_SIZE;
use platform_model::page::{Page, PageRequest, Position};
use platform_model::role::{self, Role, RoleSet};
use platform_model::users::group::{ADMINS, Group, GroupPatch, NewGroup, default_groups, is_protected};
use platform_model::users::second_factor::SecondFactorRule;
use platform_model::users::user::Administration;
use serde_json::value::RawValue;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use crate::Database;
use crate::applications::roles;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, Change, Holders, Names, RightsChange, change};
use crate::users::audit::{changed, changed_text, record};
use crate::users::changes::shift;
use crate::users::group_members;

const INSERT: &str = include_str!("../../../../sql/queries/groups/insert.sql");
const GET: &str = include_str!("../../../../sql/queries/groups/get.sql");
const FIND_BY_NAME: &str = include_str!("../../../../sql/queries/groups/find_by_name.sql");
const LIST_NAMED: &str = include_str!("../../../../sql/queries/groups/list_named.sql");
const LOCK: &str = include_str!("../../../../sql/queries/groups/lock.sql");
const KEEP: &str = include_str!("../../../../sql/queries/groups/keep.sql");
const LOCK_TENANT: &str = include_str!("../../../../sql/queries/groups/lock_tenant.sql");
const TENANTS_WITHOUT: &str = include_str!("../../../../sql/queries/groups/tenants_without.sql");
const UPDATE: &str = include_str!("../../../../sql/queries/groups/update.sql");
const UPDATE_ROLES: &str = include_str!("../../../../sql/queries/groups/update_roles.sql");
const DELETE: &str = include_str!("../../../../sql/queries/groups/delete.sql");
const MEMBER_NAMES: &str = include_str!("../../../../sql/queries/group_members/names.sql");

/// The columns of a group, in the order [`from_row`] reads them: those of `get.sql`.
const COLUMNS: &str = "g.id, g.name, g.description, g.roles, g.device_permissions, g.second_factor_required";

/// The maximum number of members that a notification names one by one.
const MOST_NAMED: i64 = 1000;

/// Creates the groups of U-10 in a new tenant, as part of the transaction that creates the tenant.
pub(crate) async fn insert_default_groups(client: &impl GenericClient, tenant: &TenantId) -> Result<()> {
    for (name, roles) in default_groups() {
        let (name, permissions) = (name.to_owned(), DevicePermissions::default());
        let new =
            NewGroup { name, description: None, permissions, second_factor: SecondFactorRule::Optional };
        insert(client, tenant, &new, &roles).await?;
    }
    Ok(())
}

/// Creates the groups of U-10 in every tenant from before groups existed. A user who holds every role becomes a member
/// of `admins`. It runs at each start, also when several servers start at once. One transaction per tenant.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn ensure_default_groups(database: &Database) -> Result<()> {
    let without = database.reader().await?.query(TENANTS_WITHOUT, &[]).await?;
    for row in without {
        let tenant = TenantId::parse(row.get(0))?;
        change(database, async |transaction, announcements| {
            transaction.query_opt(LOCK_TENANT, &[&tenant.as_str()]).await?;
            if let Err(Error::NotFound { .. }) = find_id(transaction, &tenant, ADMINS).await {
                insert_default_groups(transaction, &tenant).await?;
                let admins = find_id(transaction, &tenant, ADMINS).await?;
                let all = role::administrator();
                let all: Vec<&str> = all.names().collect();
                group_members::insert_all_powerful(transaction, &tenant, admins, &all).await?;
                announcements.add(Change::Rights(tenant.clone(), Holders::Everybody, RightsChange::Granted));
            }
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn insert(
    client: &impl GenericClient,
    tenant: &TenantId,
    new: &NewGroup,
    roles: &RoleSet,
) -> Result<GroupId> {
    let roles: Vec<&str> = roles.names().collect();
    let NewGroup { name, description, permissions, second_factor } = new;
    let (permissions, is_required) = (Json(permissions), second_factor.is_required());
    let inserted = client
        .query_opt(INSERT, &[&tenant.as_str(), name, description, &roles, &permissions, &is_required])
        .await
        .map_err(|error| duplicate(error.into(), name))?;
    let row = inserted.ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?;
    Ok(GroupId(row.get(0)))
}

fn duplicate(error: Error, name: &str) -> Error {
    if error.is_unique_violation() {
        Error::Duplicate { noun: Noun::Group, key: name.to_owned() }
    } else {
        error
    }
}

/// Creates a group without roles. One transaction.
///
/// # Errors
/// `Duplicate` when the name is in use, `NotFound` when the tenant does not exist; `QuotaExceeded`.
pub async fn insert_group(
    database: &Database,
    administration: &Administration,
    new: &NewGroup,
) -> Result<Group> {
    let tenant = &administration.tenant;
    database.ensure_stored_quota(tenant)?;
    change(database, async |transaction, announcements| {
        let id = insert(transaction, tenant, new, &RoleSet::default()).await?;
        let permissions = changed("devicePermissions", &DevicePermissions::default(), &new.permissions);
        let name = AttributeChange::text("name", None, Some(new.name.clone()));
        let second_factor =
            changed_text("secondFactor", Some(SecondFactorRule::default()), Some(new.second_factor));
        let changes = std::iter::once(name).chain(permissions).chain(second_factor).collect();
        let source = id.to_string();
        let of_group = ("Group", "Group created", &*source);
        record(transaction, announcements, administration, of_group, changes).await?;
        read_whole(transaction, tenant, id).await
    })
    .await
}

/// Returns a group with its first members.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_group(database: &Database, tenant: &TenantId, id: GroupId) -> Result<Group> {
    read_whole(&*database.reader().await?, tenant, id).await
}

/// Looks up a group with its first members by its name.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`; `Invalid` for a text PostgreSQL cannot store.
pub async fn get_group_by_name(database: &Database, tenant: &TenantId, name: &str) -> Result<Group> {
    let client = database.reader().await?;
    let id = find_id(&*client, tenant, name).await?;
    read_whole(&*client, tenant, id).await
}

pub(crate) async fn find_id(client: &impl GenericClient, tenant: &TenantId, name: &str) -> Result<GroupId> {
    let row = client.query_opt(FIND_BY_NAME, &[&tenant.as_str(), &name]).await?;
    let short = || name.chars().take(64).collect::<String>();
    Ok(GroupId(row.ok_or_else(|| Error::not_found(Noun::Group, short()))?.get(0)))
}

/// Returns the groups of a tenant that have these names, as part of the caller's transaction.
pub(super) async fn get_named(
    client: &impl GenericClient,
    tenant: &TenantId,
    names: &BTreeSet<String>,
) -> Result<Vec<Group>> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = client.rows(LIST_NAMED, &[&tenant.as_str(), &names]).await?;
    rows.iter().map(|row| from_row(tenant, row)).collect()
}

async fn read_group(client: &impl GenericClient, tenant: &TenantId, id: GroupId) -> Result<Group> {
    let row = client.query_opt(GET, &[&tenant.as_str(), &id.0]).await?;
    from_row(tenant, &row.ok_or_else(|| Error::not_found(Noun::Group, id))?)
}

async fn read_whole(client: &impl GenericClient, tenant: &TenantId, id: GroupId) -> Result<Group> {
    let group = read_group(client, tenant, id).await?;
    let most = i64::from(MAX_PAGE_SIZE);
    let names = client.query(MEMBER_NAMES, &[&tenant.as_str(), &id.0, &most]).await?;
    let users = names.iter().map(|row| row.get::<_, &str>(0).into()).collect();
    Ok(Group { users: Some(users), ..group })
}

/// Returns a group that is locked against deletion until the transaction ends.
pub(crate) async fn keep_group(client: &impl GenericClient, tenant: &TenantId, id: GroupId) -> Result<Group> {
    client.query_opt(KEEP, &[&tenant.as_str(), &id.0]).await?;
    read_group(client, tenant, id).await
}

/// Returns a group that is locked until the transaction ends against every change, also of its members. So the members
/// it has are those whose rights change.
async fn lock_group(client: &impl GenericClient, tenant: &TenantId, id: GroupId) -> Result<Group> {
    client.query_opt(LOCK, &[&tenant.as_str(), &id.0]).await?;
    read_group(client, tenant, id).await
}

/// Returns a page of groups by ascending id, or of the groups of one user if `user` is given.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_groups(
    database: &Database,
    tenant: &TenantId,
    user: Option<&str>,
    page: &PageRequest,
) -> Result<Page<Group>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("groups g", "g.tenant", tenant.as_str());
    let of_user = "EXISTS (SELECT 1 FROM group_members m \
        WHERE m.tenant = g.tenant AND m.group_id = g.id AND m.user_name = $)";
    filtered.and_some(of_user, user.map(ToOwned::to_owned));
    let count = filtered.total(&client, page.total).await?;
    let rows = client.rows(&filtered.page(COLUMNS, Order::Id("g.id"), page), &filtered.parameters()).await?;
    let groups = rows.iter().map(|row| from_row(tenant, row)).collect::<Result<Vec<_>>>()?;
    Ok(Page { count, ..page_of(groups, page, |group| Position::of_id(group.id.0)) })
}

/// Changes name, description or device permissions. One transaction. Sessions of members that depend on a removed
/// permission end.
///
/// # Errors
/// `NotFound`; `Refused` for a new name of `admins` or `devices` (U-02); `Duplicate` when the name is in use;
/// `QuotaExceeded` (Z-20).
pub async fn update_group(
    database: &Database,
    administration: &Administration,
    id: GroupId,
    patch: &GroupPatch,
) -> Result<Group> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let before = lock_group(transaction, tenant, id).await?;
        let name = patch.name.as_ref().unwrap_or(&before.name);
        if is_protected(&before.name) && *name != before.name {
            return Err(Error::Refused("the name of this group cannot be changed"));
        }
        let description = patch.description.as_ref().unwrap_or(&before.description);
        let permissions = patch.permissions.as_ref().unwrap_or(&before.permissions);
        let second_factor = patch.second_factor.unwrap_or(before.second_factor);
        let changes = [
            (*name != before.name).then(|| AttributeChange::replaced("name", &before.name, name)),
            changed("devicePermissions", &before.permissions, permissions),
            changed_text("secondFactor", Some(before.second_factor), Some(second_factor)),
        ];
        let changes: Vec<_> = changes.into_iter().flatten().collect();
        database.ensure_recorded_growth(tenant, 0, 0, &changes)?;
        let (held, is_required) = (Json(permissions), second_factor.is_required());
        transaction
            .execute(UPDATE, &[&tenant.as_str(), &id.0, name, description, &held, &is_required])
            .await
            .map_err(|error| duplicate(error.into(), name))?;
        if *permissions != before.permissions {
            let shift = shift(&before.permissions, permissions);
            announcements.add(Change::Rights(tenant.clone(), members(transaction, tenant, id).await?, shift));
        }
        if second_factor != before.second_factor {
            let shift = RightsChange::unless_lost(!is_required);
            announcements.add(Change::Rights(tenant.clone(), members(transaction, tenant, id).await?, shift));
        }
        audit_group(transaction, announcements, administration, id, changes).await?;
        read_whole(transaction, tenant, id).await
    })
    .await
}

/// Deletes a group; its members lose the rights it granted. One transaction.
///
/// # Errors
/// `NotFound`; `Refused` for `admins` and `devices` (U-02).
pub async fn delete_group(database: &Database, administration: &Administration, id: GroupId) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let group = lock_group(transaction, tenant, id).await?;
        if is_protected(&group.name) {
            return Err(Error::Refused("this group cannot be deleted"));
        }
        let members = members(transaction, tenant, id).await?;
        transaction.execute(DELETE, &[&tenant.as_str(), &id.0]).await?;
        let changes = [
            changed("roles", &group.roles, &RoleSet::default()),
            changed("devicePermissions", &group.permissions, &DevicePermissions::default()),
            changed_text("secondFactor", Some(group.second_factor), Some(SecondFactorRule::default())),
        ];
        let mut changes: Vec<_> = changes.into_iter().flatten().collect();
        if !changes.is_empty() {
            announcements.add(Change::Rights(tenant.clone(), members, RightsChange::Withdrawn));
        }
        changes.push(AttributeChange::text("name", Some(group.name), None));
        let (source, activity) = (id.to_string(), "Group deleted");
        record(transaction, announcements, administration, ("Group", activity, &*source), changes).await
    })
    .await
}

/// Assigns a role to a group. Assigning it again has no effect. One transaction.
///
/// # Errors
/// `NotFound`; `Forbidden` when the caller lacks the role; `Invalid` for a role that no microservice of the tenant
/// defines.
pub async fn assign_role(
    database: &Database,
    administration: &Administration,
    id: GroupId,
    role: &Role,
) -> Result<()> {
    change_roles(database, administration, id, Some(role), |group| Ok(group.roles.with(&role.name))).await
}

/// Withdraws a role from a group. One transaction.
///
/// # Errors
/// `NotFound` for an unknown group and for a role it does not hold; `Refused` when nobody could administer users
/// afterwards.
pub async fn withdraw_role(
    database: &Database,
    administration: &Administration,
    id: GroupId,
    role: &str,
) -> Result<()> {
    let decide = |group: &Group| match group.roles.has(role) {
        true if group.name == ADMINS && role == role::USER_MANAGEMENT_ADMIN => {
            Err(Error::Refused("group 'admins' must keep the role with which it administers users"))
        }
        true => Ok(group.roles.without(role)),
        false => Err(Error::not_found(Noun::Role, role)),
    };
    change_roles(database, administration, id, None, decide).await
}

async fn change_roles(
    database: &Database,
    administration: &Administration,
    id: GroupId,
    given: Option<&Role>,
    decide: impl Fn(&Group) -> Result<RoleSet>,
) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        if let Some(role) = given {
            roles::keep_assignable(transaction, tenant, role).await?;
        }
        let group = lock_group(transaction, tenant, id).await?;
        let roles = decide(&group)?;
        let Some(change) = changed("roles", &group.roles, &roles) else { return Ok(()) };
        let names: Vec<&str> = roles.names().collect();
        transaction.execute(UPDATE_ROLES, &[&tenant.as_str(), &id.0, &names]).await?;
        let shift = RightsChange::unless_lost(given.is_some());
        announcements.add(Change::Rights(tenant.clone(), members(transaction, tenant, id).await?, shift));
        audit_group(transaction, announcements, administration, id, vec![change]).await
    })
    .await
}

/// Inserts an audit record of the change of a group (Y-05) and logs it at the commit, if anything changed.
async fn audit_group(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    id: GroupId,
    changes: Vec<AttributeChange>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let (source, activity) = (id.to_string(), "Group update");
    record(client, announcements, administration, ("Group", activity, &*source), changes).await
}

/// Returns the members of a locked group, whose rights a change of the group affects. For a very large group it returns
/// all users of the tenant, which only costs more look-ups.
async fn members(client: &impl GenericClient, tenant: &TenantId, id: GroupId) -> Result<Holders> {
    let names = client.query(MEMBER_NAMES, &[&tenant.as_str(), &id.0, &(MOST_NAMED + 1)]).await?;
    if names.len() as i64 > MOST_NAMED {
        return Ok(Holders::Everybody);
    }
    Ok(Holders::Users(names.iter().map(|row| row.get::<_, &str>(0).into()).collect::<Names>()))
}

fn from_row(tenant: &TenantId, row: &Row) -> Result<Group> {
    let permissions: Json<Box<RawValue>> = row.get(4);
    Ok(Group {
        tenant: tenant.clone(),
        id: GroupId(row.get(0)),
        name: row.get(1),
        description: row.get(2),
        roles: row.get::<_, Vec<String>>(3).into_iter().collect(),
        permissions: DevicePermissions::parse(&permissions.0)?,
        second_factor: SecondFactorRule::stored(row.get(5)),
        users: None,
    })
}
