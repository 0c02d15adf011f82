//! The results of a successful operation (H-08).

use super::static_operations::{Gateway, path_of};
use super::*;

/// Completes an operation with these parameters by both rows, 503 (the oldest with the fragment) and 506 (by id), each
/// for an operation and a device of its own.
async fn completed(fragments: Value, parameters: &str) -> Vec<(Value, Value)> {
    let (_server, gateway) = Gateway::with_server().await;
    let fragment = fragments.as_object().unwrap().keys().next().unwrap().clone();
    let mut completed = Vec::new();
    for (target, by_id) in [(1, false), (2, true)] {
        let id = gateway.begin(target, fragments.clone()).await;
        let row = if by_id { format!("506,{id}{parameters}") } else { format!("503,{fragment}{parameters}") };
        assert_eq!(send(&gateway.device, &row).await, "", "{row}");
        let operation = gateway.operation(&id).await;
        assert_eq!(operation["status"], "SUCCESSFUL", "{row}");
        completed.push((operation, gateway.object(target).await));
    }
    completed
}

#[tokio::test]
async fn result_of_a_command_stands_beside_its_text() {
    let command = json!({"plat_Command": {"text": "ls", "n": 1}});
    for (parameters, expected) in [
        (",\"a, \"\"b\"\"\nc\"", json!({"text": "ls", "n": 1, "result": "a, \"b\"\nc"})),
        (",a\\nb", json!({"text": "ls", "n": 1, "result": "a\\nb"})),
        ("", json!({"text": "ls", "n": 1})),
        (",", json!({"text": "ls", "n": 1})),
    ] {
        for (operation, device) in completed(command.clone(), parameters).await {
            assert_eq!(operation["plat_Command"], expected, "{parameters}");
            assert_eq!(device.get("plat_Command"), None);
        }
    }
    for (operation, _) in completed(json!({"plat_Command": "ls"}), ",a").await {
        assert_eq!(operation["plat_Command"], json!({"text": "ls", "result": "a"}));
    }
}

#[tokio::test]
async fn members_beside_a_result_keep_their_digits() {
    let (_server, gateway) = Gateway::with_server().await;
    let digits = "{\"z\":1.50,\"a\":123456789012345678901234567890}";
    let body = format!("{{\"deviceId\":\"{}\",\"plat_Command\":{digits}}}", gateway.ids[0]);
    let queued =
        gateway.admin.request("POST", "/devicecontrol/operations").accepting_json().body(body).send().await;
    let id = queued.json()["id"].as_str().unwrap().to_owned();

    assert_eq!(send(&gateway.device, "501,plat_Command\n503,plat_Command,ok").await, "");

    let stored = gateway.admin.get(&path_of(&id)).await.text;
    let expected = "\"plat_Command\":{\"z\":1.50,\"a\":123456789012345678901234567890,\"result\":\"ok\"}";
    assert!(stored.contains(expected), "{stored}");
}

#[tokio::test]
async fn relays_of_the_device_stand_as_it_says() {
    let wanted = json!({"plat_RelayArray": ["OPEN", "OPEN", "OPEN"]});
    for (parameters, expected) in [
        (",OPEN,,CLOSED", Some(json!(["OPEN", "", "CLOSED"]))),
        (",CLOSED,", Some(json!(["CLOSED"]))),
        ("", None),
    ] {
        for (operation, device) in completed(wanted.clone(), parameters).await {
            assert_eq!(device.get("plat_RelayArray"), expected.as_ref(), "{parameters}");
            assert_eq!(operation["plat_RelayArray"], wanted["plat_RelayArray"]);
        }
    }
}

#[tokio::test]
async fn mode_of_the_device_is_the_one_of_the_operation() {
    for (wanted, expected) in [
        (json!({"mode": "SMS", "note": 1}), Some(json!({"mode": "SMS"}))),
        (json!({"mode": null}), None),
        (json!({}), None),
        (json!("SMS"), None),
    ] {
        for (_, device) in completed(json!({"plat_CommunicationMode": wanted}), "").await {
            assert_eq!(device.get("plat_CommunicationMode"), expected.as_ref(), "{wanted}");
        }
    }
}

#[tokio::test]
async fn address_of_a_log_stands_beside_what_was_asked_for() {
    let asked = json!({"plat_LogfileRequest": {"logFile": "syslog", "maximumLines": 10}});
    for (operation, device) in completed(asked, ",http://a/b?c=1").await {
        let expected = json!({"logFile": "syslog", "maximumLines": 10, "file": "http://a/b?c=1"});
        assert_eq!(operation["plat_LogfileRequest"], expected);
        assert_eq!(device.get("plat_LogfileRequest"), None);
    }
}

#[tokio::test]
async fn configuration_that_was_installed_is_the_devices() {
    let inside = json!({"plat_DownloadConfigFile": {"url": "u", "plat_ConfigurationDump": {"id": "17"}}});
    let beside = json!({"plat_DownloadConfigFile": {"url": "u"}, "plat_ConfigurationDump": {"id": "17"}});
    for wanted in [inside, beside] {
        for (_, device) in completed(wanted, ",2024-03-10T02:30:00.000+01:00").await {
            let expected = json!({"id": "17", "time": "2024-03-10T02:30:00.000+01:00"});
            assert_eq!(device["plat_ConfigurationDump"], expected);
        }
    }
    let numbered = json!({"plat_DownloadConfigFile": {"plat_ConfigurationDump": {"id": 17}}});
    for (_, device) in completed(numbered, "").await {
        let dump = device["plat_ConfigurationDump"].as_object().unwrap();
        let time = dump["time"].as_str().unwrap();
        assert_eq!((dump.len(), &dump["id"]), (2, &json!(17)));
        assert!(time.len() == 24 && time.ends_with('Z') && time > "2024", "{time}");
    }
    // A typed one is reported by its own row.
    for (_, device) in completed(json!({"plat_DownloadConfigFile": {"url": "u", "type": "ntp"}}), "").await {
        assert_eq!(device.get("plat_ConfigurationDump"), None);
    }
}

#[tokio::test]
async fn wrong_parameters_change_nothing() {
    let (_server, gateway) = Gateway::with_server().await;
    for (fragment, parameters, line) in [
        ("plat_Command", "a,b", "45,1,Wrong number of arguments\n"),
        ("plat_LogfileRequest", "a,b", "45,1,Wrong number of arguments\n"),
        ("plat_CommunicationMode", "a", "45,1,Wrong number of arguments\n"),
        ("plat_DownloadConfigFile", "2024-03-10,b", "45,1,Wrong number of arguments\n"),
        ("plat_DownloadConfigFile", "today", "45,1,Value is not a DATE: today\n"),
    ] {
        let id = gateway.begin(0, json!({fragment: {"mode": "SMS"}})).await;
        for row in [format!("503,{fragment},{parameters}"), format!("506,{id},{parameters}")] {
            assert_eq!(send(&gateway.device, &row).await, line, "{row}");
            assert_eq!(gateway.statuses([&id]).await, ["EXECUTING"], "{row}");
        }
    }
    assert_eq!(gateway.object(0).await.get("plat_CommunicationMode"), None);
}

#[tokio::test]
async fn operation_stays_executing_while_its_device_cannot_be_changed() {
    let (server, gateway) = Gateway::with_server().await;
    let id = gateway.begin(0, json!({"plat_RelayArray": ["OPEN"]})).await;
    let roles = [
        "ROLE_DEVICE_CONTROL_READ",
        "ROLE_DEVICE_CONTROL_ADMIN",
        "ROLE_IDENTITY_READ",
        "ROLE_INVENTORY_READ",
    ];
    let operator = server.user_with("operator", &roles).await;

    for row in [format!("506,{id},OPEN"), format!("504,{id}")] {
        let answer = send(&operator, &row).await;
        assert_eq!(answer, if row.starts_with("506") { "50,1,403\n" } else { "" }, "{row}");
        assert_eq!(gateway.statuses([&id]).await, ["EXECUTING"], "{row}");
    }
    assert_eq!(send(&gateway.device, "503,plat_RelayArray,OPEN").await, "");
    assert_eq!(gateway.statuses([&id]).await, ["SUCCESSFUL"]);
}

#[tokio::test]
async fn report_that_comes_twice_has_one_effect() {
    let (server, gateway) = Gateway::with_server().await;
    let relays = gateway.begin(1, json!({"plat_RelayArray": ["OPEN"]})).await;
    let command = gateway.begin(1, json!({"plat_Command": {"text": "ls"}})).await;
    let rows = format!("506,{relays},OPEN\n506,{command},a");
    assert_eq!(send(&gateway.device, &rows).await, "");
    let relays_moved_on = json!({"plat_RelayArray": ["CLOSED"]});
    let path = format!("/inventory/managedObjects/{}", gateway.ids[1]);
    assert_eq!(gateway.device.put(&path, &relays_moved_on).await.status, 200);
    let before = [gateway.operation(&relays).await, gateway.operation(&command).await];

    assert_eq!(send(&gateway.device, &rows.replace(",a", ",b")).await, "");

    assert_eq!(gateway.object(1).await["plat_RelayArray"], json!(["CLOSED"]));
    assert_eq!([gateway.operation(&relays).await, gateway.operation(&command).await], before);
    assert_eq!(server.audit_records(&relays).await.len(), 2, "begun and done");
}
