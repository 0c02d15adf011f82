//! How PostgreSQL runs the statements behind every list: never by reading a large table from end to end (P-03, P-07, I-07).
//!
//! `auto_explain` writes the plan of each statement, as it was run, into the log of PostgreSQL.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{ADMIN_PASSWORD, TestDatabase, TestServer, eventually};

/// Tables that grow with a fleet.
const LARGE: [&str; 13] = [
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
    "applications",
    "subscriptions",
];
/// Most rows one step of a plan may look at: the largest window. Counting is exempt, it looks at what it counts.
const ROWS: f64 = 20_001.0;
/// The same where no index knows the filters, and windows grow.
const ALARMS: f64 = 128_001.0;
/// The same for what an agent asks for all day: what its own queues hold, whatever others have to do.
const QUEUES: f64 = 1_001.0;
/// What the test asks for last.
const MARKER: &str = "SELECT 'the last of the plans'";

/// 100 000 objects, a tenth of them devices in groups of a hundred, and what belongs to them. Without triggers, for
/// what is put in is sound; the search indexes are built at the end, which is how they are built fastest.
const FILL: &str = r#"DO $fill$
BEGIN
    PERFORM set_config('session_replication_role', 'replica', true);
    DROP INDEX managed_objects_by_word, managed_objects_by_value, managed_objects_by_fragment, managed_objects_by_name;
    INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments)
    SELECT 'main', 1000 + n,
        CASE WHEN n % 1000 = 0 THEN 'plat_DeviceGroup' WHEN n % 10 = 9 THEN 'acme_Pump' ELSE 'acme_Asset' || n % 40 END,
        CASE WHEN n % 1000 = 0 THEN 'group ' WHEN n % 10 = 9 THEN 'pump ' ELSE 'asset ' END || n,
        CASE WHEN n % 5000 = 17 THEN 'owner' ELSE 'operator' || n / 7 % 100 END,
        now(), now(),
        CASE
            WHEN n % 1000 = 0 THEN '{"plat_IsDeviceGroup": {}}'::jsonb
            WHEN n % 10 = 9 THEN jsonb_build_object('plat_IsDevice', '{}'::jsonb, 'plat_Hardware',
                jsonb_build_object('model', 'RX' || n / 10 % 50, 'serialNumber', 'sn-' || n, 'revision', n % 7),
                'sold', '2024-03-01T00:00:00Z')
            WHEN n % 20000 = 1 THEN '{"plat_Rare": {"a": 1}}'
            ELSE jsonb_build_object('plat_IsAsset', '{}'::jsonb, 'acme_Description', 'Part ' || n % 1000)
        END
    FROM generate_series(0, 99999) n;
    INSERT INTO links (tenant, kind, parent, child)
    SELECT 'main', CASE n % 20 WHEN 9 THEN 'childAssets' ELSE 'childDevices' END, 1000 + n - n % 1000, 1000 + n
    FROM generate_series(0, 99999) n WHERE n % 10 = 9
    UNION ALL
    SELECT 'main', 'childAdditions', 1000 + n - 1, 1000 + n FROM generate_series(1, 99999) n WHERE n % 10 = 5;
    INSERT INTO availability (tenant, device, response_interval, last_message, counted_from)
    SELECT 'main', 1000 + n, 30, at, at
    FROM generate_series(9, 99999, 10) n
    CROSS JOIN LATERAL (SELECT now() - make_interval(mins => CASE n % 1000 WHEN 9 THEN 60 ELSE 0 END) AS at) heard;
    INSERT INTO external_ids (tenant, type, value, object, created_at)
    SELECT 'main', 'acme_Serial', 'sn-' || n, 1000 + n, now() FROM generate_series(0, 99999) n;
    INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count,
        first_time, first_offset, created_at, fragments)
    SELECT 'main', n, 1009 + n % 10000 * 10, CASE n % 20000 WHEN 1 THEN 'rare' ELSE 'type' || n % 47 END,
        now() - make_interval(secs => n), 0, 'It drips', CASE WHEN n % 10 = 0 THEN 'ACTIVE' ELSE 'CLEARED' END,
        CASE WHEN n % 100 = 0 THEN 'CRITICAL' ELSE 'MINOR' END, 1, now(), 0, now(), '{}'
    FROM generate_series(1, 100000) n;
    INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments)
    SELECT 'main', n, 1009 + n % 10000 * 10, CASE n % 20000 WHEN 1 THEN 'rare' ELSE 'type' || n % 47 END,
        now() - make_interval(secs => n), 0, 'It drips', now(),
        CASE n % 20000 WHEN 2 THEN '{"plat_Rare": {}}' ELSE '{}' END::json
    FROM generate_series(1, 100000) n;
    INSERT INTO operations (tenant, id, device, status, bulk_operation, created_at, fragments)
    SELECT 'main', n, 1009 + n % 10000 * 10,
        CASE WHEN n % 5000 = 1 THEN 'FAILED' WHEN n % 3 = 0 THEN 'PENDING' WHEN n % 100 = 1 THEN 'EXECUTING' ELSE 'SUCCESSFUL' END,
        CASE WHEN n <= 50000 THEN n / 10000 + 5 END, now() - make_interval(secs => 100000 - n),
        CASE n % 20000 WHEN 2 THEN '{"plat_Rare": {}}' ELSE '{"plat_Restart": {}}' END::json
    FROM generate_series(1, 100000) n;
    INSERT INTO measurement_shapes (tenant, id, type, members, fragments, series, definition)
    SELECT 'main', n, CASE n WHEN 0 THEN 'rare' ELSE 'type' || n END, '{env}', '{env}', '{env.t}',
        json_build_object('type', 'type' || n, 'fragments', '[{"name": "env", "series": [{"name": "t"}]}]'::json)
    FROM generate_series(0, 47) n;
    INSERT INTO source_shapes (tenant, source, shape, first)
    SELECT 'main', 1009 + n * 10, shape, n FROM generate_series(0, 9999) n, unnest(ARRAY[n % 47 + 1, 47, 0]) AS shape
    GROUP BY n, shape;
    INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings)
    SELECT 'main', first_id(now()) + n, 1009 + n % 10000 * 10, now() - make_interval(secs => n),
        now() - make_interval(secs => n), CASE n % 20000 WHEN 1 THEN 0 ELSE n % 47 + 1 END, ARRAY[n]
    FROM generate_series(1, 100000) n;
    INSERT INTO measurement_rollup_marks (tenant, source, rolled)
    SELECT 'main', 1009 + n * 10, first_id(now()) + 99000 FROM generate_series(0, 99) n;
    INSERT INTO measurement_rollups (tenant, source, shape, hour, zone, first_time, least, greatest)
    SELECT 'main', 1009 + n % 100 * 10, 47, '2024-01-01'::timestamp + make_interval(hours => n / 100), 0,
        '2024-01-01'::timestamptz + make_interval(hours => n / 100), ARRAY[n], ARRAY[n]
    FROM generate_series(0, 99999) n;
    INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, changes, created_at)
    SELECT 'main', n, 'Alarm', 'Alarm updated', now() - make_interval(secs => n), 'x', (n % 5000)::text,
        'operator' || n % 100, 'minor', '[]', now()
    FROM generate_series(1, 100000) n;
    INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at, owner)
    SELECT 'main', 'user' || n, NULL, true, '{}', now(), 'user' || n / 100 FROM generate_series(1, 20000) n;
    INSERT INTO new_device_requests (tenant, id, status, owner, created_at)
    SELECT 'main', 'sn-' || n, 'WAITING_FOR_CONNECTION', 'admin', now() FROM generate_series(1, 20000) n;
    INSERT INTO bulk_operations (tenant, id, group_id, start_at, ramp, prototype, status, creator, base, created_at,
        total, chosen, place, vanished, due_at, fence, leased_until)
    SELECT 'main', n, 1000, now(), 1, '{}', CASE WHEN n % 500 = 0 THEN 'COMPLETED' ELSE 'DELETED' END, 'admin', 'http://h',
        now(), 100, true, 100, 0, now(), 1, now()
    FROM generate_series(1, 50000) n;
    INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, external_url, required_roles,
        roles, created_at)
    SELECT CASE WHEN n > 100000 THEN 'main' ELSE 'owner' || n % 1000 END, n,
        CASE WHEN n > 100000 THEN 'mine' || n ELSE 'app' || n / 1000 END, 'EXTERNAL',
        CASE WHEN n % 10 = 1 AND n < 100000 THEN 'MARKET' ELSE 'PRIVATE' END, 'k' || n, 'x', '/', '{}', '{}', now()
    FROM generate_series(1, 120000) n;
    INSERT INTO subscriptions (tenant, application, created_at)
    SELECT 'main', n * 48, now() FROM generate_series(1, 2000) n
    UNION ALL
    SELECT 'sub' || n % 500, n, now() FROM generate_series(1, 100000) n;
    CREATE INDEX managed_objects_by_word ON managed_objects USING gin (words);
    CREATE INDEX managed_objects_by_value ON managed_objects USING gin (fragments jsonb_path_ops);
    CREATE INDEX managed_objects_by_fragment ON managed_objects USING gin (fragment_names);
    CREATE INDEX managed_objects_by_name ON managed_objects (tenant, name COLLATE "C", id);
END
$fill$"#;

/// Every list.
const LISTS: [&str; 121] = [
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
];

/// What dashboards ask of what the server itself writes.
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

/// What a caller without the roles asks for.
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
    // What a snapshot of somebody else may still need is not yet known as visible to all.
    eventually("a table that is settled", async || {
        database.execute("VACUUM (ANALYZE)", &[]).await;
        let settled = "SELECT relallvisible = relpages FROM pg_class WHERE relname = 'managed_objects'";
        database.query(settled, &[]).await[0].get::<_, bool>(0).then_some(())
    })
    .await;
    database.insert_user("owner", &[]).await;
    let permissions = json!({"1000": ["ALARM:*:READ", "EVENT:*:READ", "OPERATION:*:READ", "MEASUREMENT:*:READ", "MANAGED_OBJECT:*:READ"], "3000": ["ALARM:plat_Relay:READ"]});
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
            let answer = caller.get(list).await;
            assert_eq!(answer.status, 200, "{list}: {}", answer.text);
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

/// Has the plan of every statement of new connections logged.
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
}

/// The log of PostgreSQL from a byte on. It is of other tests too, but only this one has its plans logged.
fn log(data_dir: &Path, from: u64) -> Vec<u8> {
    let mut file = File::open(data_dir.join("postgres.log")).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    let mut log = Vec::new();
    file.read_to_end(&mut log).unwrap();
    log
}

/// The plans that were logged since, until that of the marker.
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

/// What is wrong with a plan.
fn faults(logged: &Value) -> Vec<String> {
    let statement = logged["Query Text"].as_str().unwrap_or_default();
    if statement.starts_with("EXPLAIN") {
        // Asks for a plan and runs nothing.
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
