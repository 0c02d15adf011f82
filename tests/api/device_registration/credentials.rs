//! The response to a device that polls, and the user that is created for it (N-06, N-08; X-05, U-16).

use super::*;

#[tokio::test]
async fn credentials_are_those_of_the_document() {
    let server = with_accepted("sn-1").await;

    let request = bootstrap(&server).request("POST", CREDENTIALS);
    let media_type = format!("{MEDIA}deviceCredentials+json");
    let request = request.header("Accept", &media_type).header("Content-Type", &media_type);
    let answer = request.body(r#"{"id":"sn-1"}"#).send().await.expect(201);

    assert!(answer.header("Content-Type").unwrap().starts_with(&media_type));
    let secret = password(&answer);
    assert!(secret.len() == 20 && secret.chars().all(|c| c.is_ascii_alphanumeric()), "{secret}");
    let link = format!("{}{CREDENTIALS}/sn-1", server.base());
    let expected = json!({"self": link, "id": "sn-1", "tenantId": "main", "username": "device_sn-1",
        "password": secret});
    assert_eq!(answer.json(), expected);
}

#[tokio::test]
async fn credentials_are_returned_also_without_accept() {
    let server = with_accepted("sn-1").await;

    let body = json!({"id": "sn-1"});
    let answer = RawConnection::without_accept(&bootstrap(&server), "POST", CREDENTIALS, &body).await;

    assert!(gets_in(&device(&server, "sn-1", &password(&answer))).await);
}

#[tokio::test]
async fn credentials_are_returned_as_json_whatever_the_device_accepts() {
    let server = with_accepted("sn-1").await;

    for accept in ["text/plain", "", "application/vnd.other.deviceCredentials+json;ver=0.9"] {
        let request = bootstrap(&server).request("POST", CREDENTIALS).header("Accept", accept);
        let request = request.header("Content-Type", "application/json");
        let answer = request.body(r#"{"id":"sn-1"}"#).send().await.expect(201);

        assert!(answer.header("Content-Type").unwrap().contains("json"), "{accept}");
        assert_eq!(answer.json()["username"], "device_sn-1", "{accept}");
    }
}

#[tokio::test]
async fn device_becomes_a_user_of_the_group_devices() {
    let (server, admin) = TestServer::start().await.with_admin();
    let password = admit(&server, "sn-1").await;

    let user = admin.read("/user/main/users/device_sn-1").await;
    let device = device(&server, "sn-1", &password);

    assert_eq!((&user["enabled"], &user["customProperties"]), (&json!(true), &json!({})));
    let groups = admin.read("/user/main/users/device_sn-1/groups").await;
    assert_eq!(groups["references"].as_array().unwrap().len(), 1);
    assert_eq!(groups["references"][0]["group"]["name"], "devices");
    let own = device.create_device("pump").await;
    let object = device.read(&format!("/inventory/managedObjects/{own}")).await;
    assert_eq!(object["owner"], "device_sn-1");
}

#[tokio::test]
async fn password_of_a_device_is_hashed_under_the_servers_key() {
    let server = TestServer::start().await;
    admit(&server, "sn-1").await;

    let rows =
        server.database().query("SELECT password_hash FROM users WHERE name = 'device_sn-1'", &[]).await;

    assert!(rows[0].get::<_, String>(0).starts_with("$hs1$"), "an HMAC, not Argon2id");
}

#[tokio::test]
async fn poll_without_a_request_is_404_with_the_text_that_devices_know() {
    let server = TestServer::start().await;

    let answer = poll(&server, "sn-9").await.expect_error(404, "devicecontrol/Not Found");

    assert_eq!(answer.message(), "There is no newDeviceRequest for device id sn-9.");
}

#[tokio::test]
async fn poll_before_the_acceptance_is_404_with_the_text_that_devices_know() {
    let server = with_request("sn-1").await;

    for _ in 0..2 {
        let answer = poll(&server, "sn-1").await.expect_error(404, "devicecontrol/Not Found");
        let text = "Credentials for device id sn-1 are not available. Device is in state PENDING_ACCEPTANCE, (not \
            ACCEPTED)).";
        assert_eq!(answer.message(), text);
    }
}

#[tokio::test]
async fn existing_device_gets_a_new_password_and_nothing_else() {
    let server = TestServer::start().await;
    let old = server.device_user("sn-1").await;
    let object = old.create_device("pump").await;
    assert!(gets_in(&old).await);

    let password = admit(&server, "sn-1").await;

    let device = device(&server, "sn-1", &password);
    let seen = device.read(&format!("/inventory/managedObjects/{object}")).await;
    assert_eq!(seen["owner"], "device_sn-1");
    crate::harness::until("the end of the old password", async || !gets_in(&old).await).await;
}

#[tokio::test]
async fn user_that_holds_more_than_a_device_is_given_to_nobody() {
    let server = TestServer::start().await;
    let (admin, database) = (server.admin(), server.database());
    // One user is not a member of `devices`; the others have a role, device permissions and a second group.
    database.insert_user("device_boss", &[]).await;
    for serial in ["role", "permitted", "grouped"] {
        server.device_user(serial).await;
    }
    let changes = [
        "UPDATE users SET roles = '{ROLE_ALARM_READ}' WHERE name = 'device_role'",
        "UPDATE users SET device_permissions = '{\"1\":[\"*:*:*\"]}' WHERE name = 'device_permitted'",
        "INSERT INTO group_members (tenant, group_id, user_name) \
            SELECT tenant, id, 'device_grouped' FROM groups WHERE tenant = 'main' AND name = 'admins'",
    ];
    for change in changes {
        assert_eq!(database.execute(change, &[]).await, 1, "{change}");
    }
    for id in ["boss", "role", "permitted", "grouped"] {
        let user = server.caller(&format!("device_{id}"), crate::harness::ADMIN_PASSWORD);

        let answer = admin.post(super::REQUESTS, &json!({"id": id})).await;

        assert_eq!((answer.status, &*answer.error()), (409, "devicecontrol/Update Conflict"), "{id}");
        assert!(answer.message().contains(&format!("'device_{id}'")), "{}", answer.text);
        assert!(gets_in(&user).await, "{id} keeps its password");
    }
}

#[tokio::test]
async fn user_that_was_given_more_after_the_request_is_given_to_nobody() {
    let (server, admin) = TestServer::start().await.with_admin();
    let user = server.device_user("sn-1").await;
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;
    let group = json!({"user": {"id": "device_sn-1"}});
    admin.create("/user/main/groups/1/users", &group).await;

    poll(&server, "sn-1").await.expect_error(409, "devicecontrol/Update Conflict");

    assert!(gets_in(&user).await);
}

#[tokio::test]
async fn device_that_is_registered_again_gets_another_password() {
    let (server, admin) = TestServer::start().await.with_admin();
    let first = admit(&server, "sn-1").await;
    assert!(gets_in(&device(&server, "sn-1", &first)).await);

    let second = admit(&server, "sn-1").await;

    assert_ne!(first, second);
    assert!(gets_in(&device(&server, "sn-1", &second)).await);
    let users = admin.read("/user/main/users?onlyDevices=true").await;
    assert_eq!(member_texts(&users, "users", "userName"), ["device_sn-1"]);
}

#[tokio::test]
async fn request_that_is_deleted_takes_its_credentials_along_but_not_the_user() {
    let (server, admin) = TestServer::start().await.with_admin();
    let password = admit(&server, "sn-1").await;

    assert_eq!(admin.delete(&request_of("sn-1")).await.status, 200);

    assert_eq!(poll(&server, "sn-1").await.status, 404);
    assert!(gets_in(&device(&server, "sn-1", &password)).await);
}
