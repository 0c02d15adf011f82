//! `trace`: a trace is followed until it ends, and the diagnosis is a table.

use super::*;

#[tokio::test]
async fn followed_trace_prints_what_is_recorded_and_ends_with_the_command() {
    let (server, directory) = logged_in().await;
    let (here, admin) = (directory.path().to_owned(), server.admin());
    let device = admin.create_device("pump").await;
    let (of_command, id) = (here.clone(), device.clone());
    let follow = tokio::task::spawn_blocking(move || {
        let command = ["trace", "device", &id, "--count", "2", "-o", "jsonl"];
        printed(&of_command, &command, "")
    });
    let traces = async || admin.read("/notification/traces").await["traces"].clone();
    until("the trace begins", async || traces().await != json!([])).await;

    let alarm = admin.raise_alarm(&device, "leak").await;

    let printed_lines = soon("the end of the command", follow).await.unwrap();
    let records: Vec<Value> = printed_lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = records.iter().map(|record| record["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["STORED", "PUBLISHED"], "{printed_lines}");
    assert!(records.iter().all(|record| record["id"] == alarm["id"]), "{printed_lines}");
    assert_eq!(traces().await, json!([]), "the trace ended with the command");
}

#[tokio::test]
async fn diagnosis_is_printed_as_a_table() {
    let (server, directory) = logged_in().await;
    let (here, admin) = (directory.path(), server.admin());
    let device = admin.create_device("pump").await;
    printed(here, &["trace", "create", "--device", &device, "--seconds", "60"], "");
    assert_eq!(printed(here, &["trace", "list", "-o", "id"], "").lines().count(), 1);
    admin.raise_alarm(&device, "leak").await;

    let table = printed(here, &["trace", "explain", "--id", &device, "--user", "admin"], "");

    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("TIME") && lines[0].contains("CAUSE"), "{table}");
    assert!(lines.iter().any(|line| line.contains("PUBLISHED") && line.contains("was stored by")), "{table}");
    assert!(lines.iter().any(|line| line.contains("NO_SESSION")), "{table}");
    assert_eq!(refused(here, &["trace", "explain", "--id", &device], "").0, 1);
}
