//! `totalPages` (P-02, P-03).

use super::*;

async fn total_pages(server: &TestServer, query: &str) -> serde_json::Value {
    server.admin().read(&format!("{OBJECTS}?{query}")).await["statistics"]["totalPages"].clone()
}

#[tokio::test]
async fn total_pages_are_given_on_request_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    assert_eq!(total_pages(&server, "withTotalPages=true").await, json!(0), "of nothing");
    for kind in ["a", "b", "a", "a", "b", "b", "b"] {
        admin.create(OBJECTS, &json!({"type": kind})).await;
    }

    let rows = [
        ("withTotalPages=true", json!(2)),
        ("withTotalPages=true&pageSize=7", json!(1)),
        ("withTotalPages=true&pageSize=3&currentPage=3", json!(3)),
        ("withTotalPages=false", json!(null)),
        ("pageSize=1&withTotalPages=true&type=a", json!(3)),
    ];
    let rows = rows.map(|(query, expected)| (query, (query, expected)));
    check_rows(rows, async |(query, expected)| assert_eq!(total_pages(&server, query).await, expected)).await;
}

#[tokio::test]
async fn total_pages_of_users_and_tenants_are_given_on_request_only() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for path in [
        "/user/roles",
        "/user/main/users",
        "/user/main/users/admin/roles",
        "/user/main/users/admin/groups",
        "/user/main/groups",
        "/user/main/groups/1/users",
        "/user/main/groups/1/roles",
        "/tenant/tenants",
        "/tenant/tenants/main/applications",
        "/tenant/options",
        "/tenant/system/options",
        "/tenant/loginOptions",
    ] {
        let (plain, counted) =
            (admin.read(path).await, admin.read(&format!("{path}?withTotalPages=true")).await);
        assert_eq!(plain["statistics"], json!({"pageSize": 5, "currentPage": 1}), "{path}");
        assert!(counted["statistics"]["totalPages"].is_u64(), "{path}: {counted}");
    }
}

#[tokio::test]
async fn next_link_keeps_counting() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for n in 0..5 {
        admin.create_device(&format!("pump {n}")).await;
    }
    let first = admin.read(&format!("{OBJECTS}?pageSize=2&withTotalPages=true")).await;

    let second = admin.read(first["next"].as_str().unwrap()).await;

    assert_eq!(second["statistics"], json!({"totalPages": 3, "pageSize": 2, "currentPage": 2}));
    assert_eq!(ids(&second, "managedObjects").len(), 2);
}
