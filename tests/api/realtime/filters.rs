//! Filters of subscriptions (B-35).

use super::*;
use crate::harness::modules::{deploy, marking, measure};
use crate::harness::operations::{AGENTS, create_agent, queue};

async fn raise(caller: &Caller, device: &str, kind: &str, severity: &str) -> Value {
    let mut alarm = alarm_of(device, kind);
    alarm["severity"] = json!(severity);
    caller.create("/alarm/alarms", &alarm).await
}

fn filtered(subscription: impl Into<Value>, filter: impl Into<Value>) -> Value {
    json!({"subscription": subscription.into(), "ext": {"com.platform.filter": filter.into()}})
}

async fn subscribe(session: &Session, channel: &str, filter: &str) {
    let reply = session.ask("/meta/subscribe", filtered(channel, filter)).await;
    assert_eq!(reply["successful"], true, "{reply}");
}

/// Receives until the object of this type arrives, and returns the types of all before it.
async fn types_until(session: &Session, last: &str) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    while types.last().is_none_or(|type_| type_ != last) {
        let messages = session.receive(1).await;
        types.extend(
            messages.iter().map(|message| message["data"]["data"]["type"].as_str().unwrap().to_owned()),
        );
    }
    types.pop();
    types
}

#[tokio::test]
async fn session_receives_what_its_filter_matches_and_others_receive_everything() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let all = admin.listen("/alarms/*").await;
    let some = admin.session().await;
    subscribe(&some, "/alarms/*", "severity eq 'CRITICAL' and type eq 'acme_*'").await;

    for (kind, severity) in
        [("acme_A", "CRITICAL"), ("acme_B", "MINOR"), ("other", "CRITICAL"), ("acme_Last", "CRITICAL")]
    {
        raise(&admin, &device, kind, severity).await;
    }

    assert_eq!(types_until(&some, "acme_Last").await, ["acme_A"]);
    assert_eq!(types_until(&all, "acme_Last").await, ["acme_A", "acme_B", "other"]);
}

#[tokio::test]
async fn many_sessions_with_few_filters_each_receive_their_own() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut sessions = Vec::new();
    for n in 0..12 {
        let session = admin.session().await;
        let filter = format!("type eq 'kind{}' or type eq 'last'", n % 3);
        subscribe(&session, "/alarms/*", &filter).await;
        sessions.push((session, n % 3));
    }

    for kind in ["kind0", "kind1", "none", "kind2", "last"] {
        admin.raise_alarm(&device, kind).await;
    }

    for (session, n) in sessions {
        assert_eq!(types_until(&session, "last").await, [format!("kind{n}")]);
    }
}

#[tokio::test]
async fn invalid_filter_denies_the_subscription_with_the_place_of_the_fault() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;

    for (filter, error) in [
        (
            json!("severity = 'CRITICAL'"),
            "403::Invalid value of 'filter' at character 10: expected eq, ne, gt, ge, lt or le, found '= 'CRITICAL''",
        ),
        (
            json!("severity eq 'CRITICAL"),
            "403::Invalid value of 'filter' at character 13: expected a closing quote '",
        ),
        (
            json!(""),
            "403::Invalid value of 'filter' at character 1: expected a path, has(, not or (, found the end",
        ),
        (json!("bygroupid(7)"), "at character 10: expected eq, ne"),
        (json!("type eq 'a' $orderby=type"), "at character 13: expected and, or or the end"),
        (json!(format!("type eq '{}'", "x".repeat(2048))), "allowed: at most 2048 bytes"),
        (json!("(".repeat(100)), "at most 32 levels"),
        (
            json!({"severity": "CRITICAL"}),
            "403::Invalid value of 'filter': {\"severity\":\"CRITICAL\"}; allowed: a condition",
        ),
        (json!(7), "403::Invalid value of 'filter': 7; allowed: a condition"),
    ] {
        let message = filtered("/alarms/*", filter.clone());
        let reply = session.ask("/meta/subscribe", message).await;
        assert_eq!((&reply["successful"], &reply["subscription"]), (&json!(false), &json!("/alarms/*")));
        assert!(reply["error"].as_str().unwrap().contains(error), "{filter}: {reply}");
        assert!(reply["error"].as_str().unwrap().starts_with("403::"), "{filter}: {reply}");
    }
    admin.raise_alarm(&device, "hot").await;
    assert!(notifications(&session.glance().await).is_empty(), "nothing was subscribed to");
    // Null counts as absent.
    let reply = session.ask("/meta/subscribe", filtered("/alarms/*", Value::Null)).await;
    assert_eq!(reply["successful"], true, "{reply}");
}

#[tokio::test]
async fn later_subscription_to_a_channel_replaces_its_filter() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    let raise_all = async |last: &str| {
        for kind in ["a", "b", last] {
            let alarm = admin.raise_alarm(&device, kind).await;
            if kind != last {
                let path = format!("/alarm/alarms/{}", alarm["id"].as_str().unwrap());
                admin.put(&path, &json!({"status": "CLEARED"})).await.expect(200);
            }
        }
        types_until(&session, last).await
    };

    subscribe(&session, "/alarms/*", "realtimeAction eq 'CREATE' and (type eq 'a' or type eq 'l*')").await;
    assert_eq!(raise_all("last").await, ["a"]);
    subscribe(&session, "/alarms/*", "realtimeAction eq 'CREATE' and (type eq 'b' or type eq 'l*')").await;
    assert_eq!(raise_all("later").await, ["b"]);
    // Without a filter everything comes, each change once.
    assert_eq!(session.subscribe("/alarms/*").await["successful"], true);
    assert_eq!(raise_all("latest").await, ["a", "a", "b", "b"]);
    // An unsubscription ends it, whatever the filter was.
    subscribe(&session, "/alarms/*", "has(id)").await;
    session.unsubscribe("/alarms/*").await;
    session.subscribe("/events/*").await;
    admin.raise_alarm(&device, "unheard").await;
    admin.create_event(&device, "end").await;
    assert_eq!(types_until(&session, "end").await, Vec::<String>::new());
}

#[tokio::test]
async fn session_with_two_matching_subscriptions_receives_a_change_once() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    subscribe(&session, "/alarms/*", "type eq 'wide' or type eq 'both' or type eq 'last'").await;
    subscribe(&session, &format!("/alarms/{device}"), "type eq 'narrow' or type eq 'both'").await;

    for kind in ["wide", "both", "neither", "narrow", "last"] {
        admin.raise_alarm(&device, kind).await;
    }

    assert_eq!(types_until(&session, "last").await, ["wide", "both", "narrow"]);
}

#[tokio::test]
async fn deletion_has_an_action_and_an_id() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;
    subscribe(&session, "/managedobjects/*", "realtimeAction eq 'DELETE' and name eq null").await;

    let device = admin.create_device("pump").await;
    admin.delete(&format!("/inventory/managedObjects/{device}")).await.expect(204);

    let messages = session.receive(1).await;
    assert_eq!(
        (messages.len(), &messages[0]["data"]),
        (1, &json!({"realtimeAction": "DELETE", "data": device}))
    );
}

#[tokio::test]
async fn filter_sees_measurements_in_the_units_of_its_session() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let measurement = |value: i64| {
        json!({"type": "t", "time": "2024-03-10T02:30:00Z", "source": {"id": device},
            "plat_Heat": {"T": {"value": value, "unit": "°C"}}})
    };
    let mut sessions = Vec::new();
    for (units, expected) in [("metric", 100), ("imperial", 212)] {
        let session = admin.session_with(json!({"ext": {"systemOfUnits": units}})).await;
        subscribe(&session, "/measurements/*", "plat_Heat.T.value ge 100 and plat_Heat.T.value ne 104").await;
        sessions.push((session, expected));
    }

    for value in [20, 40, 100] {
        admin.create("/measurement/measurements", &measurement(value)).await;
    }

    for (session, expected) in sessions {
        let messages = session.receive(1).await;
        let values: Vec<_> =
            messages.iter().map(|message| &message["data"]["data"]["plat_Heat"]["T"]["value"]).collect();
        assert_eq!(values, [&json!(expected)]);
    }
}

#[tokio::test]
async fn families_agents_and_modules_have_filters_too() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (plant, device) = (admin.create_device("plant").await, create_agent(&admin, "pump").await);
    let path = format!("/inventory/managedObjects/{plant}/childDevices");
    admin.post(&path, &json!({"managedObject": {"id": device}})).await.expect(201);
    let session = admin.session().await;

    subscribe(&session, &format!("/alarmsWithChildren/{plant}"), "type eq 'hot*'").await;
    for kind in ["cold", "hot", "hottest"] {
        admin.raise_alarm(&device, kind).await;
    }
    assert_eq!(types_until(&session, "hottest").await, ["hot"]);

    let agent = admin.session().await.on(AGENTS);
    subscribe(&agent, &format!("/{device}"), "has(plat_Restart)").await;
    let other = json!({"deviceId": device, "plat_Command": {"text": "x"}});
    admin.create("/devicecontrol/operations", &other).await;
    let restart = queue(&admin, &device).await;
    assert_eq!(agent.receive(1).await[0]["data"]["id"], restart["id"]);

    deploy(&admin, &marking("pumps", "hot")).await;
    let rows = admin.session().await;
    subscribe(&rows, "/pumps/*", "source eq 'nothing'").await;
    subscribe(&rows, "/events/*", "type eq 'hot'").await;
    measure(&admin, &device, 1).await;
    let messages = rows.receive(1).await;
    assert_eq!((messages.len(), &messages[0]["channel"]), (1, &json!(format!("/events/{device}"))));
    subscribe(
        &rows,
        "/pumps/*",
        &format!("source eq '{device}' and type eq 'h*' and realtimeAction eq null"),
    )
    .await;
    rows.unsubscribe("/events/*").await;
    measure(&admin, &device, 2).await;
    let messages = rows.receive(1).await;
    assert!(messages[0]["channel"].as_str().unwrap().starts_with("/pumps/"), "{messages:?}");
}

#[tokio::test]
async fn session_has_a_bounded_number_of_filters_and_one_for_all_channels_counts_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;
    for n in 0..50 {
        subscribe(&session, &format!("/alarms/{}", n + 1), &format!("type eq 't{n}'")).await;
    }

    let another = session.ask("/meta/subscribe", filtered("/alarms/99", "type eq 'another'")).await;
    let known = session.ask("/meta/subscribe", filtered("/alarms/99", "type eq 't7'")).await;
    let instead = session.ask("/meta/subscribe", filtered("/alarms/1", "type eq 'another'")).await;

    assert_eq!((&another["successful"], &another["error"]), (&json!(false), &json!("403::subscribe_denied")));
    assert_eq!((&known["successful"], &instead["successful"]), (&json!(true), &json!(true)));
}
