//! `/devicecontrol/bulkoperations` (docs/rules.md#bulk-operations; K-01 to K-11).

mod body;
mod delete;
mod parents;
mod ramp;
mod roles;
mod several_servers;
mod steps;
mod targets;
mod update;

use std::collections::BTreeSet;

use platform_model::timestamp::Timestamp;
use time::OffsetDateTime;

use crate::harness::prelude::*;

pub(crate) const BULK: &str = "/devicecontrol/bulkoperations";
/// The time that a bulk operation of a test may take on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(90);

/// Puts agents and a static group of them into a database and returns the id of the group.
pub(crate) async fn fleet<'d>(data: impl Into<TenantData<'d>>, devices: i64) -> String {
    let data = data.into();
    let objects = "INSERT INTO managed_objects (tenant, id, name, owner, created_at, updated_at, fragments) \
        SELECT $1, 1000 + n, 'pump ' || n, 'admin', now(), now(), \
            '{\"plat_IsDevice\": {}, \"com_platform_model_Agent\": {}}'::jsonb \
        FROM generate_series(1, $2::bigint) n \
        UNION ALL SELECT $1, 1000, 'pumps', 'admin', now(), now(), '{\"plat_IsDeviceGroup\": {}}'::jsonb";
    data.execute(objects, &[&devices]).await;
    let links = "INSERT INTO links (tenant, kind, parent, child) \
        SELECT $1, 'childAssets', 1000, 1000 + n FROM generate_series(1, $2::bigint) n";
    data.execute(links, &[&devices]).await;
    "1000".to_owned()
}

/// Returns a tenant of its own with a [`fleet`], its administrator, and the id of the group.
async fn with_fleet(devices: i64) -> (TestServer, Caller, String) {
    let (server, admin) = TestServer::shared().await.with_admin();
    let group = fleet(&server, devices).await;
    (server, admin, group)
}

/// Creates an agent that is a device and returns its id.
pub(crate) async fn create_agent(caller: &Caller, name: &str) -> String {
    let agent = json!({"name": name, "plat_IsDevice": {}, "com_platform_model_Agent": {}});
    id_of(&caller.create("/inventory/managedObjects", &agent).await)
}

/// Creates a static group of these objects and returns its id.
pub(crate) async fn group_of(caller: &Caller, members: &[&str]) -> String {
    let group = json!({"name": "pumps", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}});
    let group = id_of(&caller.create("/inventory/managedObjects", &group).await);
    for member in members {
        put_into(caller, &group, member).await;
    }
    group
}

/// Puts an object into a group.
pub(crate) async fn put_into(caller: &Caller, group: &str, member: &str) {
    let path = format!("/inventory/managedObjects/{group}/childAssets");
    caller.create(&path, &json!({"managedObject": {"id": member}})).await;
}

pub(crate) fn id_of(created: &Value) -> String {
    created["id"].as_str().unwrap().to_owned()
}

/// Returns a complete body of a bulk operation that starts at once.
pub(crate) fn bulk_of(group: &str, ramp: f64) -> Value {
    json!({
        "groupId": group,
        "startDate": "2024-03-10T02:30:00.000Z",
        "creationRamp": ramp,
        "operationPrototype": {"plat_Restart": {"delay": 5}},
    })
}

/// Returns a complete body of a bulk operation that starts in a thousand years.
pub(crate) fn later_of(group: &str) -> Value {
    let mut body = bulk_of(group, 0.0);
    body["startDate"] = json!("3024-03-10T02:30:00.000Z");
    body
}

/// An instant as a member of a body.
pub(crate) fn shown(instant: OffsetDateTime) -> Value {
    json!(Timestamp::stored(instant, 0).to_string())
}

/// Creates a bulk operation and returns its link.
pub(crate) async fn plan(caller: &Caller, body: &Value) -> String {
    caller.create(BULK, body).await["self"].as_str().unwrap().to_owned()
}

/// Waits for the end of a bulk operation and returns it.
pub(crate) async fn completed(caller: &Caller, link: &str) -> Value {
    eventually_within(LONG, "the end of the bulk operation", async || {
        Some(caller.read(link).await).filter(|bulk| bulk["status"] != "ACTIVE")
    })
    .await
}

/// Waits until a bulk operation has created at least `count` operations.
pub(crate) async fn under_way<'d>(data: impl Into<TenantData<'d>>, count: i64) {
    let data = data.into();
    until_within(LONG, "the middle of the bulk operation", async || data.count("operations").await >= count)
        .await;
}

/// An operation as the database has it.
#[derive(Debug)]
pub(crate) struct Created {
    pub(crate) bulk_operation: String,
    pub(crate) device: String,
    pub(crate) status: String,
    pub(crate) at: OffsetDateTime,
}

/// All operations in the order of their creation.
pub(crate) async fn operations<'d>(data: impl Into<TenantData<'d>>) -> Vec<Created> {
    let statement = "SELECT bulk_operation::text, device::text, status, created_at FROM operations \
        WHERE tenant = $1 ORDER BY id";
    let created = |row: &tokio_postgres::Row| Created {
        bulk_operation: row.get(0),
        device: row.get(1),
        status: row.get(2),
        at: row.get(3),
    };
    data.into().rows(statement, &[]).await.iter().map(created).collect()
}

/// The devices of all operations in the order of their creation.
pub(crate) async fn devices<'d>(data: impl Into<TenantData<'d>>) -> Vec<String> {
    operations(data).await.into_iter().map(|operation| operation.device).collect()
}

/// Asserts that each device of a [`fleet`] has exactly one operation, in the order of the ids.
pub(crate) async fn assert_each_has_one<'d>(data: impl Into<TenantData<'d>>, devices: i64) {
    let data = data.into();
    let told = self::devices(data).await;
    let expected: Vec<String> = (1..=devices).map(|n| (1000 + n).to_string()).collect();
    let missing: BTreeSet<_> = expected.iter().filter(|device| !told.contains(device)).collect();
    assert!(missing.is_empty(), "without an operation: {missing:?}");
    assert_eq!(told, expected);
    assert_eq!(data.count("bulk_operation_targets").await, 0, "forgotten when it is completed");
}
