//! Reading statistics: pages, bounds, summaries, tables, rights.

use super::*;
use crate::harness::tenants::{create_reseller, management, tenant_of};

const ALL: &str = "/tenant/statistics/allTenantsSummary";

/// Stores figures for ten days of 2024. The number of requests equals the day of the month.
async fn fill(server: &TestServer, tenant: &str) {
    let fill = "INSERT INTO tenant_statistics (tenant, day, requests, sessions_peak, devices, devices_with_children, \
            stored_bytes, subscribed_applications) \
        SELECT $1, date '2024-01-01' + n - 1, n, 100 - n, n * 10, n, n * 1000, ARRAY['cockpit', '=1+1'] \
        FROM generate_series(1, 10) n";
    server.database().execute(fill, &[&tenant]).await;
}

fn days_of(page: &Value) -> Vec<&str> {
    page["usageStatistics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|day| &day["day"].as_str().unwrap()[..10])
        .collect()
}

#[tokio::test]
async fn days_are_paged_newest_first_and_bounds_are_included() {
    let (server, admin) = TestServer::start().await.with_admin();
    fill(&server, "main").await;

    let path = format!("{DAYS}?dateFrom=2024-01-02&dateTo=2024-01-05&pageSize=3&withTotalPages=true");
    let first = admin.read(&path).await;
    let second = admin.read(first["next"].as_str().unwrap()).await;
    let by_number = admin.read(&format!("{path}&currentPage=2")).await;

    assert_eq!(days_of(&first), ["2024-01-05", "2024-01-04", "2024-01-03"]);
    assert_eq!(first["statistics"], json!({"totalPages": 2, "pageSize": 3, "currentPage": 1}));
    assert_eq!((days_of(&second), second.get("next")), (vec!["2024-01-02"], None));
    assert_eq!(days_of(&by_number), ["2024-01-02"]);
    let day = &first["usageStatistics"][0];
    let of_day = ["requestCount", "sessionsPeakCount", "deviceCount", "deviceEndpointCount", "storageSize"];
    assert_eq!(of_day.map(|name| day[name].as_i64().unwrap()), [5, 95, 50, 45, 5000]);
    assert_eq!(day["subscribedApplications"], json!(["cockpit", "=1+1"]));
    let answer = admin.get(&path).await;
    answer.expect_media("tenantUsageStatisticsCollection");
}

#[tokio::test]
async fn timestamp_stands_for_its_day_in_utc() {
    let (server, admin) = TestServer::start().await.with_admin();
    fill(&server, "main").await;

    let path = format!("{DAYS}?dateFrom=2024-01-02T23:59:59Z&dateTo=2024-01-04T00:30:00%2B01:00");
    assert_eq!(days_of(&admin.read(&path).await), ["2024-01-03", "2024-01-02"]);
}

#[tokio::test]
async fn summary_adds_counts_and_has_peaks_and_the_newest_measures() {
    let (server, admin) = TestServer::start().await.with_admin();
    fill(&server, "main").await;

    let summary = admin.read(&format!("{SUMMARY}?dateFrom=2024-01-01&dateTo=2024-01-04")).await;

    let of_summary = [
        "requestCount",
        "sessionsPeakCount",
        "deviceCount",
        "storageSize",
        "peakDeviceCount",
        "peakStorageSize",
    ];
    assert_eq!(of_summary.map(|name| summary[name].as_i64().unwrap()), [10, 99, 40, 4000, 40, 4000]);
    let nothing = admin.read(&format!("{SUMMARY}?dateFrom=1999-01-01&dateTo=1999-01-02")).await;
    assert_eq!((&nothing["requestCount"], &nothing["storageSize"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn tables_have_a_line_for_each_day_and_no_formulas() {
    let (server, admin) = TestServer::start().await.with_admin();
    fill(&server, "main").await;

    let bounds = "dateFrom=2024-01-01&dateTo=2024-01-02";
    let table = async |path: String| {
        let answer = admin.request("GET", &path).header("Accept", "text/csv").send().await.expect(200);
        assert!(answer.header("Content-Type").unwrap().starts_with("text/csv"), "{path}");
        answer.text.lines().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let days = table(format!("{DAYS}?{bounds}")).await;
    let summary = table(format!("{SUMMARY}?{bounds}")).await;

    assert!(days[0].starts_with("day,requestCount,deviceRequestCount,"), "{}", days[0]);
    assert!(days[1].starts_with("2024-01-02,2,0,"), "{}", days[1]);
    assert!(days[2].ends_with(",10,9,1,1000,\"cockpit, =1+1\""), "{}", days[2]);
    assert_eq!((days.len(), summary.len()), (3, 2));
    assert!(summary[1].starts_with("main,"), "{}", summary[1]);
}

#[tokio::test]
async fn parents_read_their_tenants_and_nobody_else_does() {
    let (server, admin) = TestServer::start().await.with_admin();
    let reseller = create_reseller(&server, "reseller").await;
    reseller.create("/tenant/tenants", &tenant_of("child")).await;
    fill(&server, "child").await;
    let summary = format!("{SUMMARY}?tenant=child&dateTo=2024-12-31");

    for caller in [&management(&server), &reseller] {
        assert_eq!(caller.read(&summary).await["requestCount"], 55);
        let all = caller.read(&format!("{ALL}?dateTo=2024-12-31")).await;
        let child = all.as_array().unwrap().iter().find(|tenant| tenant["tenantId"] == "child").unwrap();
        assert_eq!((&child["requestCount"], &child["parentTenantId"]), (&json!(55), &json!("reseller")));
    }
    assert_eq!(reseller.read(ALL).await.as_array().unwrap().len(), 1);
    assert_eq!(admin.read(ALL).await, json!([]));
    admin.get(&summary).await.expect(404);
    let reader = server.user_with("reader", &["ROLE_TENANT_STATISTICS_READ"]).await;
    reader.get(DAYS).await.expect(200);
    reader.get(ALL).await.expect(403);
    let nobody = server.user_with("nobody", &["ROLE_INVENTORY_READ"]).await;
    for path in [DAYS, SUMMARY, ALL, "/tenant/statistics/live"] {
        nobody.get(path).await.expect(403);
    }
}

#[tokio::test]
async fn wrong_parameters_are_422_and_hostile_ones_harmless() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for query in
        ["dateFrom=yesterday", "dateTo=2024-13-01", "dateFrom=2024-02-01&dateTo=2024-01-01", "pageSize=0"]
    {
        admin.get(&format!("{DAYS}?{query}")).await.expect(422);
    }
    for query in
        ["dateFrom=1970-01-01", "dateTo=9999-12-31", "after=2_0_7", "after=1_x", "currentPage=2147483647"]
    {
        admin.get(&format!("{DAYS}?{query}")).await.expect(200);
    }
    for tenant in ["%00", "'--", "x".repeat(5000).as_str()] {
        admin.get(&format!("{SUMMARY}?tenant={tenant}")).await.expect(404);
    }
}
