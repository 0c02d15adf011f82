//! Requests sent at the same time: their responses are printed in the order of the input.

use super::*;

#[tokio::test]
async fn responses_of_several_workers_keep_the_order_of_the_input() {
    let (_server, directory) = logged_in().await;
    let here = directory.path();
    let bodies: String = (0..40).map(|n| format!("{{\"name\": \"device {n}\"}}\n")).collect();

    let create = ["device", "create", "--data", "-", "--workers", "8", "-o", "json"];
    let created: Vec<Value> = serde_json::from_str(&printed(here, &create, &bodies)).unwrap();
    let names: Vec<_> = created.iter().map(|device| device["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, (0..40).map(|n| format!("device {n}")).collect::<Vec<_>>());

    let ids: Vec<&str> = created.iter().rev().map(|device| device["id"].as_str().unwrap()).collect();
    let input = ids.join("\n");
    assert_eq!(printed(here, &["device", "get", "--workers", "8", "-o", "id"], &input).trim(), input);

    // Failed requests are reported, and the others are sent nevertheless.
    let input = format!("{}\n999999999999\n{}\n", ids[0], ids[1]);
    let (code, message) = refused(here, &["device", "delete", "--workers", "3", "--yes"], &input);
    assert!(code == 3 && message.contains("1 of 3 requests failed"), "{code} {message}");
    assert_eq!(printed(here, &["device", "list", "-o", "id"], "").lines().count(), 38);
    assert_eq!(refused(here, &["device", "delete", "--workers", "0"], &input).0, 2);
}
