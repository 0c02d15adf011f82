//! Tests that PostgreSQL never reads a large table from end to end for a page of a list (P-03, P-07, I-07).
//!
//! `auto_explain` writes the plan of each statement, as it was run, into the log of PostgreSQL.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::*;

/// Tables that grow with a fleet.
const LARGE: [&str; 15] = [
    "managed_objects",
    "alarms",
    "events",
    "operations",
    "links",
    "external_ids",
    "audit_records",
    "users",
    "new_device_requests",
    "measurement_rollups",
    "bulk_operations",
    "token_clients",
    "applications",
    "subscriptions",
    "modules",
];
/// The most rows that one step of a plan may read: the largest window. Counts are exempt, because they read all that
/// they count.
const ROWS: f64 = 20_001.0;
/// The same limit for alarms, where no index matches the filters, and windows grow.
const ALARMS: f64 = 128_001.0;
/// The same limit for the frequent queries of agents: they read only their own queues.
const QUEUES: f64 = 1_001.0;
/// The last statement of the test.
const MARKER: &str = "SELECT 'the last of the plans'";

/// A large database.
const FILL: &str = include_str!("plans/fill.sql");

/// All lists of the API, with typical filters.
const LISTS: [&str; 130] = [
    "/inventory/managedObjects",
    "/inventory/managedObjects?pageSize=2000",
    "/inventory/managedObjects?currentPage=1000",
    "/inventory/managedObjects?withParents=true&pageSize=2000",
    "/inventory/binaries",
    "/inventory/managedObjects?withTotalPages=true&pageSize=1",
    "/inventory/managedObjects?type=acme_Pump",
    "/inventory/managedObjects?type=plat_DeviceGroup&pageSize=100",
    "/inventory/managedObjects?type=none",
    "/inventory/managedObjects?type=acme_Pump&fragmentType=plat_Rare",
    "/inventory/managedObjects?fragmentType=plat_IsDevice",
    "/inventory/managedObjects?fragmentType=plat_IsDevice&pageSize=100&currentPage=3",
    "/inventory/managedObjects?fragmentType=plat_IsDevice&pageSize=1&withTotalPages=true",
    "/inventory/managedObjects?fragmentType=plat_Rare",
    "/inventory/managedObjects?fragmentType=none",
    "/inventory/managedObjects?owner=operator7",
    "/inventory/managedObjects?owner=none",
    "/inventory/managedObjects?owner=operator7&type=acme_Pump&fragmentType=plat_IsDevice&pageSize=100",
    "/inventory/managedObjects?ids=1009,5009,99009",
    "/inventory/managedObjects?text=pump",
    "/inventory/managedObjects?text=pump%205009",
    "/inventory/managedObjects?text=none",
    "/inventory/managedObjects?text=part%20999&fragmentType=plat_IsAsset",
    "/inventory/managedObjects?childAssetId=1009",
    "/inventory/managedObjects?childDeviceId=1019&type=plat_DeviceGroup",
    "/inventory/managedObjects?childAdditionId=1005",
    "/inventory/managedObjects?query=has(plat_IsDevice)%20and%20name%20eq%20'pump%201*'",
    "/inventory/managedObjects?query=has(plat_IsDevice)%20and%20name%20eq%20'pump%209999*'",
    "/inventory/managedObjects?query=name%20eq%20'pump%209999'",
    "/inventory/managedObjects?query=name%20eq%20'none'%20or%20type%20eq%20'none'%20or%20has(none)",
    "/inventory/managedObjects?query=plat_Hardware.model%20eq%20'RX7'&pageSize=100",
    "/inventory/managedObjects?query=plat_Hardware.serialNumber%20eq%20'sn-5009'",
    "/inventory/managedObjects?query=plat_Hardware.revision%20gt%205%20and%20owner%20eq%20'operator7'",
    "/inventory/managedObjects?query=plat_Rare.a%20ge%201",
    "/inventory/managedObjects?query=plat_Rare.a%20eq%20'x*'",
    "/inventory/managedObjects?query=has(plat_Rare.a)",
    "/inventory/managedObjects?query=sold.date%20gt%20'2024-01-01'",
    "/inventory/managedObjects?query=bygroupid(1000)",
    "/inventory/managedObjects?query=bygroupid(1000)%20and%20has(plat_IsDevice)&pageSize=100",
    "/inventory/managedObjects?query=id%20eq%201009",
    "/inventory/managedObjects?query=not%20has(plat_IsDevice)",
    "/inventory/managedObjects?query=$orderby=name",
    "/inventory/managedObjects?query=$filter=type%20eq%20'plat_DeviceGroup'%20$orderby=name%20desc",
    "/inventory/managedObjects/1000/childDevices",
    "/inventory/managedObjects/1000/childAssets?pageSize=100",
    "/inventory/managedObjects/1004/childAdditions",
    "/identity/externalIds/acme_Serial/sn-5",
    "/identity/globalIds/1005/externalIds",
    "/alarm/alarms",
    "/alarm/alarms?status=ACTIVE&severity=CRITICAL",
    "/alarm/alarms?resolved=false&pageSize=100",
    "/alarm/alarms?status=ACKNOWLEDGED",
    "/alarm/alarms?status=ACTIVE&type=rare&revert=true",
    "/alarm/alarms?type=rare",
    "/alarm/alarms?source=1009",
    "/alarm/alarms?source=1000&withSourceAssets=true&withSourceDevices=true&pageSize=100",
    "/alarm/alarms?source=1009&type=none&revert=true",
    "/alarm/alarms?dateFrom=2020-01-01&dateTo=2020-01-02",
    "/event/events",
    "/event/events?currentPage=1000",
    "/event/events?type=rare",
    "/event/events?fragmentType=plat_Rare&pageSize=100",
    "/event/events?source=1009",
    "/event/events?source=1000&withSourceAssets=true&withSourceDevices=true&revert=true",
    "/event/events?dateFrom=2020-01-01&dateTo=2020-01-02",
    "/devicecontrol/operations",
    "/devicecontrol/operations?revert=true&pageSize=2000",
    "/devicecontrol/operations?currentPage=1000",
    "/devicecontrol/operations?status=PENDING",
    "/devicecontrol/operations?status=EXECUTING&pageSize=100",
    "/devicecontrol/operations?status=FAILED",
    "/devicecontrol/operations?status=PENDING&fragmentType=plat_Rare",
    "/devicecontrol/operations?fragmentType=plat_Rare",
    "/devicecontrol/operations?agentId=1000&status=PENDING",
    "/devicecontrol/operations?agentId=1000&status=EXECUTING&pageSize=2000",
    "/devicecontrol/operations?agentId=1019&status=PENDING&withTotalPages=true",
    "/devicecontrol/operations?agentId=1000",
    "/devicecontrol/operations?agentId=1000&pageSize=2000&revert=true",
    "/devicecontrol/operations?agentId=1000&deviceId=1019",
    "/devicecontrol/operations?agentId=1000&fragmentType=plat_Rare",
    "/devicecontrol/operations?deviceId=1009",
    "/devicecontrol/operations?deviceId=1009&status=FAILED",
    "/devicecontrol/operations?deviceId=1009&status=PENDING&fragmentType=plat_Rare",
    "/devicecontrol/operations?bulkOperationId=7",
    "/devicecontrol/operations?bulkOperationId=7&status=FAILED&pageSize=100",
    "/devicecontrol/operations?dateFrom=2020-01-01&dateTo=2020-01-02",
    "/measurement/measurements",
    "/measurement/measurements?revert=true&pageSize=2000",
    "/measurement/measurements?currentPage=1000",
    "/measurement/measurements?type=rare",
    "/measurement/measurements?type=none",
    "/measurement/measurements?type=type7&pageSize=100",
    "/measurement/measurements?fragmentType=env&valueFragmentType=env&valueFragmentSeries=t",
    "/measurement/measurements?source=1009",
    "/measurement/measurements?source=1009&type=rare&revert=true",
    "/measurement/measurements?dateFrom=2020-01-01&dateTo=2020-01-02",
    "/measurement/measurements/series?source=1009&dateFrom=2020-01-01&dateTo=2100-01-01",
    "/measurement/measurements/series?source=1009&dateFrom=2020-01-01&dateTo=2100-01-01&aggregationType=DAILY",
    "/measurement/measurements/series?source=1009&dateFrom=2024-01-01&dateTo=2025-01-01&aggregationType=HOURLY",
    "/measurement/measurements/series?source=2009&dateFrom=2020-01-01&dateTo=2100-01-01&aggregationType=DAILY",
    "/inventory/managedObjects/1009/supportedMeasurements",
    "/inventory/managedObjects/1009/supportedSeries",
    "/audit/auditRecords?source=77",
    "/audit/auditRecords?pageSize=100",
    "/devicecontrol/newDeviceRequests",
    "/devicecontrol/newDeviceRequests?pageSize=2000&currentPage=5",
    "/user/main/users",
    "/user/main/users?owner=user7",
    "/devicecontrol/bulkoperations",
    "/devicecontrol/bulkoperations?withDeleted=true&pageSize=100",
    "/devicecontrol/bulkoperations?currentPage=20&withTotalPages=true",
    "/cep/modules",
    "/cep/modules?pageSize=2000&withTotalPages=true",
    "/cep/modules?currentPage=1000",
    "/application/tokenClients",
    "/application/tokenClients?currentPage=20&pageSize=100",
    "/application/applications",
    "/application/applications?pageSize=2000&withTotalPages=true",
    "/application/applications?currentPage=1000",
    "/application/applicationsByName/app7?pageSize=100",
    "/application/applicationsByName/app7?currentPage=10&withTotalPages=true",
    "/application/applicationsByName/none",
    "/application/applicationsByOwner/main?pageSize=2000",
    "/application/applicationsByOwner/owner1?pageSize=10&withTotalPages=true",
    "/application/applicationsByOwner/owner2",
    "/application/applicationsByTenant/main?pageSize=100&withTotalPages=true",
    "/tenant/tenants/main/applications",
    "/tenant/tenants/main/applications?pageSize=100&currentPage=15",
    "/tenant/currentTenant",
    "/user/roles",
];

/// Queries of dashboards on the fragments that the server writes.
const AVAILABILITY: [&str; 9] = [
    "/inventory/managedObjects?fragmentType=plat_Availability&pageSize=2000",
    "/inventory/managedObjects?fragmentType=plat_ActiveAlarmsStatus",
    "/inventory/managedObjects?query=plat_Availability.status%20eq%20'UNAVAILABLE'",
    "/inventory/managedObjects?query=plat_Availability.status%20eq%20'MAINTENANCE'",
    "/inventory/managedObjects?query=plat_Connection.status%20eq%20'DISCONNECTED'&pageSize=100",
    "/inventory/managedObjects?query=plat_ActiveAlarmsStatus.critical%20gt%200&pageSize=100",
    "/inventory/managedObjects?query=plat_ActiveAlarmsStatus.warning%20gt%200",
    "/inventory/managedObjects?query=plat_ActiveAlarmsStatus.critical%20eq%200",
    "/inventory/managedObjects?query=has(plat_Connection)",
];

/// Requests of a caller without roles.
const LIMITED: [&str; 12] = [
    "/inventory/managedObjects",
    "/inventory/managedObjects?type=acme_Pump",
    "/inventory/managedObjects?query=has(plat_IsDevice)",
    "/inventory/managedObjects?text=pump&pageSize=100",
    "/alarm/alarms",
    "/alarm/alarms?status=ACTIVE&source=1009",
    "/event/events",
    "/event/events?type=rare&source=1009",
    "/devicecontrol/operations",
    "/devicecontrol/operations?agentId=1000&status=PENDING",
    "/measurement/measurements",
    "/measurement/measurements?type=rare&source=1009",
];

#[tokio::test]
async fn no_list_reads_a_large_table_from_end_to_end() {
    let database = TestDatabase::create().await;
    database.execute(FILL, &[]).await;
    // Rows that another snapshot may still need are not yet marked as visible to all.
    until("a table that is settled", async || {
        database.execute("VACUUM (ANALYZE)", &[]).await;
        let settled = "SELECT relallvisible = relpages FROM pg_class WHERE relname = 'managed_objects'";
        database.query(settled, &[]).await[0].get::<_, bool>(0)
    })
    .await;
    database.insert_user("owner", &[]).await;
    let permissions = json!({"1000": ["ALARM:*:READ", "EVENT:*:READ", "OPERATION:*:READ", "MEASUREMENT:*:READ",
        "MANAGED_OBJECT:*:READ"], "3000": ["ALARM:plat_Relay:READ"]});
    let grant = "UPDATE users SET device_permissions = $1::text::json WHERE name = 'owner'";
    database.execute(grant, &[&permissions.to_string()]).await;
    explain_everything(&database).await;
    let logged = log(database.data_dir(), 0).len() as u64;
    let server = TestServer::start_on(&database, |_| {}).await;

    let (admin, guest) = (server.admin(), server.caller("owner", ADMIN_PASSWORD));
    let mut asked = 0;
    for (caller, lists) in
        [(&admin, LISTS.as_slice()), (&admin, AVAILABILITY.as_slice()), (&guest, LIMITED.as_slice())]
    {
        for list in lists {
            let answer = caller.get(list).await.expect(200);
            asked += 1;
            if let Some(next) = answer.json().get("next") {
                assert_eq!(caller.get(next.as_str().unwrap()).await.status, 200, "{next}");
            }
        }
    }

    let plans = plans(&database, logged).await;
    assert!(plans.len() > asked, "each list is at least one statement: {} of {asked}", plans.len());
    let faults: Vec<String> = plans.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Makes PostgreSQL log the plan of every statement on new connections.
async fn explain_everything(database: &TestDatabase) {
    let name: String = database.query("SELECT current_database()::text", &[]).await[0].get(0);
    for setting in [
        "session_preload_libraries = 'auto_explain'",
        "auto_explain.log_min_duration = 0",
        "auto_explain.log_format = 'json'",
        "auto_explain.log_analyze = on",
        "auto_explain.log_timing = off",
    ] {
        database.execute(&format!("ALTER DATABASE {name} SET {setting}"), &[]).await;
    }
    // The settings apply to new connections only.
    database.disconnect();
}

/// Returns the log of PostgreSQL from this byte on. Other tests use the same log, but only this one logs plans.
fn log(data_dir: &Path, from: u64) -> Vec<u8> {
    let mut file = File::open(data_dir.join("postgres.log")).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    let mut log = Vec::new();
    file.read_to_end(&mut log).unwrap();
    log
}

/// Returns the plans that were logged up to the marker.
async fn plans(database: &TestDatabase, from: u64) -> Vec<Value> {
    database.query(MARKER, &[]).await;
    eventually("the plans in the log", async || {
        let log = String::from_utf8_lossy(&log(database.data_dir(), from)).into_owned();
        let plans: Vec<Value> = log
            .split("  plan:\n")
            .skip(1)
            .map(|rest| rest.lines().take_while(|line| line.starts_with('\t')).collect::<String>())
            .filter_map(|plan| serde_json::from_str(&plan).ok())
            .collect();
        plans.iter().any(|plan: &Value| plan["Query Text"] == MARKER).then_some(plans)
    })
    .await
}

/// Returns the faults of a plan.
fn faults(logged: &Value) -> Vec<String> {
    let statement = logged["Query Text"].as_str().unwrap_or_default();
    if statement.starts_with("EXPLAIN") {
        // The statement only shows a plan and runs nothing.
        return Vec::new();
    }
    let counts = statement.starts_with("SELECT count(*)");
    let by_time = ["FROM alarms a", "FROM events e", "FROM measurements m", "FROM operations o"];
    let by_queue = statement.contains("AS queue (id)") && statement.contains("o.status = 'PENDING'");
    let most = match by_time.iter().any(|from| statement.contains(from)) {
        true if by_queue => QUEUES,
        true => ALARMS,
        false => ROWS,
    };
    let mut faults = Vec::new();
    let mut nodes = vec![&logged["Plan"]];
    while let Some(node) = nodes.pop() {
        nodes.extend(node["Plans"].as_array().into_iter().flatten());
        let table = node["Relation Name"].as_str().unwrap_or_default();
        let number = |name: &str| node[name].as_f64().unwrap_or_default();
        let looked_at =
            ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"].map(number);
        let rows = looked_at.iter().sum::<f64>() * number("Actual Loops");
        let node_type = node["Node Type"].as_str().unwrap_or_default();
        // An empty partition may be read in any way.
        let is_large = LARGE.contains(&table) || (table.starts_with("measurements_") && rows > 0.0);
        if is_large && node_type.contains("Seq Scan") {
            faults.push(format!("{node_type} of {table} by\n{statement}"));
        } else if rows > most && !counts {
            faults.push(format!("{node_type} of {table} looks at {rows} rows by\n{statement}"));
        }
    }
    faults
}
