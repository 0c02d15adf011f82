//! Groups of devices and their members (I-11, K-03).

use deadpool_postgres::GenericClient;
use platform_model::devices::inventory_query::InventoryQuery;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::naming::naming;
use platform_model::realtime::filter::Membership;

use super::inventory::query;
use crate::Database;
use crate::query::filter::Filtered;
use crate::query::prepared::PreparedQueries;

const FIND: &str = include_str!("../../../../sql/queries/device_groups/find.sql");
const LIST_MEMBERS: &str = include_str!("../../../../sql/queries/device_groups/list_members.sql");

/// The kind of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Group {
    /// Its child assets are its members.
    Static,
    /// The devices that match this query are its members.
    Dynamic(String),
}

/// A statement that selects the ids of devices.
pub(crate) struct Members {
    pub(crate) statement: String,
    pub(crate) filtered: Filtered,
}

/// The members of a group at one moment.
#[derive(Debug)]
pub struct GroupMembers {
    /// The condition under which a device is a member.
    pub membership: Membership,
    /// The members in no particular order.
    pub ids: Vec<ManagedObjectId>,
}

/// Returns the kind of a group; `None` if there is no such group.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub(crate) async fn find(
    client: &impl GenericClient,
    tenant: &TenantId,
    group: ManagedObjectId,
) -> Result<Option<Group>> {
    let [dynamic, group_marker, device, query] =
        ["IsDynamicGroup", "IsDeviceGroup", "IsDevice", "DeviceQueryString"]
            .map(|name| naming().fragment(name));
    let row =
        client.find(FIND, &[&tenant.as_str(), &group.0, &dynamic, &group_marker, &device, &query]).await?;
    Ok(row.and_then(|row| {
        let (is_dynamic, is_group, is_device): (bool, bool, bool) = (row.get(0), row.get(1), row.get(2));
        match (is_dynamic, is_device && !is_group) {
            (true, _) => Some(Group::Dynamic(row.get::<_, Option<String>>(3).unwrap_or_default())),
            (false, false) => Some(Group::Static),
            (false, true) => None,
        }
    }))
}

/// Returns the condition under which a device is a member of a group; `None` if there is no such group (B-39).
///
/// # Errors
/// `Invalid` for a dynamic group with an invalid query; `Timeout`, `Unavailable` or `Database`.
pub async fn find_membership(
    database: &Database,
    tenant: &TenantId,
    group: ManagedObjectId,
) -> Result<Option<Membership>> {
    let found = find(&*database.reader().await?, tenant, group).await?;
    found.map(|group| group.membership()).transpose()
}

/// Returns the members of a group, at most `most`. A group that does not exist, or whose query is invalid, has none.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_members(
    database: &Database,
    tenant: &TenantId,
    group: ManagedObjectId,
    most: usize,
) -> Result<GroupMembers> {
    let client = database.reader().await?;
    let found = find(&*client, tenant, group).await?;
    let members = found.as_ref().and_then(|found| {
        let membership = found.membership().ok()?;
        Some((membership, Members::of_group(tenant, group, found).ok()?))
    });
    let Some((membership, Members { mut statement, filtered })) = members else {
        return Ok(GroupMembers { membership: Membership::Links, ids: Vec::new() });
    };
    statement.push_str(&format!(" LIMIT {most}"));
    let rows = client.rows(&statement, &filtered.parameters()).await?;
    Ok(GroupMembers { membership, ids: rows.iter().map(|row| ManagedObjectId(row.get(0))).collect() })
}

impl Group {
    fn membership(&self) -> Result<Membership> {
        match self {
            Self::Static => Ok(Membership::Links),
            Self::Dynamic(text) => Membership::of_query(text),
        }
    }
}

impl Members {
    /// Selects the devices of a group.
    ///
    /// # Errors
    /// `Invalid` for a dynamic group with an invalid query.
    pub(crate) fn of_group(tenant: &TenantId, id: ManagedObjectId, group: &Group) -> Result<Self> {
        match group {
            Group::Static => Ok(Self::of_static_group(tenant, id)),
            Group::Dynamic(text) => Self::of_query(tenant, text),
        }
    }

    /// Builds a statement that selects no device.
    pub(crate) fn none(tenant: &TenantId) -> Self {
        let mut filtered = Filtered::new("managed_objects o", "o.tenant", tenant.as_str());
        filtered.only("false");
        Self::of_objects(filtered)
    }

    /// Selects the devices that match a query (I-08, I-11).
    fn of_query(tenant: &TenantId, text: &str) -> Result<Self> {
        let condition = &InventoryQuery::parse_members(text)?;
        let mut filtered = Filtered::new("managed_objects o", "o.tenant", tenant.as_str());
        let clause = query::clause(condition, &mut filtered);
        filtered.and_clause(&clause);
        query::bound(condition).into_iter().for_each(|bound| filtered.and_clause(bound));
        filtered.and("o.fragment_names @> ARRAY[$::text]", naming().fragment("IsDevice"));
        Ok(Self::of_objects(filtered))
    }

    fn of_objects(filtered: Filtered) -> Self {
        let statement = format!("SELECT o.id FROM managed_objects o WHERE {}", filtered.conditions());
        Self { statement, filtered }
    }

    fn of_static_group(tenant: &TenantId, group: ManagedObjectId) -> Self {
        let mut filtered = Filtered::new("managed_objects o", "o.tenant", tenant.as_str());
        filtered.parameter(group.0);
        filtered.parameter(naming().fragment("IsDevice"));
        Self { statement: LIST_MEMBERS.to_owned(), filtered }
    }
}
