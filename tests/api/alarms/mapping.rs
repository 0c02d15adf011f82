//! Severity mapping.

use super::*;

const OPTIONS: &str = "/tenant/options";

async fn map(caller: &Caller, kind: &str, value: &str) -> Response {
    let option = json!({"category": "alarm.type.mapping", "key": kind, "value": value});
    caller.post(OPTIONS, &option).await
}

fn shown(alarm: &Value) -> (&Value, &Value) {
    (&alarm["severity"], &alarm["text"])
}

#[tokio::test]
async fn mapping_overrides_severity_and_text_at_once() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    admin.raise_alarm(&device, "before").await;

    for (kind, value, severity, text) in [
        ("both", "CRITICAL|Fire", "CRITICAL", "Fire"),
        ("severity", "WARNING|", "WARNING", "Too hot"),
        ("severity alone", "MINOR", "MINOR", "Too hot"),
        ("text", "|Fire | smoke", "MAJOR", "Fire | smoke"),
        ("neither", "|", "MAJOR", "Too hot"),
        // Types are compared byte by byte: another case or a pattern does not match.
        ("BOTH", "MINOR|x", "MINOR", "x"),
    ] {
        assert_eq!(map(&admin, kind, value).await.status, 201, "{kind}");

        let alarm = admin.raise_alarm(&device, kind).await;

        assert_eq!(shown(&alarm), (&json!(severity), &json!(text)), "{kind}");
        assert_eq!(admin.read(alarm["self"].as_str().unwrap()).await, alarm);
    }
    let other = admin.raise_alarm(&device, "other").await;
    assert_eq!(shown(&other), (&json!("MAJOR"), &json!("Too hot")));
}

#[tokio::test]
async fn mapping_that_is_changed_or_removed_counts_at_once() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let path = format!("{OPTIONS}/alarm.type.mapping/hot");
    let mut severities = Vec::new();
    let clear = async |alarm: Value| {
        admin.put(alarm["self"].as_str().unwrap(), &json!({"status": "CLEARED"})).await;
        alarm["severity"].clone()
    };

    map(&admin, "hot", "MINOR|").await;
    severities.push(clear(admin.raise_alarm(&device, "hot").await).await);
    admin.put(&path, &json!({"value": "WARNING|"})).await;
    severities.push(clear(admin.raise_alarm(&device, "hot").await).await);
    admin.put(&format!("{OPTIONS}/alarm.type.mapping"), &json!({"hot": "CRITICAL|"})).await;
    severities.push(clear(admin.raise_alarm(&device, "hot").await).await);
    assert_eq!(admin.delete(&path).await.status, 204);
    severities.push(clear(admin.raise_alarm(&device, "hot").await).await);

    assert_eq!(severities, ["MINOR", "WARNING", "CRITICAL", "MAJOR"]);
}

#[tokio::test]
async fn mapping_comes_before_deduplication_which_keeps_the_severity() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    map(&admin, "hot", "CRITICAL|Fire").await;

    let again = admin.raise_alarm(&device, "hot").await;

    assert_eq!((&again["id"], &again["count"]), (&first["id"], &json!(2)));
    assert_eq!(shown(&again), (&json!("MAJOR"), &json!("Too hot")));
}

#[tokio::test]
async fn severity_none_suppresses_the_alarm() {
    let (server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    map(&admin, "hot", "NONE|whatever").await;

    let mut posted = alarm_of(&device, "hot");
    posted["plat_X"] = json!({"a": 1});
    let answer = admin.post("/alarm/alarms", &posted).await.expect(201);

    assert_eq!(answer.header("Location"), Some(&*format!("{}/alarm/alarms/null", server.base())));
    let body = answer.json();
    assert_eq!(body["self"], format!("{}/alarm/alarms/null", server.base()));
    assert_eq!(body.get("id"), None);
    for name in ["type", "time", "text", "severity", "plat_X"] {
        assert_eq!(body[name], posted[name], "{name}");
    }
    assert_eq!(body["source"]["id"], json!(device));
    assert_eq!(server.count("alarms").await, 0);
    // The suppressed alarm was not published: the first notification is that of the next alarm.
    let heard = admin.raise_alarm(&device, "cold").await;
    assert_eq!(session.receive(1).await[0]["data"]["data"], heard);
}

#[tokio::test]
async fn suppressed_alarm_neither_counts_nor_changes_an_open_one() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let open = admin.raise_alarm(&device, "hot").await;
    map(&admin, "hot", "NONE").await;

    assert_eq!(admin.raise_alarm(&device, "hot").await.get("id"), None);
    let transient = admin.request("POST", "/alarm/alarms").header("X-Platform-Processing-Mode", "TRANSIENT");
    transient.accepting_json().json(&alarm_of(&device, "hot")).send().await.expect(201);

    assert_eq!(admin.read(open["self"].as_str().unwrap()).await, open);
    // An existing alarm can still be cleared.
    let cleared = admin.put(open["self"].as_str().unwrap(), &json!({"status": "CLEARED"})).await;
    assert_eq!(cleared.json()["status"], "CLEARED");
}

#[tokio::test]
async fn suppressed_alarm_needs_the_same_rights_and_an_existing_source() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    map(&admin, "hot", "NONE").await;
    let nobody = server.user_with("nobody", &["ROLE_INVENTORY_READ"]).await;

    assert_eq!(nobody.post("/alarm/alarms", &alarm_of(&device, "hot")).await.status, 403);
    assert_eq!(admin.post("/alarm/alarms", &alarm_of("4711", "hot")).await.status, 422);
    let mut incomplete = alarm_of(&device, "hot");
    incomplete.as_object_mut().unwrap().remove("severity");
    assert_eq!(admin.post("/alarm/alarms", &incomplete).await.status, 422);
}

#[tokio::test]
async fn mapping_of_another_tenant_does_not_count() {
    let server = TestServer::start_with_tenant("t2", "t2.example.com").await;
    let (main, other) = (server.admin(), server.caller("t2/admin", crate::harness::ADMIN_PASSWORD));
    map(&main, "hot", "NONE").await;
    let device = other.create_device("pump").await;

    assert!(other.raise_alarm(&device, "hot").await["id"].is_string());
}

#[tokio::test]
async fn mapping_set_at_one_server_counts_at_the_other() {
    let database = crate::harness::TestDatabase::create().await;
    let a = TestServer::start_on(&database, |_| {}).await;
    let b = TestServer::start_on(&database, |_| {}).await;
    let (on_a, on_b) = (a.admin(), b.admin());
    let device = on_b.create_device("pump").await;
    on_b.raise_alarm(&device, "other").await;

    map(&on_a, "hot", "NONE").await;

    // The database notifies the other server.
    until("a mapping at the other server", async || {
        let alarm = on_b.raise_alarm(&device, "hot").await;
        alarm.get("id").is_none()
    })
    .await;
}

#[tokio::test]
async fn value_that_is_not_a_mapping_is_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for value in ["major|x", "FATAL|x", "Too hot", "none|", "CRITICAL,MAJOR|x"] {
        let refused = map(&admin, "hot", value).await.expect_message(422, "'hot'");
        assert!(refused.message().contains(value), "{}", refused.text);
        let path = format!("{OPTIONS}/alarm.type.mapping/hot");
        assert_eq!(admin.put(&path, &json!({"value": value})).await.status, 422, "{value}");
        let category = json!({"cold": "MAJOR|", "hot": value});
        assert_eq!(admin.put(&format!("{OPTIONS}/alarm.type.mapping"), &category).await.status, 422);
    }
    assert_eq!(map(&admin, "credentials.hot", "MAJOR|").await.status, 422);
    assert_eq!(admin.read(&format!("{OPTIONS}/alarm.type.mapping")).await, json!({}));
    // Options of other categories are not validated.
    let option = json!({"category": "c", "key": "hot", "value": "FATAL|x"});
    assert_eq!(admin.post(OPTIONS, &option).await.status, 201);
}

#[tokio::test]
async fn value_that_was_written_past_the_check_counts_as_absent() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let insert = "INSERT INTO options (tenant, category, key, value) VALUES \
        ($1, 'alarm.type.mapping', 'hot', 'FATAL|x'), ($1, 'alarm.type.mapping', 'cold', 'MINOR|x')";
    server.execute(insert, &[]).await;

    let (hot, cold) = (admin.raise_alarm(&device, "hot").await, admin.raise_alarm(&device, "cold").await);

    assert_eq!(shown(&hot), (&json!("MAJOR"), &json!("Too hot")));
    assert_eq!(shown(&cold), (&json!("MINOR"), &json!("x")));
    let listed = admin.read("/alarm/alarms").await;
    assert_eq!(ids(&listed, "alarms").len(), 2);
    assert_eq!(without(&hot, &["id"])["count"], 1);
}
