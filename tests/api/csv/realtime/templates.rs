//! The template sets that evaluate the notifications of a session (H-01, S-52, S-53, S-55).

use super::*;
use crate::harness::operations::{AGENTS, create_agent, create_below};

const FRAGMENT: &str = "com_platform_model_smartrest_SmartRestTemplate";

/// An alarm with these members besides.
async fn raise(caller: &Caller, device: &str, kind: &str, members: Value) {
    let mut alarm = alarm_of(device, kind);
    if let (Some(alarm), Value::Object(members)) = (alarm.as_object_mut(), members) {
        alarm.extend(members);
    }
    caller.create("/alarm/alarms", &alarm).await;
}

#[tokio::test]
async fn further_sets_come_after_those_of_the_header_each_with_its_lines() {
    let (_server, admin, device) = TestServer::start().await.with_device("pump").await;
    register(&admin, "main", "11,200,,$.main,$.type").await;
    register(&admin, "a,b", "11,300,,$.ab,$.severity\n11,301,,$.ab,$.ab").await;
    register(&admin, "last", "11,400,,$.last,$.text").await;
    let client = RowClient::start(&admin, REALTIME, Some("main")).await;
    assert_eq!(client.send("81,<c>,/alarms/*,last,\"a,b\",main").await, "");

    raise(&admin, &device, "one", json!({"main": 1, "ab": 7, "last": 1})).await;
    raise(&admin, &device, "two", json!({"last": 1, "main": 1})).await;
    raise(&admin, &device, "three", json!({"main": 1})).await;
    raise(&admin, &device, "four", json!({"main": 1})).await;
    raise(&admin, &device, "none", json!({})).await;
    raise(&admin, &device, "five", json!({"ab": 8})).await;

    let expected = "87,1,main\n200,1,one\n87,1,last\n400,1,Too hot\n87,2,\"a,b\"\n300,1,MAJOR\n301,1,7\n\
        87,1,main\n200,1,two\n87,1,last\n400,1,Too hot\n87,2,main\n200,1,three\n200,1,four\n\
        87,2,\"a,b\"\n300,1,MAJOR\n301,1,8\n";
    // No connect was held, so all notifications were queued, unless the last one came after the connect.
    let told = client.receive(17).await;
    assert_eq!(told, expected);
}

#[tokio::test]
async fn unknown_x_id_gets_40_and_nothing_else_happens() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "types", TYPES).await;
    let client = RowClient::start(&admin, REALTIME, Some("types")).await;
    let unnamed = RowClient { x_id: Some("unknown".into()), ..client.clone() };
    let unknown = "40,\"No template for this X-ID.\"\n";

    let handshake = text_of(rows_to(&admin, REALTIME, Some("unknown"), "80").send().await);
    assert_eq!(handshake, unknown);
    assert_eq!(unnamed.send("81,<c>,/alarms/*").await, unknown);
    assert_eq!(client.send("81,<c>,/alarms/*,types,unknown\n81,<c>,/events/*").await, unknown);
    admin.raise_alarm(&device, "unheard").await;
    admin.create_event(&device, "opened").await;

    assert_eq!(client.connect().await, "200,1,opened\n", "neither the channel nor a further set is there");
    assert_eq!(unnamed.send("82,<c>,/events/*").await, "", "only 80 and 81 name sets");
    assert_eq!(unnamed.send("84,<c>").await, "");
}

#[tokio::test]
async fn set_of_another_tenant_is_unknown() {
    let (server, admin) = TestServer::start_with_tenant("t7", "plant7.example.com").await.with_admin();
    register(&admin, "types", TYPES).await;
    let other = server.caller("t7/admin", crate::harness::ADMIN_PASSWORD);

    let answer = text_of(rows_to(&other, REALTIME, Some("types"), "80").send().await);

    assert_eq!(answer, "40,\"No template for this X-ID.\"\n");
}

#[tokio::test]
async fn set_can_be_named_by_the_id_of_its_object() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let object = register(&admin, "types", TYPES).await;
    let client = RowClient::listen(&admin, &object, "/alarms/*").await;

    admin.raise_alarm(&device, "hot").await;

    assert_eq!(client.connect().await, "200,1,hot\n");
}

#[tokio::test]
async fn more_sets_than_a_session_takes_are_denied() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let client = RowClient::start(&admin, REALTIME, None).await;
    let many: Vec<String> = (0..65).map(|n| format!("set {n}")).collect();

    let answer = client.send(&format!("81,<c>,/alarms/*,{}", many.join(","))).await;

    assert_eq!(answer, "40,/meta/subscribe,403::subscribe_denied\n");
}

#[tokio::test]
async fn sets_added_while_a_connect_is_held_count_for_it() {
    if runs_at_two_servers() {
        // The message moves the session, which ends the connect.
        return;
    }
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "first", "11,200,,$.first,$.type").await;
    register(&admin, "second", "11,300,,,$.type").await;
    let client = RowClient::listen(&admin, "first", "/events/*").await;

    let held = client.hold().await;
    // Another X-Id in the header of a subscription counts from then on, without 87.
    let second = RowClient { x_id: Some("second".into()), ..client.clone() };
    second.subscribe("/alarms/*").await;
    raise(&admin, &device, "hot", json!({"first": 1})).await;

    assert_eq!(held.answer().await, "200,1,hot\n300,1,hot\n");
}

#[tokio::test]
async fn subscription_that_is_denied_adds_no_set() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "types", TYPES).await;
    register(&admin, "other", "11,300,,,$.type").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let client = RowClient::listen(&joe, "types", "/alarms/*").await;

    let denied = client.send("81,<c>,/events/*,other").await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(denied, "40,/meta/subscribe,403::subscribe_denied\n");
    assert_eq!(client.connect().await, "200,1,hot\n");
}

#[tokio::test]
async fn set_that_is_changed_or_deleted_while_a_connect_is_held_is_in_force_at_once() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let object = register(&admin, "types", TYPES).await;
    register(&admin, "other", "11,300,,$.other,$.other").await;
    let path = format!("/inventory/managedObjects/{object}");
    let client = RowClient::start(&admin, REALTIME, Some("types")).await;
    assert_eq!(client.send("81,<c>,/alarms/*,other").await, "");

    let held = client.hold().await;
    let mut fragment = admin.read(&path).await[FRAGMENT].clone();
    fragment["responseTemplates"][0]["pattern"] = json!(["$.severity"]);
    assert_eq!(admin.put(&path, &json!({FRAGMENT: fragment})).await.status, 200);
    admin.raise_alarm(&device, "changed").await;
    assert_eq!(held.answer().await, "87,1,types\n200,1,MAJOR\n");

    let held = client.hold().await;
    assert_eq!(admin.delete(&path).await.status, 204);
    admin.raise_alarm(&device, "unmatched").await;
    raise(&admin, &device, "matched", json!({"other": "x"})).await;
    assert_eq!(held.answer().await, "87,1,other\n300,1,x\n");
}

/// Creates a gateway with a child of this serial and returns their ids.
async fn gateway_with_child(admin: &Caller, serial: &str) -> (String, String) {
    let gateway = create_agent(admin, "gateway").await;
    let child = create_below(admin, &gateway, "sensor").await;
    let path = format!("/identity/globalIds/{child}/externalIds");
    admin.create(&path, &json!({"type": "plat_Serial", "externalId": serial})).await;
    (gateway, child)
}

#[tokio::test]
async fn without_an_x_id_operations_come_as_static_responses() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (gateway, child) = gateway_with_child(&admin, "s-1").await;

    for (path, x_id) in [(AGENTS, None), (AGENTS, Some("plat_Static"))] {
        let client = RowClient::start(&admin, path, x_id).await;
        client.subscribe(&format!("/{gateway}")).await;
        let held = client.hold().await;
        crate::harness::operations::queue(&admin, &child).await;
        assert_eq!(held.answer().await, "510,s-1\n", "{path} {x_id:?}");
        let held = client.hold().await;
        crate::harness::operations::queue(&admin, &gateway).await;
        assert_eq!(held.answer().await, format!("510,{gateway}\n"), "without a serial the id");
    }
}

#[tokio::test]
async fn static_responses_are_for_operations_that_wait_on_any_channel() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (_, child) = gateway_with_child(&admin, "s-1").await;
    register(&admin, "types", TYPES).await;
    let client = RowClient::start(&admin, REALTIME, Some("types")).await;
    assert_eq!(client.send(&format!("81,<c>,/operations/{child},plat_Static\n81,<c>,/alarms/*")).await, "");

    let held = client.hold().await;
    let operation = crate::harness::operations::queue(&admin, &child).await;
    assert_eq!(held.answer().await, "87,1,plat_Static\n510,s-1\n");

    let held = client.hold().await;
    crate::harness::operations::change(&admin, &operation, json!({"status": "EXECUTING"})).await;
    admin.raise_alarm(&child, "hot").await;
    assert_eq!(held.answer().await, "87,1,types\n200,1,hot\n", "one under way is not told again");
}

#[tokio::test]
async fn notifications_wait_while_nothing_can_be_looked_up() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (_, child) = gateway_with_child(&admin, "s-1").await;
    let client = RowClient::start(&admin, REALTIME, None).await;
    client.subscribe(&format!("/operations/{child}")).await;
    crate::harness::operations::queue(&admin, &child).await;

    server.database().execute("ALTER TABLE external_ids RENAME TO away", &[]).await;
    assert_eq!(client.connect().await, "");
    assert_eq!(client.send("83,<c>\n82,<c>,/alarms/*").await, "");
    server.database().execute("ALTER TABLE away RENAME TO external_ids", &[]).await;

    assert_eq!(client.connect().await, "510,s-1\n");
}

#[tokio::test]
async fn more_lines_than_one_response_holds_come_with_the_next_ones() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let templates: String = (200..210).map(|id| format!("11,{id},,,$.type,$.blob\n")).collect();
    register(&admin, "large", &templates).await;
    let client = RowClient::listen(&admin, "large", "/alarms/*").await;
    for n in 0..5 {
        raise(&admin, &device, &format!("type {n}"), json!({"blob": "x".repeat(600_000)})).await;
    }

    let (mut told, mut longest) = (Vec::new(), 0);
    while told.len() < 50 {
        let answer = client.connect().await;
        longest = longest.max(answer.len());
        told.extend(answer.lines().map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")));
    }

    let expected = (0..5).flat_map(|n| (200..210).map(move |id| format!("{id},1,type {n}")));
    assert_eq!(told, expected.collect::<Vec<_>>());
    assert!(longest < 24 << 20, "{longest}");
}

#[tokio::test]
async fn value_that_begins_with_filter_selects_notifications_and_is_no_set() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "types", TYPES).await;
    register(&admin, "texts", "11,300,,$.text,$.text").await;
    let client = RowClient::start(&admin, REALTIME, Some("types")).await;
    let row = "81,<c>,/alarms/*,\"$filter=type eq 'a, b' or type eq 'last'\",texts";
    assert_eq!(client.send(row).await, "");

    for kind in ["other", "a, b", "last"] {
        raise(&admin, &device, kind, json!({})).await;
    }

    let expected = "87,1,types\n200,1,\"a, b\"\n87,1,texts\n300,1,Too hot\n87,1,types\n200,1,last\n\
        87,1,texts\n300,1,Too hot\n";
    assert_eq!(client.receive(8).await, expected);
}

#[tokio::test]
async fn invalid_filter_of_a_row_is_a_line_with_its_place() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "types", TYPES).await;
    let client = RowClient::start(&admin, REALTIME, Some("types")).await;

    let refused = client.send("81,<c>,/alarms/*,$filter=type is hot").await;
    assert_eq!(
        refused,
        "40,/meta/subscribe,\"403::Invalid value of 'filter' at character 14: expected eq, ne, gt, ge, lt or le, found \
        'is hot'\"\n"
    );
    let two = client.send("81,<c>,/alarms/*,$filter=has(a),$filter=has(b)").await;
    assert!(two.starts_with("45,1,"), "{two}");
    admin.raise_alarm(&device, "unheard").await;
    client.subscribe("/events/*").await;
    admin.create_event(&device, "opened").await;
    assert_eq!(client.connect().await, "200,1,opened\n");
}
