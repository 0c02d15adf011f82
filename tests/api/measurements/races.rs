//! Many at once: group commits, and sources that go while measurements come.

use std::collections::HashSet;

use super::*;

const TIME: &str = "2024-03-10T02:30:00Z";

#[tokio::test]
async fn fifty_parallel_posts_are_all_stored_once() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let posts = (0..50).map(|n| {
        let (admin, device) = (admin.clone(), device.clone());
        async move { admin.create(MEASUREMENTS, &measurement_of(&device, TIME, n)).await }
    });
    let created = join_all(posts).await;

    let ids: HashSet<_> = created.iter().map(|one| one["id"].to_string()).collect();
    assert_eq!(ids.len(), 50);
    let listed = admin.read(&format!("{MEASUREMENTS}?pageSize=100&source={device}")).await;
    let mut values: Vec<_> = listed["measurements"].as_array().unwrap().iter().collect();
    values.sort_by_key(|one| one["env"]["t"]["value"].as_i64());
    let expected: Vec<&Value> = created.iter().collect();
    assert_eq!(values, expected);
}

#[tokio::test]
async fn unknown_source_fails_alone_in_a_batch() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let posts = (0..60).map(|n| {
        let (admin, device) = (admin.clone(), device.clone());
        async move {
            let unknown = n % 3 == 0;
            let source = if unknown { "4711" } else { &device };
            // Each measurement has another series, so that new series are stored concurrently, too.
            let members = json!({format!("f{n}"): {"s": {"value": n}}});
            let one = measurement_with(source, "t", TIME, &members);
            let body = if n % 2 == 0 {
                json!({"measurements": [one, measurement_of(&device, TIME, n)]})
            } else {
                one
            };
            (admin.post(MEASUREMENTS, &body).await.status, if unknown { 422 } else { 201 })
        }
    });

    for (status, expected) in join_all(posts).await {
        assert_eq!(status, expected);
    }
    assert_eq!(server.count("measurements").await, 60);
}

#[tokio::test]
async fn deleted_device_takes_its_measurements_along() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("motor").await);
    let many: Vec<Value> = (0..100).map(|n| measurement_of(&device, TIME, n)).collect();
    admin.create(MEASUREMENTS, &json!({"measurements": many})).await;
    admin.create(MEASUREMENTS, &measurement_of(&other, TIME, 1)).await;

    assert_eq!(admin.delete(&format!("/inventory/managedObjects/{device}")).await.status, 204);

    assert_eq!(server.count("measurements").await, 1);
    assert_eq!(server.count("source_shapes").await, 1);
    assert_eq!(admin.read(&format!("{MEASUREMENTS}?source={device}")).await["measurements"], json!([]));
}

#[tokio::test]
async fn device_deleted_while_it_sends_leaves_no_measurement_behind() {
    let (server, admin) = TestServer::shared().await.with_admin();
    for round in 0..5 {
        let device = admin.create_device("pump").await;
        let posts = (0..40).map(|n| {
            let (admin, device) = (admin.clone(), device.clone());
            async move {
                let body = match n % 2 {
                    0 => measurement_of(&device, TIME, n),
                    _ => json!({"measurements": [measurement_of(&device, TIME, n), measurement_of(&device, TIME, n)]}),
                };
                if n == 20 + round {
                    let path = format!("/inventory/managedObjects/{device}");
                    return admin.delete(&path).await.status;
                }
                admin.post(MEASUREMENTS, &body).await.status
            }
        });
        for status in join_all(posts).await {
            assert!(matches!(status, 201 | 204 | 422), "{status}");
        }
        assert_eq!(server.count("measurements").await, 0, "round {round}");
        assert_eq!(server.count("source_shapes").await, 0, "round {round}");
    }
}

#[tokio::test]
async fn object_deleted_twice_at_once_is_published_once() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let created = super::measure(&admin, &device, TIME, 1).await;
    let session = admin.listen(&format!("/measurements/{device}")).await;
    let link = created["self"].as_str().unwrap();

    let mut statuses: Vec<u16> =
        join_all((0..6).map(|_| admin.delete(link))).await.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();

    assert_eq!(statuses, [204, 404, 404, 404, 404, 404]);
    let last = super::measure(&admin, &device, TIME, 2).await;
    let told = session.receive(2).await;
    assert_eq!(told[0]["data"]["realtimeAction"], "DELETE");
    assert_eq!(told[1]["data"]["data"], last);
}
