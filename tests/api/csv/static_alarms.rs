//! Rows 301 to 307: alarms (H-14).

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::acting_device::find;
use super::*;

const TIME: &str = "2024-03-10T02:30:00.000+01:00";

async fn device() -> (TestServer, Caller) {
    let (server, device) = with_device_user("sn-1").await;
    assert_eq!(send(&device, "100").await, "");
    (server, device)
}

/// The alarms of a type, newest first.
async fn alarms(server: &TestServer, type_: &str) -> Vec<Value> {
    let source = find(server, "sn-1").await.unwrap();
    let page = server.admin().read(&format!("/alarm/alarms?source={source}&type={type_}")).await;
    page["alarms"].as_array().unwrap().clone()
}

/// Status and severity of the alarms of a type, newest first.
async fn states(server: &TestServer, type_: &str) -> Vec<(String, String)> {
    let text = |alarm: &Value, name: &str| alarm[name].as_str().unwrap().to_owned();
    alarms(server, type_).await.iter().map(|alarm| (text(alarm, "status"), text(alarm, "severity"))).collect()
}

#[tokio::test]
async fn rows_raise_alarms_of_their_severity() {
    let (server, device) = device().await;
    let source = find(&server, "sn-1").await.unwrap();
    for (row, type_, severity, text) in [
        ("301,a,\"Too \"\"hot\"\"\\n\",TIME", "a", "CRITICAL", "Too \"hot\"\\n"),
        ("302,b,,TIME", "b", "MAJOR", "Alarm of type b raised"),
        ("303,c,Text,TIME,", "c", "MINOR", "Text"),
        ("304,d,Text,TIME", "d", "WARNING", "Text"),
    ] {
        assert_eq!(send(&device, &row.replace("TIME", TIME)).await, "", "{row}");
        let found = alarms(&server, type_).await;
        let id = found[0]["id"].as_str().unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            redacted(
                &without(&found[0], &["history"]),
                &[(&source, "<device>"), (id, "<id>"), (server.base(), "")]
            ),
            json!({
                "self": "/alarm/alarms/<id>", "id": "<id>", "creationTime": "<time>", "type": type_, "time": TIME,
                "text": text, "status": "ACTIVE", "severity": severity, "count": 1, "firstOccurrenceTime": TIME,
                "source": {"id": "<device>", "self": "/inventory/managedObjects/<device>", "name": "Device sn-1"},
            }),
            "{row}"
        );
    }
}

#[tokio::test]
async fn time_of_a_row_without_one_is_the_servers_and_a_repetition_counts() {
    let (server, device) = device().await;

    let before = OffsetDateTime::now_utc() - Duration::SECOND;
    assert_eq!(send(&device, "301,a\n301,a").await, "");

    let found = alarms(&server, "a").await;
    let time = OffsetDateTime::parse(found[0]["time"].as_str().unwrap(), &Rfc3339).unwrap();
    assert!(before < time && time <= OffsetDateTime::now_utc(), "{time}");
    assert_eq!((found.len(), &found[0]["count"]), (1, &json!(2)));
    assert_eq!(found[0]["text"], "Alarm of type a raised");
}

#[tokio::test]
async fn severity_of_the_open_alarm_is_changed() {
    let (server, device) = device().await;
    let state = |status: &str, severity: &str| (status.to_owned(), severity.to_owned());

    assert_eq!(send(&device, "301,a\n306,a\n302,a\n301,b\n305,a,MINOR").await, "");

    assert_eq!(states(&server, "a").await, [state("ACTIVE", "MINOR"), state("CLEARED", "CRITICAL")]);
    assert_eq!(states(&server, "b").await, [state("ACTIVE", "CRITICAL")]);
    assert_eq!(send(&device, "305,a,SEVERE\n305,a,minor").await, "50,1,422\n50,2,422\n");
}

#[tokio::test]
async fn active_and_acknowledged_alarms_are_cleared_and_then_there_is_none() {
    let (server, device) = device().await;
    for status in ["ACTIVE", "ACKNOWLEDGED"] {
        assert_eq!(send(&device, "301,a\n301,b").await, "");
        let link = alarms(&server, "a").await[0]["self"].as_str().unwrap().to_owned();
        assert_eq!(server.admin().put(&link, &json!({"status": status})).await.status, 200);

        assert_eq!(send(&device, "306,a").await, "");

        let cleared = states(&server, "a").await;
        assert!(cleared.iter().all(|(status, _)| status == "CLEARED"), "{status}: {cleared:?}");
        assert_eq!(states(&server, "b").await[0].0, "ACTIVE");
    }
    let none = send(&device, "306,a\n305,a,MINOR\n307,a,x\n306,unknown\n306,\"a\0\"").await;
    assert_eq!(none, (1..=5).map(|line| format!("50,{line},404\n")).collect::<String>());
}

#[tokio::test]
async fn fragments_of_the_open_alarm_are_removed() {
    let (server, device) = device().await;
    let source = find(&server, "sn-1").await.unwrap();
    let mut body = crate::harness::alarm_of(&source, "a");
    let fragments = json!({"acme_X": 1, "acme_Y": {"z": 2}, "acme_Z": "3"});
    body.as_object_mut().unwrap().extend(fragments.as_object().unwrap().clone());
    device.create("/alarm/alarms", &body).await;

    assert_eq!(send(&device, "307,a,acme_X,,acme_Unknown,acme_Z").await, "");

    let alarm = &alarms(&server, "a").await[0];
    let left = ["acme_X", "acme_Y", "acme_Z"].map(|name| alarm[name].clone());
    assert_eq!(left, [json!(null), json!({"z": 2}), json!(null)]);
}

#[tokio::test]
async fn wrong_arguments_are_reported_with_their_line() {
    let (server, device) = device().await;
    let number = "Wrong number of arguments";
    for (row, text) in [
        ("301", number),
        ("302,,text", number),
        ("303,a,b,2024-03-10T00:00:00Z,c", number),
        ("304,a,b,soon", "Value is not a DATE: soon"),
        ("304,a,b,2020-07-22", "Value is not a DATE: 2020-07-22"),
        ("304,a,b,2020-07-22T17:03:14", "Value is not a DATE: 2020-07-22T17:03:14"),
        ("305", number),
        ("305,a", number),
        ("305,,MINOR", number),
        ("305,a,MINOR,b", number),
        ("306", number),
        ("306,a,b", number),
        ("307,a", number),
        ("307,,b", number),
        ("307,a,,b", number),
    ] {
        assert_eq!(send(&device, &format!("\n{row}\n")).await, format!("45,2,{text}\n"), "{row}");
    }
    assert_eq!(server.count("alarms").await, 0);
}

#[tokio::test]
async fn device_asks_for_its_active_alarms_by_a_template() {
    let (server, device) = device().await;
    let source = find(&server, "sn-1").await.unwrap();
    let foreign = server.admin().create_device("other").await;
    let templates = "10,900,GET,/alarm/alarms?source=%%&status=ACTIVE,,,%%,UNSIGNED\n\
        10,901,GET,/alarm/alarms/%%,,,%%,UNSIGNED\n11,910,alarms,$.id,$.type\n11,911,,$.severity,$.type\n";
    super::register(&server.admin(), "pumps", templates).await;
    assert_eq!(send(&device, "301,hot,Text").await, "");
    let alarm = alarms(&server, "hot").await[0]["id"].as_str().unwrap().to_owned();

    let rows = format!("900,{source}\n901,{alarm}\n900,{foreign}");
    let answer = super::send_to(&device, "pumps", &rows).await;

    assert_eq!(answer, format!("910,1,hot\n911,2,hot\n50,3,403\n"), "{alarm}");
}
