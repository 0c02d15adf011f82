//! Storage of tenants, which is measured in the background.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::tenants::{create_reseller, create_tenant, management, tenant_of};
use crate::harness::{Caller, TestDatabase, TestServer, eventually, measurement_of};

const STORAGE: &str = "/tenant/statistics/storage";
const ALL: &str = "/tenant/statistics/allTenantsStorage";

/// Starts a server on its own database that measures frequently.
async fn eager() -> TestServer {
    TestServer::start_with(|settings| settings.limits.usage_pause = Duration::from_millis(50)).await
}

/// Waits until a measurement shows this number of devices.
async fn measured(caller: &Caller, devices: u64) -> Value {
    eventually("a measurement", async || {
        let storage = caller.read(STORAGE).await;
        (storage["deviceCount"] == devices && storage["measurementTime"].is_string()).then_some(storage)
    })
    .await
}

#[tokio::test]
async fn devices_are_counted_and_bytes_are_shared_by_noun_and_table() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    let other = create_tenant(&server, "plant7").await;
    let child = admin.create_device("valve").await;
    admin.create("/inventory/managedObjects", &json!({"name": "no device"})).await;
    let children = format!("/inventory/managedObjects/{device}/childDevices");
    admin.create(&children, &json!({"managedObject": {"id": child}})).await;
    other.create_device("alone").await;
    for n in 0..5 {
        let time = format!("2024-03-10T02:30:0{n}Z");
        admin.create("/measurement/measurements", &measurement_of(&device, &time, 1)).await;
    }
    admin.raise_alarm(&device, "hot").await;

    let storage = eventually("a measurement with everything", async || {
        let storage = measured(&admin, 2).await;
        let counts = (&storage["nouns"]["measurements"]["count"], &storage["nouns"]["alarms"]["count"]);
        (counts == (&json!(5), &json!(1))).then_some(storage)
    })
    .await;

    assert_eq!(storage["tenantId"], "main");
    assert_eq!(
        (&storage["deviceEndpointCount"], &storage["deviceWithChildrenCount"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(storage["nouns"]["inventory"]["count"], 3);
    let tables = storage["tables"].as_array().unwrap();
    let partition =
        tables.iter().find(|table| table["name"].as_str().unwrap().starts_with("measurements_20"));
    let partition = partition.expect("a partition of the month");
    assert_eq!((&partition["noun"], &partition["count"]), (&json!("measurements"), &json!(5)));
    assert!(partition["storageSize"].as_i64().unwrap() > 8000, "{partition}");
    let sum: i64 = tables.iter().map(|table| table["storageSize"].as_i64().unwrap()).sum();
    let all = storage["storageSize"].as_i64().unwrap();
    assert!((sum - all).abs() < 100, "{sum} {all}");
    assert_eq!(measured(&other, 1).await["nouns"]["measurements"], Value::Null, "tenants are separate");
}

#[tokio::test]
async fn bytes_of_a_table_go_to_tenants_by_the_width_of_their_rows() {
    let server = eager().await;
    let (small, large) = (create_tenant(&server, "small").await, create_tenant(&server, "large").await);
    for (caller, text) in [(&small, "x".to_owned()), (&large, random_text(200_000))] {
        caller.create("/inventory/managedObjects", &json!({"name": "object", "text": text})).await;
    }

    let bytes = async |caller: &Caller| {
        eventually("a measurement of the objects", async || {
            caller.read(STORAGE).await["nouns"]["inventory"]["storageSize"].as_f64()
        })
        .await
    };
    // The measurement that has the later object is also one of the earlier object, which shared the table with nobody
    // until then.
    let large = bytes(&large).await;
    let small = bytes(&small).await;

    assert!(large > 20.0 * small, "{small} {large}");
}

/// Returns a text that hardly compresses.
fn random_text(length: usize) -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    (0..length).map(|_| next()).collect()
}

#[tokio::test]
async fn large_table_is_sampled_and_its_shares_are_about_right() {
    let server = eager().await;
    let admin = server.admin();
    create_tenant(&server, "tenth").await;
    // 30 000 records of 4 per page: 7500 pages, of which 1000 are read.
    let fill = "INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, \
            changes, created_at) \
        SELECT CASE WHEN n % 10 = 0 THEN 'tenth' ELSE 'main' END, n, 't', 'a', now(), repeat('x', 1800), '1', 'u', \
            'major', '[]', now() \
        FROM generate_series(1, 30000) n";
    server.database().execute("ALTER TABLE audit_records ALTER COLUMN text SET STORAGE EXTERNAL", &[]).await;
    server.database().execute(fill, &[]).await;

    let table = eventually("a measurement of the large table", async || {
        let all = management(&server).read(ALL).await;
        let tables = all["tables"].as_array()?.clone();
        tables
            .into_iter()
            .find(|table| table["name"] == "audit_records" && table["count"].as_i64() > Some(20_000))
    })
    .await;
    let sampled = table["sampled"].as_f64().unwrap();
    assert!(sampled > 0.1 && sampled < 0.2, "{table}");
    let count = table["count"].as_f64().unwrap();
    assert!((count - 30_000.0).abs() < 3000.0, "{count}");
    let tenth = server.caller("tenth/boss", crate::harness::ADMIN_PASSWORD);
    let share =
        async |caller: &Caller| caller.read(STORAGE).await["nouns"]["auditRecords"]["storageSize"].clone();
    let (main, tenth) = (share(&admin).await.as_f64().unwrap(), share(&tenth).await.as_f64().unwrap());
    assert!((tenth / (main + tenth) - 0.1).abs() < 0.03, "{main} {tenth}");
}

#[tokio::test]
async fn management_reads_all_and_others_what_they_manage() {
    let server = eager().await;
    let reseller = create_reseller(&server, "reseller").await;
    reseller.create("/tenant/tenants", &tenant_of("child")).await;
    measured(&server.caller("child/boss", crate::harness::ADMIN_PASSWORD), 0).await;

    let ids = |all: &Value| -> Vec<String> {
        let tenants = all["tenants"].as_array().unwrap();
        tenants.iter().map(|tenant| tenant["tenantId"].as_str().unwrap().to_owned()).collect()
    };
    let all = management(&server).read(ALL).await;
    assert_eq!(ids(&all), ["child", "main", "management", "reseller"]);
    assert!(all["databaseSize"].as_i64() > Some(1_000_000), "{all}");
    assert!(all["tables"].as_array().unwrap().iter().any(|table| table["name"] == "alarms"));
    let below = reseller.read(ALL).await;
    assert_eq!((ids(&below), below.get("tables")), (vec!["child".to_owned()], None));
    for (caller, tenant, status) in [
        (&management(&server), "child", 200),
        (&reseller, "child", 200),
        (&reseller, "main", 404),
        (&reseller, "reseller", 200),
        (&server.admin(), "child", 404),
        (&management(&server), "UNKNOWN", 404),
    ] {
        let answer = caller.get(&format!("{STORAGE}?tenant={tenant}")).await;
        assert_eq!(answer.status, status, "{tenant}");
    }
}

#[tokio::test]
async fn roles_decide_who_reads() {
    let server = TestServer::start().await;
    let reader = server.user_with("reader", &["ROLE_TENANT_STATISTICS_READ"]).await;
    let manager = server.user_with("manager", &["ROLE_TENANT_MANAGEMENT_READ"]).await;

    assert_eq!((reader.get(STORAGE).await.status, reader.get(ALL).await.status), (200, 403));
    assert_eq!((manager.get(STORAGE).await.status, manager.get(ALL).await.status), (403, 200));
    assert_eq!(reader.get(&format!("{STORAGE}?tenant=management")).await.status, 403);
}

#[tokio::test]
async fn one_of_two_servers_measures_and_the_other_continues_when_it_dies() {
    let database = TestDatabase::create().await;
    let rarely = |settings: &mut platform_front::config::Settings| {
        settings.limits.usage_pause = Duration::from_secs(3600);
    };
    let servers =
        [TestServer::start_on(&database, rarely).await, TestServer::start_on(&database, rarely).await];
    measured(&servers[0].admin(), 0).await;
    let fence = async || database.query("SELECT fence FROM usage_measurement", &[]).await[0].get::<_, i64>(0);
    assert_eq!(fence().await, 1, "one of them measured");

    let abandoned =
        "UPDATE usage_measurement SET due_at = '-infinity', leased_until = now() - interval '1 s'";
    database.execute(abandoned, &[]).await;
    let admin = servers[1].admin();
    admin.create_device("pump").await;

    let third = TestServer::start_on(&database, rarely).await;
    measured(&third.admin(), 1).await;
    assert_eq!(fence().await, 2);
}

#[tokio::test]
async fn growth_and_days_left_are_computed_from_what_was_measured() {
    let server = TestServer::start_with(|settings| {
        settings.limits.usage_pause = Duration::from_millis(50);
        settings.limits.database_disk_bytes = Some(1 << 40);
    })
    .await;
    let management = management(&server);
    let first = management.read(ALL).await;
    assert_eq!(first.get("daysLeft"), None, "the growth is unknown in the first hour");
    let earlier = "INSERT INTO database_sizes (measured_at, bytes) \
        SELECT now() - interval '2 days', pg_database_size(current_database()) - 4000000";
    server.database().execute(earlier, &[]).await;

    let all = eventually("a growth", async || {
        let all = management.read(ALL).await;
        all.get("daysLeft").is_some().then_some(all)
    })
    .await;

    let growth = all["databaseGrowthPerDay"].as_f64().unwrap();
    assert!((growth - 2_000_000.0).abs() < 1_000_000.0, "{growth}");
    assert_eq!(all["daysLeft"], 3650.0, "a terabyte lasts for longer than is told");
    eventually("the metric", async || {
        let metrics = server.stranger().get("/metrics").await.text;
        metrics.contains("platform_storage_days_left").then_some(())
    })
    .await;
}

#[tokio::test]
async fn growth_of_a_tenant_is_from_its_days() {
    let (server, admin, _) = eager().await.with_device("pump").await;
    measured(&admin, 1).await;
    assert_eq!(admin.read(STORAGE).await.get("storageGrowthPerDay"), None);
    let earlier = "INSERT INTO tenant_statistics (tenant, day, stored_bytes) \
        VALUES ('main', (now() AT TIME ZONE 'UTC')::date - 4, 0)";
    server.database().execute(earlier, &[]).await;

    let storage = admin.read(STORAGE).await;

    let (growth, size) = (storage["storageGrowthPerDay"].as_f64(), storage["storageSize"].as_f64());
    assert!((growth.unwrap() * 4.0 - size.unwrap()).abs() < 5.0, "{storage}");
}
