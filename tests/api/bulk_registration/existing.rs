//! Rows of devices that are known (N-13).

use super::*;

#[tokio::test]
async fn known_user_gets_the_new_password_and_nothing_else() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let file = |secret: &str, name: &str, note: &str| {
        format!(
            "ID;CREDENTIALS;TYPE;NAME;note;external-imei;PATH\na1;{secret};pump;{name};{note};4711;North\n"
        )
    };
    register(&admin, file(SECRET, "Pump 1", "old")).await;
    let before = object_of(&admin, "plat_Serial", "a1").await;
    let device = server.caller("device_a1", SECRET);
    assert!(comes_in(&device).await);

    let result = register(&admin, file("another-secret-of-it", "Pump 2", "new")).await;

    let expected = json!({
        "numberOfAll": 1,
        "numberOfCreated": 0,
        "numberOfFailed": 0,
        "numberOfSuccessful": 1,
        "credentialUpdatedList": [{"bulkNewDeviceStatus": "CREDENTIAL_UPDATED", "deviceId": "a1"}],
        "failedCreationList": [],
    });
    assert_eq!(result, expected);
    assert_eq!(object_of(&admin, "plat_Serial", "a1").await, before);
    assert!(comes_in(&server.caller("device_a1", "another-secret-of-it")).await);
    // Cached credentials are dropped when the change is announced.
    crate::harness::until("the old password to be refused", async || !comes_in(&device).await).await;
}

#[tokio::test]
async fn sessions_of_a_known_user_end_with_its_old_password() {
    let (server, admin) = TestServer::shared().await.with_admin();
    register(&admin, fleet(1)).await;
    let session = server.caller("device_a0", SECRET).session().await;

    register(&admin, format!("ID;CREDENTIALS\na0;{SECRET}\n")).await;

    crate::harness::until("the session to end", async || !session.is_known().await).await;
}

#[tokio::test]
async fn created_and_updated_are_successful_together() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, fleet(3)).await;

    let result = register(&admin, fleet(5) + "broken\n").await;

    assert_eq!(counts(&result), [6, 2, 1, 5]);
    let updated = crate::harness::member_texts(&result, "credentialUpdatedList", "deviceId");
    assert_eq!(updated, ["a0", "a1", "a2"]);
}

#[tokio::test]
async fn user_that_lost_its_object_gets_a_password_and_no_other_object() {
    let (server, admin) = TestServer::start().await.with_admin();
    register(&admin, fleet(1)).await;
    let object = object_of(&admin, "plat_Serial", "a0").await;
    admin.delete(&format!("{OBJECTS}/{}", object["id"].as_str().unwrap())).await;

    let result = register(&admin, fleet(1)).await;

    assert_eq!(counts(&result), [1, 0, 0, 1]);
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn user_that_holds_more_than_a_device_gets_no_password_from_a_file() {
    let (server, admin) = TestServer::start().await.with_admin();
    server
        .database()
        .insert_user("device_a0", &["ROLE_INVENTORY_ADMIN", "ROLE_USER_MANAGEMENT_OWN_READ"])
        .await;
    let user = server.caller("device_a0", crate::harness::ADMIN_PASSWORD);

    let credentials = register(&admin, fleet(2)).await;
    let requests = register(&admin, "ID\na0\nb0\n".to_owned()).await;

    assert_eq!(counts(&credentials), [2, 1, 1, 1], "{credentials}");
    assert_eq!(counts(&requests), [2, 1, 1, 1], "{requests}");
    for result in [credentials, requests] {
        let reasons = crate::harness::member_texts(&result, "failedCreationList", "failureReason");
        assert!(reasons[0].contains("'device_a0'"), "{result}");
    }
    assert!(comes_in(&user).await);
    assert_eq!(server.count("managed_objects").await, 1, "that of the other device");
}

#[tokio::test]
async fn known_device_keeps_its_password_when_its_row_is_of_a_certificate() {
    let (server, admin) = TestServer::shared().await.with_admin();
    register(&admin, fleet(1)).await;
    server.user_with("device_admin", &["ROLE_INVENTORY_ADMIN"]).await;

    let file = "ID;AUTH_TYPE;TYPE;NAME\na0;CERTIFICATES;x;y\nadmin;CERTIFICATES;x;y\nb0;CERTIFICATES;x;y\n";
    let result = register(&admin, file).await;

    assert_eq!(counts(&result), [3, 1, 0, 3]);
    assert_eq!(result["credentialUpdatedList"], json!([]));
    assert!(comes_in(&server.caller("device_a0", SECRET)).await);
    assert_eq!(objects_of_type(&admin, "x").await.len(), 1, "that of the new device");
}

#[tokio::test]
async fn device_with_a_certificate_gets_a_password_by_a_later_row() {
    let (server, admin) = TestServer::shared().await.with_admin();
    register(&admin, "ID;AUTH_TYPE\nb0;CERTIFICATES\n").await;

    let result = register(&admin, format!("ID;CREDENTIALS\nb0;{SECRET}\n")).await;

    assert_eq!(counts(&result), [1, 0, 0, 1]);
    assert_eq!(result["credentialUpdatedList"][0]["deviceId"], "b0");
    assert!(comes_in(&server.caller("device_b0", SECRET)).await);
}
