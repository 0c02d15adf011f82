//! Create, read, list, delete.

use super::*;

#[tokio::test]
async fn created_external_id_has_every_member_of_the_documents() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let answer = admin.post(&ids_of(&device), &pair("plat_Serial", "4711")).await;

    let link = format!("{}/identity/externalIds/plat_Serial/4711", server.base());
    let object = format!("{}/inventory/managedObjects/{device}", server.base());
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.header("Location"), Some(&*link));
    assert_eq!(
        answer.json(),
        json!({
            "self": link,
            "externalId": "4711",
            "type": "plat_Serial",
            "managedObject": {"id": device, "self": object},
        })
    );
    assert_eq!(admin.read(&link).await, answer.json());
}

#[tokio::test]
async fn resources_are_given_as_their_own_media_types() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    name(&admin, &device, "a", "b").await;

    for (path, media) in
        [("/identity/externalIds/a/b", "externalId"), (&*ids_of(&device), "externalIdCollection")]
    {
        let answer = admin.get(path).await;
        assert!(
            answer.header("Content-Type").unwrap().starts_with(&format!("{MEDIA}{media}+json")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn collection_holds_all_ids_of_the_object_and_is_not_paged() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    let mut named = Vec::new();
    for n in 0..7 {
        named.push(name(&admin, &device, "plat_Serial", &format!("pump-{n}")).await);
    }
    name(&admin, &other, "plat_Serial", "other").await;

    let list = admin.read(&ids_of(&device)).await;

    let link = format!("{}{}", server.base(), ids_of(&device));
    assert_eq!(list, json!({"self": link, "externalIds": named}));
}

#[tokio::test]
async fn object_without_external_ids_has_an_empty_collection() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    assert_eq!(admin.read(&ids_of(&device)).await["externalIds"], json!([]));
}

#[tokio::test]
async fn unknown_object_in_the_path_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for id in ["4711", "pump", "0", "-1", "99999999999999999999"] {
        for answer in [admin.get(&ids_of(id)).await, admin.post(&ids_of(id), &pair("a", "b")).await] {
            assert_eq!((answer.status, answer.error().as_str()), (404, "inventory/Not Found"), "{id}");
        }
    }
}

#[tokio::test]
async fn unknown_external_id_is_404_with_the_text_of_the_documents() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for answer in [
        admin.get("/identity/externalIds/plat_Serial/4711").await,
        admin.delete("/identity/externalIds/plat_Serial/4711").await,
    ] {
        assert_eq!((answer.status, answer.error().as_str()), (404, "identity/Not Found"));
        let message = "External id not found; external id = ID [type=plat_Serial, value=4711]";
        assert_eq!(answer.message(), message);
    }
}

#[tokio::test]
async fn pair_is_unique_in_the_tenant_and_a_type_is_not_in_an_object() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    name(&admin, &device, "plat_Serial", "4711").await;

    let again = admin.post(&ids_of(&device), &pair("plat_Serial", "4711")).await;
    let elsewhere = admin.post(&ids_of(&other), &pair("plat_Serial", "4711")).await;

    for answer in [again, elsewhere] {
        assert_eq!((answer.status, answer.error().as_str()), (409, "identity/Duplicate"), "{}", answer.text);
        // Firmware of the field searches for these words.
        let message = answer.message();
        assert!(
            message.starts_with("an external id with key ") && message.ends_with("already exists"),
            "{message}"
        );
    }
    name(&admin, &device, "plat_Serial", "4712").await;
    name(&admin, &other, "plat_Other", "4711").await;
    let found = admin.read("/identity/externalIds/plat_Serial/4711").await;
    assert_eq!(found["managedObject"]["id"], json!(device));
}

#[tokio::test]
async fn pair_of_another_tenant_is_absent_and_free() {
    let server = TestServer::start_with_tenant("plant7", "plant7.example.com").await;
    let (admin, stranger) = (server.admin(), server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD));
    let device = admin.create_device("pump").await;
    name(&admin, &device, "a", "b").await;

    assert_eq!(stranger.get("/identity/externalIds/a/b").await.status, 404);
    assert_eq!(stranger.delete("/identity/externalIds/a/b").await.status, 404);
    assert_eq!(stranger.get(&ids_of(&device)).await.status, 404);
    assert_eq!(stranger.post(&ids_of(&device), &pair("c", "d")).await.status, 404);
    let theirs = stranger.create_device("pump").await;
    name(&stranger, &theirs, "a", "b").await;
}

#[tokio::test]
async fn deleted_external_id_is_gone_and_its_object_stays() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let link = name(&admin, &device, "a", "b").await["self"].as_str().unwrap().to_owned();

    let answer = admin.delete(&link).await;

    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    assert_eq!((admin.get(&link).await.status, admin.delete(&link).await.status), (404, 404));
    assert_eq!(admin.get(&format!("/inventory/managedObjects/{device}")).await.status, 200);
    name(&admin, &device, "a", "b").await;
}

#[tokio::test]
async fn external_ids_go_with_their_object() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    name(&admin, &device, "a", "b").await;

    admin.delete(&format!("/inventory/managedObjects/{device}")).await;

    assert_eq!(admin.get("/identity/externalIds/a/b").await.status, 404);
    let successor = admin.create_device("pump").await;
    name(&admin, &successor, "a", "b").await;
}

#[tokio::test]
async fn missing_members_are_listed() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for (body, names) in [
        (json!({}), "externalId,type"),
        (json!({"type": "a", "externalId": null}), "externalId"),
        (json!({"externalId": "a"}), "type"),
    ] {
        let answer = admin.post(&ids_of(&device), &body).await.expect_error(422, "undefined/validationError");
        assert_eq!(answer.message(), format!("Following mandatory fields should be included: {names}"));
    }
}

#[tokio::test]
async fn wrong_members_are_refused() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let long = "x".repeat(1025);

    for (body, status) in [
        (pair("", "b").to_string(), 422),
        (pair("a", "").to_string(), 422),
        (pair(&long, "b").to_string(), 422),
        (pair("a", &long).to_string(), 422),
        (pair("a", &"ü".repeat(513)).to_string(), 422),
        (json!({"type": 1, "externalId": "b"}).to_string(), 422),
        (json!({"type": "a", "externalId": ["b"]}).to_string(), 422),
        (pair("a", "b\0c").to_string(), 422),
        (String::new(), 422),
        ("[]".to_owned(), 400),
        ("{".to_owned(), 400),
    ] {
        let request = admin.request("POST", &ids_of(&device)).header("Content-Type", "application/json");
        request.body(body.clone()).send().await.expect(status);
    }
    assert_eq!(server.count("external_ids").await, 0);
}

#[tokio::test]
async fn server_members_and_unknown_ones_are_ignored() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    let mut body = pair("a", "b");
    body["managedObject"] = json!({"id": other});
    body["self"] = json!(5);
    body["colour"] = json!("red");

    let id = admin.create(&ids_of(&device), &body).await;

    assert_eq!(id["managedObject"]["id"], json!(device));
    assert!(id.get("colour").is_none(), "{id}");
}

#[tokio::test]
async fn transient_mode_stores_nothing_and_unknown_modes_are_422() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    name(&admin, &device, "a", "b").await;
    let send = |method: &str, path: &str, mode: &str| {
        let request = admin.request(method, path).header("X-Platform-Processing-Mode", mode);
        request.accepting_json().json(&pair("c", "d")).send()
    };

    let created = send("POST", &ids_of(&device), "transient").await;
    let deleted = send("DELETE", "/identity/externalIds/a/b", "TRANSIENT").await;
    let refused = send("POST", &ids_of(&device), "CEP").await;

    assert_eq!((created.status, deleted.status, refused.status), (201, 204, 422));
    assert!(created.json()["self"].as_str().unwrap().ends_with("/null"), "{}", created.text);
    assert_eq!(admin.read(&ids_of(&device)).await["externalIds"].as_array().unwrap().len(), 1);
}
