//! `totalPages` (P-02, P-03).

use super::*;

async fn total_pages(server: &TestServer, query: &str) -> serde_json::Value {
    server.admin().read(&format!("{OBJECTS}?{query}")).await["statistics"]["totalPages"].clone()
}

#[tokio::test]
async fn total_pages_are_given_on_request_only() {
    let (server, admin) = TestServer::shared().await.with_admin();
    for n in 0..7 {
        admin.create_device(&format!("pump {n}")).await;
    }

    assert_eq!(total_pages(&server, "withTotalPages=true").await, json!(2));
    assert_eq!(total_pages(&server, "withTotalPages=true&pageSize=7").await, json!(1));
    assert_eq!(total_pages(&server, "withTotalPages=true&pageSize=3&currentPage=3").await, json!(3));
    assert_eq!(total_pages(&server, "withTotalPages=false").await, json!(null));
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
async fn total_pages_of_nothing_are_0() {
    let server = TestServer::shared().await;

    assert_eq!(total_pages(&server, "withTotalPages=true").await, json!(0));
}

#[tokio::test]
async fn page_size_1_counts_the_matching_records() {
    let (server, admin) = TestServer::shared().await.with_admin();
    for kind in ["a", "b", "a", "a"] {
        admin.create(OBJECTS, &json!({"type": kind})).await;
    }

    assert_eq!(total_pages(&server, "pageSize=1&withTotalPages=true&type=a").await, json!(3));
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
