//! `PUT /alarm/alarms?<filters>` (A-02, A-11, B-06; docs/rules.md#alarms).

use super::*;

pub(super) const CLEARED: &str = r#"{"status":"CLEARED"}"#;

pub(super) async fn bulk(caller: &Caller, filters: &str, body: &str) -> u16 {
    let request = caller.request("PUT", &format!("/alarm/alarms?{filters}"));
    let answer = request.header("Content-Type", "application/json").body(body).send().await;
    assert!(answer.status >= 400 || answer.text.is_empty(), "{}", answer.text);
    answer.status
}

/// Raises alarms of these types and returns their links.
async fn raise(caller: &Caller, device: &str, kinds: &[&str]) -> Vec<String> {
    let mut links = Vec::new();
    for kind in kinds {
        links.push(caller.raise_alarm(device, kind).await["self"].as_str().unwrap().to_owned());
    }
    links
}

pub(super) async fn statuses(caller: &Caller, links: &[String]) -> Vec<Value> {
    let mut statuses = Vec::new();
    for link in links {
        statuses.push(caller.read(link).await["status"].clone());
    }
    statuses
}

#[tokio::test]
async fn alarms_that_match_get_the_status_and_the_others_keep_theirs() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    let mut other = alarm_of(&motor, "cold");
    (other["severity"], other["time"]) = (json!("MINOR"), json!("2024-05-01T00:00:00Z"));
    let minor = admin.create("/alarm/alarms", &other).await["self"].as_str().unwrap().to_owned();

    for (filters, pump_cleared, minor_cleared) in [
        (format!("source={pump}"), true, false),
        ("severity=MINOR".into(), false, true),
        ("severity=MINOR,MAJOR".into(), true, true),
        ("status=ACTIVE".into(), true, true),
        ("status=ACKNOWLEDGED".into(), false, false),
        ("resolved=false".into(), true, true),
        ("resolved=true".into(), false, false),
        ("dateFrom=2024-04-01".into(), false, true),
        ("dateTo=2024-04-01".into(), true, false),
        ("status=ACTIVE&type=cold".into(), false, true),
        ("resolved=false&status=CLEARED".into(), false, false),
        ("source=nobody".into(), false, false),
    ] {
        let hot = raise(&admin, &pump, &["hot"]).await.remove(0);
        admin.put(&minor, &json!({"status": "ACTIVE"})).await;

        assert_eq!(bulk(&admin, &filters, CLEARED).await, 200, "{filters}");

        let expected =
            [pump_cleared, minor_cleared].map(|cleared| if cleared { "CLEARED" } else { "ACTIVE" });
        assert_eq!(statuses(&admin, &[hot, minor.clone()]).await, expected, "{filters}");
    }
}

#[tokio::test]
async fn without_a_filter_it_is_refused_and_nothing_changes() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let links = raise(&admin, &device, &["hot"]).await;

    for filters in [
        "type=none&sorce=1&status=ACTIVE",
        "",
        "type=hot",
        "status=",
        "severity=,",
        "pageSize=5",
        "revert=true",
        "unknown=1",
    ] {
        assert_eq!(bulk(&admin, filters, CLEARED).await, 422, "{filters}");
    }
    for filters in
        ["status=active", "resolved=maybe", "severity=FATAL", "dateFrom=yesterday", "dateTo=2024-99-99"]
    {
        assert_eq!(bulk(&admin, filters, CLEARED).await, 422, "{filters}");
    }
    assert_eq!(statuses(&admin, &links).await, ["ACTIVE"]);
}

#[tokio::test]
async fn body_is_exactly_a_status() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let links = raise(&admin, &device, &["hot"]).await;

    for (body, status) in [
        ("", 400),
        ("x", 400),
        ("[]", 400),
        ("{}", 422),
        (r#"{"status":null}"#, 422),
        (r#"{"status":"cleared"}"#, 422),
        (r#"{"status":5}"#, 422),
        (r#"{"status":"CLEARED","text":"x"}"#, 422),
        (r#"{"status":"CLEARED","id":"7"}"#, 422),
        (r#"{"severity":"MAJOR"}"#, 422),
    ] {
        let answer = bulk(&admin, "status=ACTIVE", body).await;
        assert!(answer == status || (status == 400 && answer == 422), "{body}: {answer}");
    }
    assert_eq!(statuses(&admin, &links).await, ["ACTIVE"]);
}

#[tokio::test]
async fn only_the_administrator_of_alarms_may() {
    let server = TestServer::shared().await;
    let owner = server.user_with("owner", &["ROLE_INVENTORY_CREATE", "ROLE_ALARM_READ"]).await;
    let device = owner.create_device("pump").await;
    let links = raise(&owner, &device, &["hot"]).await;
    let filters = format!("source={device}");

    assert_eq!(bulk(&owner, &filters, CLEARED).await, 403);
    assert_eq!(bulk(&owner, "", "x").await, 403);
    assert_eq!(bulk(&server.stranger(), &filters, CLEARED).await, 401);
    assert_eq!(statuses(&owner, &links).await, ["ACTIVE"]);
    let administrator = server.user_with("administrator", &["ROLE_ALARM_ADMIN"]).await;
    assert_eq!(bulk(&administrator, &filters, CLEARED).await, 200);
    assert_eq!(statuses(&owner, &links).await, ["CLEARED"]);
}

#[tokio::test]
async fn each_changed_alarm_has_one_audit_record_and_the_others_none() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let links = raise(&admin, &device, &["hot", "cold", "wet"]).await;
    admin.put(&links[1], &json!({"status": "ACKNOWLEDGED"})).await;
    admin.put(&links[2], &json!({"status": "CLEARED"})).await;
    let administrator = server.user_with("administrator", &["ROLE_ALARM_ADMIN"]).await;

    assert_eq!(bulk(&administrator, "status=ACTIVE,CLEARED", CLEARED).await, 200);
    assert_eq!(bulk(&administrator, "status=ACTIVE,CLEARED", CLEARED).await, 200);

    assert_eq!(statuses(&admin, &links).await, ["CLEARED", "ACKNOWLEDGED", "CLEARED"]);
    let id = |link: &String| link.rsplit('/').next().unwrap().to_owned();
    let records = server.audit_records(&id(&links[0])).await;
    let expected = json!([{
        "type": "Alarm",
        "activity": "Alarm updated",
        "user": "administrator",
        "severity": "major",
        "changes": [{
            "attribute": "status",
            "type": "String",
            "previousValue": "ACTIVE",
            "newValue": "CLEARED",
            "changeType": "REPLACED",
        }],
    }]);
    assert_eq!(json!(records), expected);
    // These links were changed by single PUTs before.
    for link in &links[1..] {
        assert_eq!(server.audit_records(&id(link)).await.len(), 1);
    }
    let shown = admin.read(&format!("/audit/auditRecords?source={}", id(&links[0]))).await;
    assert_eq!(shown["auditRecords"][0]["source"]["self"], links[0]);
}

#[tokio::test]
async fn each_changed_alarm_is_published_once_and_the_others_are_not() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let links = raise(&admin, &device, &["hot", "cold", "wet"]).await;
    admin.put(&links[1], &json!({"status": "CLEARED"})).await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    assert_eq!(bulk(&admin, &format!("source={device}"), CLEARED).await, 200);
    let last = admin.raise_alarm(&device, "last").await;

    let told = session.receive(3).await;
    let expected = [&links[0], &links[2]];
    for (message, link) in told.iter().zip(expected) {
        assert_eq!(message["channel"], format!("/alarms/{device}"));
        assert_eq!(message["data"]["realtimeAction"], "UPDATE");
        assert_eq!(message["data"]["data"], admin.read(link).await);
    }
    assert_eq!(told[2]["data"]["data"], last);
    assert_eq!(told.len(), 3);
}

#[tokio::test]
async fn alarm_that_would_be_a_second_open_one_is_left_out() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut links = Vec::new();
    // After the update, two alarms of type "hot" are cleared and one is open, two of "cold" are cleared, and one of
    // "wet".
    for kind in ["hot", "hot", "cold", "cold", "wet"] {
        links.extend(raise(&admin, &device, &[kind]).await);
        admin.put(links.last().unwrap(), &json!({"status": "CLEARED"})).await;
    }
    links.extend(raise(&admin, &device, &["hot"]).await);

    assert_eq!(bulk(&admin, "resolved=true", r#"{"status":"ACTIVE"}"#).await, 200);

    let expected = ["CLEARED", "CLEARED", "ACTIVE", "CLEARED", "ACTIVE", "ACTIVE"];
    assert_eq!(statuses(&admin, &links).await, expected);
}

#[tokio::test]
async fn open_alarms_may_change_among_themselves() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let links = raise(&admin, &device, &["hot", "cold"]).await;

    assert_eq!(bulk(&admin, "status=ACTIVE", r#"{"status":"ACKNOWLEDGED"}"#).await, 200);
    assert_eq!(statuses(&admin, &links).await, ["ACKNOWLEDGED", "ACKNOWLEDGED"]);
    assert_eq!(bulk(&admin, "resolved=false", r#"{"status":"ACTIVE"}"#).await, 200);
    assert_eq!(statuses(&admin, &links).await, ["ACTIVE", "ACTIVE"]);
}

#[tokio::test]
async fn other_tenants_are_not_concerned() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t2", "t2.example.com").await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let (main, other) = (server.admin(), server.caller("t2/admin", crate::harness::ADMIN_PASSWORD));
    let links = raise(&other, &other.create_device("pump").await, &["hot"]).await;
    raise(&main, &main.create_device("pump").await, &["hot"]).await;

    assert_eq!(bulk(&main, "status=ACTIVE", CLEARED).await, 200);

    assert_eq!(statuses(&other, &links).await, ["ACTIVE"]);
}

#[tokio::test]
async fn transient_changes_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let links = raise(&admin, &admin.create_device("pump").await, &["hot"]).await;

    for (mode, status) in [("TRANSIENT", 200), ("CEP", 422), ("x", 422)] {
        let request = admin.request("PUT", "/alarm/alarms?status=ACTIVE");
        let answer = request.header("X-Platform-Processing-Mode", mode).json(&json!({"status": "CLEARED"}));
        assert_eq!(answer.send().await.status, status, "{mode}");
    }

    assert_eq!(statuses(&admin, &links).await, ["ACTIVE"]);
}
