//! The records of traces, of all servers.

use std::collections::HashSet;

use super::*;

/// Returns the types of records about a change.
fn types(records: &[Value], id: &Value) -> Vec<String> {
    let of_change = records.iter().filter(|record| record["id"] == *id);
    of_change.map(|record| record["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn records_name_each_step_of_a_change_in_order() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    let trace = trace(&admin, json!({"device": device})).await;

    let alarm = admin.raise_alarm(&device, "leak").await;
    eventually("the notification waits", async || {
        (types(&records(&admin, &trace).await, &alarm["id"]).contains(&"WAITS".to_owned())).then_some(())
    })
    .await;
    session.glance_until_told().await;

    let records = records(&admin, &trace).await;
    assert_eq!(types(&records, &alarm["id"]), ["STORED", "PUBLISHED", "WAITS", "SENT"], "{records:#?}");
    let sent = records.last().unwrap();
    assert_eq!((&sent["channel"], &sent["action"]), (&json!(format!("/alarms/{device}")), &json!("CREATE")));
    assert!(sent["session"].as_str().unwrap() != session.client, "the clientId is a credential: {sent}");
}

#[tokio::test]
async fn changes_of_other_objects_are_not_recorded() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let other = admin.create_device("other").await;
    let trace = trace(&admin, json!({"device": device})).await;

    admin.raise_alarm(&other, "leak").await;
    let alarm = admin.raise_alarm(&device, "leak").await;

    let records = records(&admin, &trace).await;
    assert!(records.iter().all(|record| record["id"] == alarm["id"]), "{records:#?}");
    assert!(!records.is_empty());
}

#[tokio::test]
async fn failed_requests_of_a_user_are_recorded_without_their_query() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mia = server.user_with("mia", &["ROLE_ALARM_READ"]).await;
    let trace = trace(&admin, json!({"user": "mia"})).await;

    mia.get("/alarm/alarms?status=NONSENSE").await.expect(422);
    mia.get("/user/currentUser").await.expect(403);
    mia.get("/alarm/alarms").await.expect(200);

    let records = records(&admin, &trace).await;
    let texts: Vec<&str> = records.iter().map(|record| record["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 2, "{texts:#?}");
    assert!(
        texts[0].starts_with("GET /alarm/alarms got 422: ") && texts[0].contains("NONSENSE"),
        "{texts:#?}"
    );
    assert!(texts[1].starts_with("GET /user/currentUser got 403"), "{texts:#?}");
}

#[tokio::test]
async fn all_servers_record_and_one_shows_the_records_of_all() {
    let [a, b] = TestServer::north_and_south().await;
    let (at_a, at_b) = (a.admin(), b.admin());
    let device = at_a.create_device("pump").await;
    let session = at_b.listen("/alarms/*").await;
    let trace = trace(&at_a, json!({"device": device})).await;

    // The other server applies the trace a moment later.
    let alarm = eventually("both servers record", async || {
        let alarm = at_a.raise_alarm(&device, "leak").await;
        session.glance_until_told().await;
        (servers(&records(&at_a, &trace).await, &alarm["id"]).len() == 2).then_some(alarm)
    })
    .await;

    let [of_a, of_b] = [records(&at_a, &trace).await, records(&at_b, &trace).await];
    assert_eq!(of_a, of_b, "each server shows the same");
    let types = types(&of_a, &alarm["id"]);
    assert_eq!(types.iter().filter(|of| *of == "PUBLISHED").count(), 1, "{of_a:#?}");
    assert_eq!(types.iter().filter(|of| *of == "STORED").count(), 1, "{of_a:#?}");
    assert_eq!(types.last().unwrap(), "SENT", "{of_a:#?}");
}

/// Returns the names of the servers with records about a change.
fn servers(records: &[Value], id: &Value) -> HashSet<String> {
    let of_change = records.iter().filter(|record| record["id"] == *id);
    of_change.map(|record| record["server"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn records_begin_where_the_client_asks() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let trace = trace(&admin, json!({"device": device})).await;
    admin.raise_alarm(&device, "first").await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let second = admin.raise_alarm(&device, "second").await;
    let all = records(&admin, &trace).await;
    let begin = all.iter().find(|record| record["id"] == second["id"]).unwrap();

    let since = begin["time"].as_str().unwrap();
    let rest = admin.read(&format!("{TRACES}/{}/records?dateFrom={since}", id(&trace))).await;

    let rest = rest["records"].as_array().unwrap();
    assert_eq!(rest.len(), all.len() - all.iter().position(|record| record == begin).unwrap(), "{rest:#?}");
}
