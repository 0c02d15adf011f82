//! Deletion of one event, and with its source.

use super::*;

#[tokio::test]
async fn deleted_event_is_gone() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let (event, other) = (admin.create_event(&device, "a").await, admin.create_event(&device, "b").await);
    let link = event["self"].as_str().unwrap();

    let answer = admin.delete(link).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    assert_eq!(admin.get(link).await.status, 404);
    admin.delete(link).await.expect_error(404, "event/Not Found");
    assert_eq!(admin.read(EVENTS).await["events"], serde_json::json!([other]));
}

#[tokio::test]
async fn source_of_many_events_is_deleted_with_all_of_them() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("door").await, admin.create_device("other").await);
    admin.create_event(&other, "stays").await;
    let statement = "INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments) \
        SELECT $1, n, $2, 'x', now(), 0, 'x', now(), '{}' FROM generate_series(1, 25001) n";
    server.execute(statement, &[&device.parse::<i64>().unwrap()]).await;

    assert_eq!(admin.delete(&format!("/inventory/managedObjects/{device}")).await.status, 204);

    assert_eq!(server.count("events").await, 1);
}

#[tokio::test]
async fn events_go_with_their_source_and_their_files_with_them() {
    let (server, admin, device) = TestServer::shared().await.with_device("door").await;
    let event = admin.create_event(&device, "a").await;
    let path = format!("{}/binaries", event["self"].as_str().unwrap());
    assert_eq!(admin.request("POST", &path).body("hello").send().await.status, 201);

    assert_eq!(admin.delete(&format!("/inventory/managedObjects/{device}")).await.status, 204);

    for table in ["events", "binaries", "binary_chunks"] {
        assert_eq!(server.count(table).await, 0, "{table}");
    }
    assert_eq!(admin.get(event["self"].as_str().unwrap()).await.status, 404);
}
