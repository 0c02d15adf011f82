//! The user and the device that a row with credentials creates (N-12).

use super::*;

#[tokio::test]
async fn row_makes_user_managed_object_and_external_id() {
    let (server, admin) = TestServer::start().await.with_admin();

    let file = format!("ID;CREDENTIALS;TYPE;NAME;ICCID;SHELL\na1;{SECRET};pump;Pump 1;8949;1\n");
    let result = register(&admin, file).await;

    assert_eq!(result, all_created(1));
    let object = object_of(&admin, "plat_Serial", "a1").await;
    let id = object["id"].as_str().unwrap().to_owned();
    let references =
        ["childDevices", "childAssets", "childAdditions", "deviceParents", "assetParents", "additionParents"];
    let object = redacted(&without(&object, &references), &[(&id, "<id>"), (server.base(), "<base>")]);
    let expected = json!({
        "id": "<id>",
        "name": "Pump 1",
        "type": "pump",
        "owner": "device_a1",
        "creationTime": "<time>",
        "lastUpdated": "<time>",
        "self": "<base>/inventory/managedObjects/<id>",
        "plat_IsDevice": {},
        "plat_Mobile": {"iccid": "8949"},
        "plat_SupportedOperations": ["plat_Command"],
        "plat_ActiveAlarmsStatus": {"critical": 0, "major": 0, "minor": 0, "warning": 0},
    });
    assert_eq!(object, expected);
}

#[tokio::test]
async fn device_comes_in_by_its_password_as_a_member_of_devices_and_owns_its_object() {
    let (server, admin) = TestServer::start().await.with_admin();

    register(&admin, format!("ID;CREDENTIALS;TYPE;NAME\na1;{SECRET};pump;Pump 1\n")).await;

    let device = server.caller("device_a1", SECRET);
    let own = object_of(&device, "plat_Serial", "a1").await;
    let path = format!("{OBJECTS}/{}", own["id"].as_str().unwrap());
    assert_eq!(device.put(&path, &json!({"plat_Hardware": {}})).await.status, 200);
    let groups = admin.read("/user/main/users/device_a1/groups").await;
    assert_eq!(groups["references"][0]["group"]["name"], "devices");
    assert!(!comes_in(&server.caller("device_a1", "secret-of-nobody-1")).await);
}

#[tokio::test]
async fn password_of_few_characters_works_as_well_as_a_long_one() {
    let (server, admin) = TestServer::start().await.with_admin();

    let file =
        "ID,CREDENTIALS\nshort,secret\nfifteen,fifteen-letters\nsixteen,sixteen--letters\nlatin,gehéím ÿ\n";
    let result = register(&admin, file).await;

    assert_eq!(result, all_created(4));
    for (id, password) in [
        ("short", "secret"),
        ("fifteen", "fifteen-letters"),
        ("sixteen", "sixteen--letters"),
        ("latin", "gehéím ÿ"),
    ] {
        assert!(comes_in(&server.caller(&format!("device_{id}"), password)).await, "{id}");
    }
    let hashes = "SELECT name, password_hash FROM users WHERE name LIKE 'device\\_%' ORDER BY name";
    let slow = |row: &tokio_postgres::Row| row.get::<_, &str>(1).starts_with("$argon2id$");
    let slow: Vec<bool> = server.database().query(hashes, &[]).await.iter().map(slow).collect();
    assert_eq!(slow, [true, true, true, false]);
}

#[tokio::test]
async fn row_without_type_and_name_makes_a_user_alone() {
    let (server, admin) = TestServer::start().await.with_admin();

    let result = register(&admin, format!("ID;CREDENTIALS;TYPE;NAME\na1;{SECRET};;\n")).await;

    assert_eq!(result, all_created(1));
    assert!(comes_in(&server.caller("device_a1", SECRET)).await);
    assert_eq!(server.count("managed_objects").await, 0);
    assert_eq!(server.count("external_ids").await, 0);
}

#[tokio::test]
async fn type_of_the_external_id_may_be_given_for_each_row() {
    let (server, admin) = TestServer::start().await.with_admin();

    let file = format!("ID;CREDENTIALS;TYPE;NAME;IDTYPE\na1;{SECRET};t;n;imei\na2;{SECRET};t;n;\n");
    register(&admin, file).await;

    assert_eq!(object_of(&admin, "imei", "a1").await["owner"], "device_a1");
    assert_eq!(object_of(&admin, "plat_Serial", "a2").await["owner"], "device_a2");
    assert_eq!(server.count("external_ids").await, 2);
}

#[tokio::test]
async fn object_is_not_an_agent_unless_a_column_makes_it_one() {
    let (_server, admin) = TestServer::start().await.with_admin();

    let file =
        format!("ID;CREDENTIALS;TYPE;NAME;com_platform_model_Agent\na1;{SECRET};t;n;yes\na2;{SECRET};t;n;\n");
    register(&admin, file).await;

    assert_eq!(object_of(&admin, "plat_Serial", "a1").await["com_platform_model_Agent"], "yes");
    assert!(object_of(&admin, "plat_Serial", "a2").await.get("com_platform_model_Agent").is_none());
}

#[tokio::test]
async fn result_is_given_with_and_without_accept_and_without_location() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let request = |id: &str| {
        let request = admin.request("POST", REGISTRATIONS).header("Content-Type", super::CONTENT_TYPE);
        request.body(form(format!("ID;CREDENTIALS\n{id};{SECRET}\n")))
    };

    let without = request("a1").send().await;
    let vendor = "application/vnd.example.platform.bulkNewDeviceRequest+json";
    let with = request("a2").header("Accept", vendor).send().await;
    let other = request("a3").header("Accept", "text/html").send().await;

    for answer in [&without, &with] {
        assert_eq!((answer.status, answer.json()), (201, all_created(1)));
        let content_type = answer.header("Content-Type").unwrap();
        assert!(content_type.starts_with(vendor), "{content_type}");
        assert_eq!(answer.header("Location"), None);
    }
    assert_eq!(other.status, 406);
}

#[tokio::test]
async fn caller_without_the_role_is_403_and_nothing_is_read() {
    let server = TestServer::start().await;
    let reader = server.user_with("reader", &["ROLE_DEVICE_CONTROL_READ", "ROLE_INVENTORY_ADMIN"]).await;
    let registrar = server.user_with("registrar", &["ROLE_DEVICE_CONTROL_ADMIN"]).await;
    let file = format!("ID;CREDENTIALS;TYPE;NAME\na1;{SECRET};pump;Pump 1\n");

    assert_eq!(upload(&reader, &file).await.status, 403);
    assert_eq!(upload(&reader, "nonsense").await.status, 403);
    assert_eq!(register(&registrar, &file).await, all_created(1));
}
