//! Rows 101 and 105: child devices of a gateway (H-14).

use super::acting_device::{device_user, find, object_of, send_for, told};
use super::*;

/// The ids of the child devices of an object, in order.
async fn children(server: &TestServer, parent: &str) -> Vec<String> {
    let page = server.admin().read(&format!("{OBJECTS}/{parent}/childDevices?pageSize=2000")).await;
    let children = json!({"children": page["references"].as_array().unwrap().iter()
        .map(|reference| reference["managedObject"].clone()).collect::<Vec<_>>()});
    member_texts(&children, "children", "id")
}

#[tokio::test]
async fn child_is_created_below_the_gateway_and_stays_when_the_row_is_repeated() {
    let (server, gateway) = with_device_user("gw").await;

    assert_eq!(send(&gateway, "101,c1\n101,\"c\"\"2\",\"Child, 2\",acme_Child").await, "");
    assert_eq!(send(&gateway, "101,c1,Other,acme_Other\n101,\"c\"\"2\",,").await, "");

    let (one, two) = (object_of(&server, "c1").await, object_of(&server, "c%222").await);
    assert_eq!(told(&one), json!({"name": "Device c1", "type": "plat_ChildDevice", "plat_IsDevice": {}}));
    assert_eq!(told(&two), json!({"name": "Child, 2", "type": "acme_Child", "plat_IsDevice": {}}));
    assert_eq!(one["owner"], "device_gw");
    let parent = find(&server, "gw").await.unwrap();
    assert_eq!(children(&server, &parent).await, [&one["id"], &two["id"]].map(|id| id.as_str().unwrap()));
    assert_eq!(server.count("managed_objects").await, 3);
}

#[tokio::test]
async fn device_that_is_known_is_linked_as_it_is() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (gateway, sensor) = (device_user(&server, "gw").await, device_user(&server, "s1").await);
    send(&gateway, "100").await;
    send(&sensor, "100,Sensor").await;

    let refused = send(&gateway, "101,s1").await;
    let linked = send_for(&admin, "gw", "101,s1,Other\n101,s1").await;

    assert_eq!(
        (refused.as_str(), linked.as_str()),
        ("50,1,403\n", ""),
        "the gateway may not write the sensor"
    );
    let object = object_of(&server, "s1").await;
    assert_eq!((&object["name"], &object["owner"]), (&json!("Sensor"), &json!("device_s1")));
    let parent = find(&server, "gw").await.unwrap();
    assert_eq!(children(&server, &parent).await, [object["id"].as_str().unwrap()]);
}

#[tokio::test]
async fn device_that_is_only_permitted_is_not_linked() {
    let (server, admin) = TestServer::shared().await.with_admin();
    send_for(&admin, "s1", "100,Sensor").await;
    send_for(&admin, "gw", "100,Gateway").await;
    let target = find(&server, "s1").await.unwrap();
    let gateway = server.user_permitted("device_gw", &target, &["*:*:*"]).await;
    let parent = find(&server, "gw").await.unwrap();
    admin.put(&format!("{OBJECTS}/{parent}"), &json!({"owner": "device_gw"})).await.expect(200);

    assert_eq!(send(&gateway, "101,s1").await, "50,1,403\n");
    assert_eq!(children(&server, &parent).await, [""; 0]);
}

#[tokio::test]
async fn device_is_never_a_child_of_itself_or_its_descendants() {
    let (_server, gateway) = with_device_user("gw").await;
    assert_eq!(send(&gateway, "101,c1\n101,gw").await, "50,2,422\n");

    assert_eq!(send_for(&gateway, "c1", "101,gw").await, "50,1,422\n");
}

#[tokio::test]
async fn child_is_stored_and_linked_whatever_the_processing_mode() {
    let (_server, gateway) = with_device_user("gw").await;

    let rows = super::request(&gateway, "101,c1\n101,c1");
    let answer = super::text_of(rows.header("X-Platform-Processing-Mode", "TRANSIENT").send().await);

    assert_eq!((answer.as_str(), send(&gateway, "105").await.as_str()), ("", "106,c1\n"));
}

#[tokio::test]
async fn of_many_rows_for_one_child_at_once_on_two_servers_one_object_stays() {
    let servers = TestServer::start_two().await;
    device_user(&servers[0], "gw").await;
    let user = |server: &TestServer| server.caller("device_gw", crate::harness::ADMIN_PASSWORD);
    for server in &servers {
        assert_eq!(send(&user(server), "100").await, "");
    }

    let answers = join_all((0..20).map(|n| {
        let gateway = user(&servers[n % 2]);
        async move { send(&gateway, "101,c1").await }
    }))
    .await;

    assert!(answers.iter().all(String::is_empty), "{answers:?}");
    assert_eq!(servers[0].database().count("managed_objects").await, 2);
    assert_eq!(send(&user(&servers[0]), "105").await, "106,c1\n");
}

#[tokio::test]
async fn children_are_listed_by_serial_or_id_in_the_order_they_were_added() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let gateway = device_user(&server, "gw").await;

    assert_eq!(send(&gateway, "105").await, "106\n");
    assert_eq!(send(&gateway, "101,b\n101,\"a,1\"").await, "");
    let parent = find(&server, "gw").await.unwrap();
    let nameless = json!({"name": "nameless"});
    let path = format!("{OBJECTS}/{parent}/childDevices");
    let nameless = gateway.create(&path, &nameless).await["id"].clone();
    assert_eq!(send(&gateway, "101,0").await, "");

    let expected = format!("106,b,\"a,1\",{},0\n", nameless.as_str().unwrap());
    assert_eq!(send(&gateway, "105").await, expected);
    assert_eq!(send_for(&admin, "gw", "105").await, expected);
}

#[tokio::test]
async fn all_children_are_listed_however_many() {
    let (_server, gateway) = with_device_user("gw").await;
    let serials: Vec<String> = (0..300).map(|n| format!("c{n}")).collect();
    let rows: String = serials.iter().map(|serial| format!("101,{serial}\n")).collect();

    assert_eq!(send(&gateway, &rows).await, "");

    assert_eq!(send(&gateway, "105").await, format!("106,{}\n", serials.join(",")));
}

#[tokio::test]
async fn wrong_arguments_are_reported_with_their_line() {
    let (_server, gateway) = with_device_user("gw").await;

    let answer = send(&gateway, "101\n101,,a\n101,a,b,c,d\n101,\"x\0\"").await;

    let wrong = |line: u8| format!("45,{line},Wrong number of arguments\n");
    assert_eq!(answer, [wrong(1), wrong(2), wrong(3), "50,4,422\n".into()].concat());
}
