//! Files of ids without passwords: registration requests (N-11).

use super::*;

const REQUESTS: &str = "/devicecontrol/newDeviceRequests";

#[tokio::test]
async fn file_of_ids_makes_requests_that_wait_for_their_devices() {
    let (server, admin) = TestServer::start().await.with_admin();

    assert_eq!(register(&admin, "ID\na1\na/2\n").await, all_created(2));

    let request = admin.read(&format!("{REQUESTS}/a1")).await;
    let expected = json!({
        "id": "a1",
        "status": "WAITING_FOR_CONNECTION",
        "tenantId": "main",
        "owner": "admin",
        "creationTime": "<time>",
        "self": "<base>/devicecontrol/newDeviceRequests/a1",
    });
    assert_eq!(redacted(&request, &[(server.base(), "<base>")]), expected);
    let all = admin.read(REQUESTS).await;
    assert_eq!(member_texts(&all, "newDeviceRequests", "id"), ["a1", "a/2"]);
    assert_eq!(server.database().count("users WHERE name LIKE 'device\\_%'").await, 0);
}

#[tokio::test]
async fn device_of_such_a_request_is_let_in_and_put_in_the_group_of_its_path() {
    let (server, admin) = TestServer::start().await.with_admin();
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);

    register(&admin, "ID;PATH\na1;North/Hall\n").await;

    let (path, body) = ("/devicecontrol/deviceCredentials", json!({"id": "a1"}));
    assert_eq!(bootstrap.post(path, &body).await.status, 404);
    assert_eq!(admin.put(&format!("{REQUESTS}/a1"), &json!({"status": "ACCEPTED"})).await.status, 200);
    let credentials = bootstrap.create(path, &body).await;
    let device = server.caller("main/device_a1", credentials["password"].as_str().unwrap());
    let object = device.create_device("pump").await;
    let hall = &objects_of_type(&admin, "plat_DeviceSubgroup").await[0];
    assert_eq!((&hall["name"], &hall["owner"]), (&json!("Hall"), &json!("admin")));
    assert_eq!(hall["childAssets"]["references"][0]["managedObject"]["id"], json!(object));
}

#[tokio::test]
async fn ids_that_have_a_request_or_could_have_none_fail_alone() {
    let (server, admin) = TestServer::start_with_tenant("north", "north.example.com").await.with_admin();
    register(&server.caller("north/admin", ADMIN_PASSWORD), "ID\nelsewhere\n").await;
    admin.create(REQUESTS, &json!({"id": "known"})).await;

    let file =
        format!("ID;PATH\na1;\nknown;Known\nelsewhere;\na:b;\n;x\na1;\na2;North\n{};\n", "x".repeat(1001));
    let result = register(&admin, file).await;

    assert_eq!(counts(&result), [8, 2, 6, 2]);
    let failed = failures(&result);
    for ((id, reason), text) in failed.iter().zip(["request", "request", "'id'", "'id'", "request", "'id'"]) {
        assert!(reason.contains(text), "{id}: {reason}");
    }
    let groups = objects_of_type(&admin, "plat_DeviceGroup").await;
    assert_eq!(groups.len(), 1, "{groups:?}");
}

#[tokio::test]
async fn column_tenant_does_not_matter_and_any_other_asks_for_passwords() {
    let (server, admin) = TestServer::start().await.with_admin();

    assert_eq!(register(&admin, "TENANT,ID\nother,a1\n").await, all_created(1));
    for columns in ["ID,TYPE", "ID,NAME", "ID,ICCID", "ID,note", "ID,external-x"] {
        super::upload(&admin, format!("{columns}\na2,x\n")).await.expect_message(422, "CREDENTIALS");
    }
    assert_eq!(server.count("new_device_requests").await, 1);
    assert_eq!(register(&admin, format!("ID,CREDENTIALS\na1,{SECRET}\n")).await, all_created(1));
}

#[tokio::test]
async fn one_file_of_ids_uploaded_twice_at_once_makes_each_request_once() {
    let one = TestServer::start().await;
    let other = TestServer::start_on(&one.shared_database(), |_| {}).await;
    let file =
        "ID;PATH\n".to_owned() + &(0..1000).map(|n| format!("a{n};Hall {}\n", n % 3)).collect::<String>();
    let (first, second) = (one.admin(), other.admin());

    let (first, second) = tokio::join!(register(&first, &file), register(&second, &file));

    let (first, second) = (counts(&first), counts(&second));
    assert_eq!((first[0], second[0], first[1] + second[1], first[2] + second[2]), (1000, 1000, 1000, 1000));
    assert_eq!(one.database().count("new_device_requests").await, 1000);
    assert_eq!(one.database().count("managed_objects").await, 3);
}
