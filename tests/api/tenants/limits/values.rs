//! The values of limits, their origin, and their audit records.

use super::*;

#[tokio::test]
async fn tenant_has_the_defaults_of_the_server_until_something_is_set() {
    let server = TestServer::start_with(|settings| settings.limits.tenant_devices = Some(7)).await;
    let boss = create_tenant(&server, "t7").await;

    let limits = boss.read(OWN).await;

    assert!(limits["self"].as_str().unwrap().ends_with("/tenant/limits"), "{limits}");
    assert_eq!(limits["tenant"], "t7");
    assert_eq!(limits["limits"]["modules"], json!({"value": 100, "from": "server", "usage": 0}));
    assert_eq!(
        limits["limits"]["requestsPerSecond"],
        json!({"value": null, "from": "server", "usage": null})
    );
    assert_eq!(limits["limits"]["devices"]["value"], 7);
    assert_eq!(limits["limits"].as_object().unwrap().len(), 14);
}

#[tokio::test]
async fn put_sets_what_was_sent_and_null_removes_it() {
    let (server, boss) = with_tenant("t7").await;

    let changed = set(&server, "t7", json!({"modules": 3, "sessions": 5})).await;
    let again = set(&server, "t7", json!({"modules": null})).await;

    assert!(changed["self"].as_str().unwrap().ends_with(&path_of("t7")), "{changed}");
    assert_eq!(changed["limits"]["modules"], json!({"value": 3, "from": "tenant", "usage": 0}));
    assert_eq!(again["limits"]["modules"], json!({"value": 100, "from": "server", "usage": 0}));
    assert_eq!(again["limits"]["sessions"]["value"], 5);
    assert_eq!(again, management(&server).read(&path_of("t7")).await);
    assert_eq!(limit(&boss, "sessions").await, json!({"value": 5, "from": "tenant", "usage": 0}));
}

#[tokio::test]
async fn invalid_bodies_are_422_and_change_nothing() {
    let (server, _) = with_tenant("t7").await;

    for (body, named) in [
        (json!({"modules": 1, "divices": 1}), "divices"),
        (json!({"modules": 1, "devices": -1}), "devices"),
        (json!({"modules": 1, "devices": "1"}), "devices"),
        (json!({"modules": 1, "devices": [1]}), "devices"),
        (json!({"modules": 1, "requestsPerSecond": 0}), "requestsPerSecond"),
        (json!({"modules": 1, "storedBytes": 1e300}), "storedBytes"),
    ] {
        management(&server).put(&path_of("t7"), &body).await.expect_message(422, named);
    }
    assert_eq!(management(&server).read(&path_of("t7")).await["limits"]["modules"]["from"], "server");
}

#[tokio::test]
async fn sub_tenant_never_has_more_than_the_tenant_above_it() {
    let server = TestServer::start().await;
    let reseller = create_reseller(&server, "t7").await;
    reseller.create("/tenant/tenants", &super::super::tenant_of("t8")).await;
    let sub = server.caller("t8/boss", ADMIN_PASSWORD);
    reseller.put(&path_of("t8"), &json!({"devices": 500})).await.expect(200);
    assert_eq!(limit(&sub, "devices").await["value"], 500);

    set(&server, "t7", json!({"devices": 20, "modules": 4})).await;

    let of_sub = async |name| {
        let limit = limit(&sub, name).await;
        (limit["value"].clone(), limit["from"].clone())
    };
    assert_eq!(of_sub("devices").await, (json!(20), json!("parent")));
    assert_eq!(of_sub("modules").await, (json!(4), json!("parent")));
    set(&server, "t7", json!({"devices": null})).await;
    assert_eq!(of_sub("devices").await, (json!(500), json!("tenant")));
}

#[tokio::test]
async fn tenant_that_a_limited_one_creates_is_bounded_too() {
    let server = TestServer::start().await;
    let reseller = create_reseller(&server, "t7").await;
    set(&server, "t7", json!({"modules": 2})).await;
    reseller.create("/tenant/tenants", &super::super::tenant_of("t8")).await;
    let sub = server.caller("t8/boss", ADMIN_PASSWORD);

    until("the limit of the parent", async || limit(&sub, "modules").await["from"] == "parent").await;
}

#[tokio::test]
async fn changes_are_in_the_audit_log_of_the_tenant() {
    let (server, boss) = with_tenant("t7").await;
    set(&server, "t7", json!({"devices": 3})).await;
    set(&server, "t7", json!({"devices": 3})).await;
    set(&server, "t7", json!({"devices": null})).await;

    let records = boss.read("/audit/auditRecords?type=Tenant&pageSize=10").await["auditRecords"].clone();

    // The creation of the tenant has no changes.
    let changed = records.as_array().unwrap().iter().filter(|record| record["changes"][0].is_object());
    let mut changes: Vec<Value> = changed.map(|record| record["changes"][0].clone()).collect();
    changes.sort_by_key(ToString::to_string);
    let change = |change: &Value| (change["previousValue"].clone(), change["newValue"].clone());
    assert_eq!(
        changes.iter().map(change).collect::<Vec<_>>(),
        [(json!("3"), json!(null)), (json!(null), json!("3"))]
    );
    assert_eq!(records[0]["user"], "management/admin");
    assert_eq!(changes[0]["attribute"], "devices");
}

#[tokio::test]
async fn limits_are_still_in_force_after_a_restart() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    create_tenant(&server, "t7").await;
    set(&server, "t7", json!({"sessions": 0})).await;
    server.stop().await;

    let server = TestServer::start_on(&database, |_| {}).await;

    let boss = server.caller("t7/boss", ADMIN_PASSWORD);
    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]);
    boss.bayeux(REALTIME, &handshake).await.expect(403);
}
