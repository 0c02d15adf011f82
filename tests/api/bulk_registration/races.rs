//! Concurrent registrations, and objects that other requests create meanwhile.

use std::collections::BTreeSet;

use super::*;

/// Asserts that every device exists once and complete: user, membership, object, external id.
async fn assert_whole(server: &TestServer, count: i64) {
    let whole = "SELECT count(*) FROM users u \
        JOIN group_members m ON m.tenant = u.tenant AND m.user_name = u.name \
        JOIN managed_objects o ON o.tenant = u.tenant AND o.owner = u.name \
        JOIN external_ids e ON e.tenant = o.tenant AND e.object = o.id AND 'device_' || e.value = u.name";
    assert_eq!(server.database().query(whole, &[]).await[0].get::<_, i64>(0), count);
    assert_eq!(server.count("external_ids").await, count);
    assert_eq!(server.database().count("group_members WHERE user_name LIKE 'device\\_%'").await, count);
}

#[tokio::test]
async fn one_file_uploaded_several_times_at_once_makes_each_device_once() {
    let one = TestServer::start().await;
    let other = TestServer::start_on(&one.shared_database(), |_| {}).await;
    let servers = [&one, &other, &one, &other];
    let callers: Vec<_> = servers.iter().map(|server| server.admin()).collect();
    let file = fleet(2000);

    let results = join_all(callers.iter().map(|caller| register(caller, &file))).await;

    for result in &results {
        let [all, created, failed, successful] = counts(result);
        assert_eq!((all, failed, successful), (2000, 0, 2000), "{result}");
        let updated = member_texts(result, "credentialUpdatedList", "deviceId");
        assert_eq!(updated.len() as u64, 2000 - created);
    }
    let created: u64 = results.iter().map(|result| counts(result)[1]).sum();
    assert_eq!(created, 2000);
    assert_whole(&one, 2000).await;
}

#[tokio::test]
async fn external_ids_that_two_files_want_go_to_one_and_the_other_row_is_absent() {
    let one = TestServer::start().await;
    let other = TestServer::start_on(&one.shared_database(), |_| {}).await;
    let file = |prefix: &str| {
        let rows = (0..1000).map(|n| format!("{prefix}{n};{SECRET};t;n;{n};North/Hall {}\n", n % 7));
        "ID;CREDENTIALS;TYPE;NAME;external-imei;PATH\n".to_owned() + &rows.collect::<String>()
    };
    let (first, second) = (one.admin(), other.admin());

    let (first, second) = tokio::join!(register(&first, file("a")), register(&second, file("b")));

    let ([_, created, failed, _], [_, other_created, other_failed, _]) = (counts(&first), counts(&second));
    assert_eq!((created + other_created, failed + other_failed), (1000, 1000), "{first} {second}");
    let failed = |result| member_texts(result, "failedCreationList", "deviceId");
    let lost: BTreeSet<String> =
        failed(&first).iter().chain(&failed(&second)).map(|id| id[1..].to_owned()).collect();
    assert_eq!(lost.len(), 1000);
    let users = one.database().count("users WHERE name LIKE 'device\\_%'").await;
    let devices = one.database().count("managed_objects WHERE fragments ? 'plat_IsDevice'").await;
    assert_eq!((users, devices), (1000, 1000));
    let groups = one.database().count("managed_objects WHERE fragments ? 'plat_IsDeviceGroup'").await;
    assert_eq!(groups, 1 + 7);
    assert_eq!(one.database().count("links").await, 7 + 1000);
}

#[tokio::test]
async fn external_ids_taken_by_others_meanwhile_are_failures_and_no_5xx() {
    let (server, admin, object) = TestServer::start().await.with_device("other").await;
    let ids = format!("/identity/globalIds/{object}/externalIds");
    let file = fleet(1500);

    let taking = async {
        let mut taken = 0;
        for n in (0..1500).rev().step_by(37) {
            let pair = json!({"type": "plat_Serial", "externalId": format!("a{n}")});
            taken += u64::from(admin.post(&ids, &pair).await.status == 201);
        }
        taken
    };
    let (answer, taken) = tokio::join!(upload(&admin, &file), taking);

    assert_eq!(answer.status, 201, "{}", answer.text);
    let [all, created, failed, _] = counts(&answer.json());
    assert_eq!((all, created + failed, failed), (1500, 1500, taken));
    assert_eq!(server.database().count("users WHERE name LIKE 'device\\_%'").await, created as i64);
    assert_eq!(server.count("managed_objects").await, created as i64 + 1);
}

#[tokio::test]
async fn groups_deleted_meanwhile_cost_no_row() {
    let (server, admin) = TestServer::start().await.with_admin();
    let rows = (0..3000).map(|n| format!("a{n};{SECRET};t;n;North/Hall\n"));
    let file = "ID;CREDENTIALS;TYPE;NAME;PATH\n".to_owned() + &rows.collect::<String>();
    let (done, mut ended) = tokio::sync::oneshot::channel::<()>();

    let deleting = async {
        let mut deleted = 0;
        while ended.try_recv().is_err() {
            for group in super::objects_of_type(&admin, "plat_DeviceGroup").await {
                let path = format!("{OBJECTS}/{}", group["id"].as_str().unwrap());
                deleted += u64::from(admin.delete(&path).await.status == 204);
            }
        }
        deleted
    };
    let registering = async {
        let answer = upload(&admin, &file).await;
        done.send(()).unwrap();
        answer
    };
    let (answer, _) = tokio::join!(registering, deleting);

    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.json(), super::all_created(3000));
    assert_eq!(server.database().count("managed_objects WHERE fragments ? 'plat_IsDevice'").await, 3000);
}
