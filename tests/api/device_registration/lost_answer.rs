//! A lost response: the same credentials are returned until the device has logged in or an hour has passed (N-08).

use super::*;

/// Everything that is stored of requests and users, as text.
async fn dump(server: &TestServer) -> String {
    let mut dump = String::new();
    // The users of microservices are excluded, because they have sealed passwords.
    let users = "(SELECT * FROM users WHERE application IS NULL)";
    for table in ["new_device_requests", users, "device_placements", "audit_records"] {
        let rows = server.database().query(&format!("SELECT row_to_json(t)::text FROM {table} t"), &[]).await;
        rows.iter().for_each(|row| dump += row.get::<_, &str>(0));
    }
    dump
}

/// Returns whether polling, reading and listing all find no request.
async fn is_gone(server: &TestServer, id: &str) -> bool {
    let polled = poll(server, id).await;
    let read = server.admin().get(&request_of(id)).await;
    let listed = server.admin().read(REQUESTS).await["newDeviceRequests"].as_array().unwrap().len();
    assert_eq!((polled.status == 404, read.status == 404), (listed == 0, listed == 0), "{}", polled.text);
    if listed == 0 {
        assert_eq!(polled.message(), format!("There is no newDeviceRequest for device id {id}."));
    }
    listed == 0
}

#[tokio::test]
async fn same_credentials_are_returned_until_the_device_uses_them() {
    let (server, admin) = TestServer::start().await.with_admin();
    let first = admit(&server, "sn-1").await;

    for _ in 0..3 {
        assert_eq!(password(&poll(&server, "sn-1").await), first);
    }
    assert_eq!(admin.read(&request_of("sn-1")).await["status"], "ACCEPTED");
    assert!(gets_in(&device(&server, "sn-1", &first)).await);

    assert!(is_gone(&server, "sn-1").await);
    assert!(gets_in(&device(&server, "sn-1", &first)).await);
}

#[tokio::test]
async fn self_link_gives_the_same_credentials_and_changes_nothing() {
    let (server, admin) = TestServer::start().await.with_admin();
    register(&server, "s/1").await;
    let bootstrap = bootstrap(&server);
    let link = format!("{CREDENTIALS}/s%2F1");

    assert_eq!(bootstrap.get(&link).await.status, 404);
    let request = format!("{REQUESTS}/s%2F1");
    assert_eq!(admin.read(&request).await["status"], "WAITING_FOR_CONNECTION", "no poll");
    admin.put(&request, &json!({"status": "ACCEPTED"})).await;
    assert_eq!(bootstrap.get(&link).await.status, 404, "none were made");
    let given = poll(&server, "s/1").await;
    assert_eq!(given.header("Location"), given.json()["self"].as_str());

    let read = bootstrap.get(given.header("Location").unwrap()).await;

    assert_eq!((read.status, read.json()), (200, given.json()));
    assert_eq!(read.header("Cache-Control"), Some("no-store"));
    assert_eq!(admin.get(&link).await.status, 403);
    assert!(gets_in(&device(&server, "s/1", &password(&given))).await);
    assert_eq!(bootstrap.get(&link).await.status, 404, "they are in use");
}

#[tokio::test]
async fn stored_password_is_sealed_and_only_its_hash_remains() {
    let server = TestServer::start().await;
    let password = admit(&server, "sn-1").await;
    let before = dump(&server).await;

    gets_in(&device(&server, "sn-1", &password)).await;

    let after = dump(&server).await;
    assert!(before.contains("$gcm1$") && !before.contains(&password), "{before}");
    assert!(!after.contains("$gcm1$") && !after.contains(&password), "{after}");
    assert_eq!(server.count("new_device_requests").await, 0);
}

#[tokio::test]
async fn sealed_password_opens_for_its_device_only() {
    let server = TestServer::start().await;
    let one = admit(&server, "sn-1").await;
    admit(&server, "sn-2").await;
    // The statements of an attacker who can write to the database.
    let moved = "UPDATE new_device_requests SET sealed_password = (SELECT sealed_password FROM new_device_requests \
        WHERE id = 'sn-1') WHERE id = 'sn-2'";
    server.database().execute(moved, &[]).await;

    let answer = poll(&server, "sn-2").await;

    assert!(answer.status == 404 && !answer.text.contains(&one), "{}", answer.text);
    assert_eq!(password(&poll(&server, "sn-1").await), one);
}

#[tokio::test]
async fn request_is_gone_after_an_hour_and_the_device_is_not() {
    let (server, admin) = TestServer::start().await.with_admin();
    let password = admit(&server, "sn-1").await;
    let until = "SELECT extract(epoch FROM credentials_until - now())::float8 FROM new_device_requests";
    let left: f64 = server.database().query(until, &[]).await[0].get(0);
    assert!((3000.0..=3600.0).contains(&left), "{left}");

    let_time_pass(&server).await;

    assert!(is_gone(&server, "sn-1").await);
    let (put, deleted) = (
        admin.put(&request_of("sn-1"), &json!({"status": "ACCEPTED"})).await,
        admin.delete(&request_of("sn-1")).await,
    );
    assert_eq!((put.status, deleted.status), (404, 404));
    assert!(gets_in(&device(&server, "sn-1", &password)).await);
}

#[tokio::test]
async fn device_whose_hour_has_passed_may_be_registered_again() {
    let server = TestServer::start().await;
    let first = admit(&server, "sn-1").await;
    let_time_pass(&server).await;

    let request = register(&server, "sn-1").await;

    assert_eq!(request["status"], "WAITING_FOR_CONNECTION");
    assert_eq!(poll(&server, "sn-1").await.status, 404);
    accept(&server, "sn-1").await;
    assert_ne!(password(&poll(&server, "sn-1").await), first);
}

#[tokio::test]
async fn passwords_nobody_collected_are_swept_away() {
    let limit = Duration::from_millis(200);
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.device_credentials = limit).await.with_admin();
    register(&server, "sn-0").await;
    let password = admit(&server, "sn-1").await;

    until("the end of the sealed password", async || server.count("new_device_requests").await == 1).await;

    assert_eq!(admin.get(&request_of("sn-0")).await.status, 200, "one that waits has no end");
    assert!(!dump(&server).await.contains("$gcm1$"));
    assert!(gets_in(&device(&server, "sn-1", &password)).await);
}

#[tokio::test]
async fn wrong_password_and_other_devices_leave_the_credentials() {
    let server = TestServer::start().await;
    let (one, other) = (admit(&server, "sn-1").await, admit(&server, "sn-2").await);

    assert!(!gets_in(&device(&server, "sn-1", "wrong-secret")).await);
    assert!(!gets_in(&device(&server, "sn-1", &other)).await);
    assert!(gets_in(&device(&server, "sn-2", &other)).await);

    assert_eq!(password(&poll(&server, "sn-1").await), one);
}

#[tokio::test]
async fn old_password_of_a_device_leaves_credentials_that_were_not_collected() {
    let server = TestServer::start().await;
    let old = admit(&server, "sn-1").await;
    assert!(gets_in(&device(&server, "sn-1", &old)).await);
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;

    // The old password is valid, whether or not the caller is cached.
    assert!(gets_in(&device(&server, "sn-1", &old)).await);

    assert_eq!(poll(&server, "sn-1").await.status, 201);
}

#[tokio::test]
async fn credentials_that_are_no_longer_valid_are_returned_to_nobody() {
    let (server, admin) = TestServer::start().await.with_admin();
    admit(&server, "sn-1").await;
    admit(&server, "sn-2").await;

    let changed = admin.put("/user/main/users/device_sn-1", &json!({"password": ADMIN_PASSWORD})).await;
    let deleted = admin.delete("/user/main/users/device_sn-2").await;

    assert_eq!((changed.status, deleted.status), (200, 204), "{}", changed.text);
    for id in ["sn-1", "sn-2"] {
        assert_eq!(poll(&server, id).await.status, 404, "{id}");
    }
}

#[tokio::test]
async fn device_of_a_person_who_disabled_it_does_not_come_in() {
    let (server, admin) = TestServer::start().await.with_admin();
    let secret = admit(&server, "sn-1").await;
    admin.put("/user/main/users/device_sn-1", &json!({"enabled": false})).await;

    assert!(!gets_in(&device(&server, "sn-1", &secret)).await);

    assert_eq!(password(&poll(&server, "sn-1").await), secret, "it never came in");
}
