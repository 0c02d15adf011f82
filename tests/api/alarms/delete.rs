//! `DELETE /alarm/alarms?<filters>` (A-03, B-06).

use super::*;
use crate::harness::bulk_updates::{count_of, fill};

async fn left(caller: &Caller) -> Vec<Value> {
    let list = caller.read("/alarm/alarms?pageSize=100&revert=true").await;
    list["alarms"].as_array().unwrap().iter().map(|alarm| alarm["type"].clone()).collect()
}

#[tokio::test]
async fn what_the_filters_of_get_find_is_deleted() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    let link = format!("/inventory/managedObjects/{pump}/childDevices");
    admin.post(&link, &json!({"managedObject": {"id": motor}})).await;

    for (filters, expected) in [
        (format!("source={pump}"), vec!["cold"]),
        (format!("source={pump}&withSourceDevices=true"), vec![]),
        ("severity=MINOR".into(), vec!["hot"]),
        ("status=CLEARED".into(), vec!["hot", "cold"]),
        ("resolved=false".into(), vec![]),
        ("type=cold".into(), vec!["hot"]),
        ("dateFrom=2024-04-01".into(), vec!["hot"]),
        ("dateTo=2024-04-01".into(), vec!["cold"]),
        ("source=nobody".into(), vec!["hot", "cold"]),
        ("resolved=true&status=ACTIVE".into(), vec!["hot", "cold"]),
        (String::new(), vec![]),
    ] {
        admin.raise_alarm(&pump, "hot").await;
        let mut cold = alarm_of(&motor, "cold");
        (cold["severity"], cold["time"]) = (json!("MINOR"), json!("2024-05-01T00:00:00Z"));
        admin.create("/alarm/alarms", &cold).await;

        let answer = admin.delete(&format!("/alarm/alarms?{filters}")).await;

        assert_eq!((answer.status, &*answer.text), (204, ""), "{filters}");
        assert_eq!(left(&admin).await, expected, "{filters}");
    }
}

#[tokio::test]
async fn wrong_filters_are_refused_and_nothing_is_deleted() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.raise_alarm(&admin.create_device("pump").await, "hot").await;

    for filters in ["status=active", "resolved=1", "severity=x", "dateFrom=x", "withSourceAssets=true"] {
        assert_eq!(admin.delete(&format!("/alarm/alarms?{filters}")).await.status, 422, "{filters}");
    }
    assert_eq!(left(&admin).await, ["hot"]);
}

#[tokio::test]
async fn unknown_parameter_deletes_nothing_and_the_near_ones_are_named() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.raise_alarm(&admin.create_device("pump").await, "hot").await;

    for (parameter, near) in [
        ("sorce", "is 'source' meant?"),
        ("Status", "is 'status' meant?"),
        ("dateform", "'dateFrom'"),
        ("createdFrom", "Known parameters: status, source"),
        ("", "Known parameters: status, source"),
    ] {
        let answer = admin.delete(&format!("/alarm/alarms?type=none&{parameter}=1")).await.expect(422);
        assert!(answer.message().contains(&format!("Unknown parameter '{parameter}'")), "{}", answer.text);
        assert!(answer.message().contains(near), "{parameter}: {}", answer.message());
    }
    assert_eq!(left(&admin).await, ["hot"]);
    assert_eq!(admin.get("/alarm/alarms?sorce=1").await.status, 200, "what only reads ignores it");
}

#[tokio::test]
async fn only_the_administrator_of_alarms_may() {
    let server = TestServer::shared().await;
    let owner = server.user_with("owner", &["ROLE_INVENTORY_CREATE", "ROLE_ALARM_READ"]).await;
    let device = owner.create_device("pump").await;
    owner.raise_alarm(&device, "hot").await;

    assert_eq!(owner.delete(&format!("/alarm/alarms?source={device}")).await.status, 403);
    assert_eq!(server.stranger().delete("/alarm/alarms").await.status, 401);
    assert_eq!(left(&owner).await, ["hot"]);
}

#[tokio::test]
async fn other_tenants_keep_theirs() {
    let server = TestServer::start_with_tenant("t2", "t2.example.com").await;
    let (main, other) = (server.admin(), server.caller("t2/admin", crate::harness::ADMIN_PASSWORD));
    other.raise_alarm(&other.create_device("pump").await, "hot").await;
    main.raise_alarm(&main.create_device("pump").await, "hot").await;

    assert_eq!(main.delete("/alarm/alarms").await.status, 204);

    assert_eq!((left(&main).await.len(), left(&other).await.len()), (0, 1));
}

#[tokio::test]
async fn each_of_a_few_deleted_alarms_is_published_by_its_id() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let (hot, cold) = (admin.raise_alarm(&device, "hot").await, admin.raise_alarm(&device, "cold").await);
    let session = admin.listen(&format!("/alarms/{device}")).await;

    admin.delete("/alarm/alarms?type=hot").await;
    admin.delete("/alarm/alarms").await;

    let told = session.receive(2).await;
    for (message, alarm) in told.iter().zip([hot, cold]) {
        assert_eq!(message["channel"], format!("/alarms/{device}"));
        assert_eq!(message["data"], json!({"realtimeAction": "DELETE", "data": alarm["id"]}));
    }
}

#[tokio::test]
async fn a_thousand_deletions_are_published_and_none_beyond() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    fill(server.database(), std::slice::from_ref(&device), 2600).await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    assert_eq!(admin.delete("/alarm/alarms?status=ACTIVE").await.status, 204);
    let last = admin.raise_alarm(&device, "last").await;

    let told = session.receive(1001).await;
    assert_eq!(told.len(), 1001);
    assert!(told[..1000].iter().all(|told| told["data"]["realtimeAction"] == "DELETE"));
    assert_eq!(told[1000]["data"]["data"], last);
    assert_eq!(count_of(server.database(), "ACKNOWLEDGED").await, 260);
    assert_eq!(count_of(server.database(), "ACTIVE").await, 1);
}

#[tokio::test]
async fn device_raises_an_alarm_anew_that_was_deleted() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    admin.delete("/alarm/alarms").await;

    let second = admin.raise_alarm(&device, "hot").await;

    assert_ne!(first["id"], second["id"]);
    assert_eq!(second["count"], 1);
    assert_eq!(admin.get(first["self"].as_str().unwrap()).await.status, 404);
    assert_eq!(ids(&admin.read("/alarm/alarms").await, "alarms").len(), 1);
}

#[tokio::test]
async fn transient_deletes_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.raise_alarm(&admin.create_device("pump").await, "hot").await;

    let request = admin.request("DELETE", "/alarm/alarms").header("X-Platform-Processing-Mode", "TRANSIENT");

    assert_eq!(request.send().await.status, 204);
    assert_eq!(left(&admin).await, ["hot"]);
}
