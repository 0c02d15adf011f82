//! Groups that are named by paths (N-17).

use super::*;

/// A file of devices `<prefix>0`…, one for each path.
fn placed(prefix: &str, paths: &[&str]) -> String {
    let rows =
        paths.iter().enumerate().map(|(n, path)| format!("{prefix}{n};{SECRET};pump;Pump {n};{path}\n"));
    "ID;CREDENTIALS;TYPE;NAME;PATH\n".to_owned() + &rows.collect::<String>()
}

/// Names of the asset parents of a device, sorted.
async fn parents(caller: &Caller, id: &str) -> Vec<String> {
    let object = object_of(caller, "plat_Serial", id).await;
    let references = object["assetParents"]["references"].as_array().unwrap();
    let name = |reference: &Value| reference["managedObject"]["name"].as_str().unwrap().to_owned();
    let mut names: Vec<_> = references.iter().map(name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn missing_groups_are_made_and_the_device_is_put_in_the_last() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    assert_eq!(register(&admin, placed("a", &["North/Hall 1/Line 2"])).await, all_created(1));

    assert_eq!(parents(&admin, "a0").await, ["Hall 1", "Line 2", "North"]);
    let top = objects_of_type(&admin, "plat_DeviceGroup").await;
    let below = objects_of_type(&admin, "plat_DeviceSubgroup").await;
    let names: Vec<_> = top.iter().chain(&below).map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["North", "Hall 1", "Line 2"]);
    for (group, child) in [(&top[0], &below[0]), (&below[0], &below[1])] {
        assert_eq!((&group["plat_IsDeviceGroup"], &group["owner"]), (&json!({}), &json!("admin")));
        assert_eq!(group["childAssets"]["references"][0]["managedObject"]["id"], child["id"]);
    }
    let device = object_of(&admin, "plat_Serial", "a0").await;
    assert_eq!(below[1]["childAssets"]["references"][0]["managedObject"]["id"], device["id"]);
}

#[tokio::test]
async fn groups_that_are_there_are_matched_by_name_at_each_level() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, placed("a", &["North/Hall 1", "South/Hall 1"])).await;

    let paths = ["North/Hall 1", "South/Hall 1", "Hall 1", " /North//Hall 1/ ", "north/Hall 1", "North"];
    let result = register(&admin, placed("b", &paths)).await;

    assert_eq!(result, all_created(6));
    assert_eq!(objects_of_type(&admin, "plat_DeviceGroup").await.len(), 4);
    assert_eq!(objects_of_type(&admin, "plat_DeviceSubgroup").await.len(), 3);
    for (id, names) in [
        ("b0", vec!["Hall 1", "North"]),
        ("b1", vec!["Hall 1", "South"]),
        ("b2", vec!["Hall 1"]),
        ("b3", vec!["Hall 1", "North"]),
        ("b4", vec!["Hall 1", "north"]),
        ("b5", vec!["North"]),
    ] {
        assert_eq!(parents(&admin, id).await, names, "{id}");
    }
}

#[tokio::test]
async fn groups_that_people_made_are_matched_and_other_objects_are_not() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.create(OBJECTS, &json!({"name": "North", "type": "plat_DeviceGroup"})).await;
    admin.create(OBJECTS, &json!({"name": "North", "plat_IsDeviceGroup": {}})).await;
    let group = json!({"name": "North", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}});
    let first = admin.create(OBJECTS, &group).await;
    admin.create(OBJECTS, &group).await;
    let sub = json!({"name": "Hall", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}});
    let path = format!("{OBJECTS}/{}/childAssets", first["id"].as_str().unwrap());
    let sub = admin.create(&path, &sub).await;

    register(&admin, placed("a", &["North/Hall"])).await;

    let sub = admin.read(&format!("{OBJECTS}/{}", sub["id"].as_str().unwrap())).await;
    let device = object_of(&admin, "plat_Serial", "a0").await;
    assert_eq!(sub["childAssets"]["references"][0]["managedObject"]["id"], device["id"]);
    assert!(objects_of_type(&admin, "plat_DeviceSubgroup").await.is_empty());
}

#[tokio::test]
async fn groups_the_caller_does_not_see_are_not_matched() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let registrar = server.user_with("registrar", &["ROLE_DEVICE_CONTROL_ADMIN"]).await;
    register(&admin, placed("a", &["North"])).await;
    let global =
        json!({"name": "Global", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}, "plat_Global": {}});
    admin.create(OBJECTS, &global).await;

    register(&registrar, placed("b", &["North", "Global"])).await;
    register(&registrar, placed("c", &["North/Hall", "Global"])).await;

    let groups = objects_of_type(&admin, "plat_DeviceGroup").await;
    let shown: Vec<_> = groups.iter().map(|group| [&group["name"], &group["owner"]]).collect();
    assert_eq!(shown, [["North", "admin"], ["Global", "admin"], ["North", "registrar"]]);
}

#[tokio::test]
async fn group_that_was_deleted_is_made_again() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, placed("a", &["North/Hall"])).await;
    let group = &objects_of_type(&admin, "plat_DeviceGroup").await[0];
    assert_eq!(admin.delete(group["self"].as_str().unwrap()).await.status, 204);

    register(&admin, placed("b", &["North/Hall"])).await;

    assert_eq!(parents(&admin, "b0").await, ["Hall", "North"]);
    assert!(parents(&admin, "a0").await.is_empty());
}

#[tokio::test]
async fn rows_that_fail_or_are_known_make_no_groups() {
    let (server, admin) = TestServer::start().await.with_admin();
    register(&admin, format!("ID;CREDENTIALS\na0;{SECRET}\n")).await;

    let file = placed("a", &["Known"]) + &format!("a9;{SECRET};;;Nothing\na8;short;t;n;Short\n");
    let result = register(&admin, file).await;

    assert_eq!(counts(&result), [3, 0, 2, 1]);
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn a_thousand_groups_in_one_file_are_made_once_each() {
    let (server, admin) = TestServer::start().await.with_admin();

    let paths: Vec<String> = (0..3000).map(|n| format!("Top/Floor {}/Room {}", n % 10, n % 1000)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(register(&admin, placed("a", &paths)).await, all_created(3000));

    let groups = "SELECT count(*) FROM managed_objects WHERE fragments ? 'plat_IsDeviceGroup'";
    assert_eq!(server.database().query(groups, &[]).await[0].get::<_, i64>(0), 1 + 10 + 1000);
    assert_eq!(server.count("links").await, 10 + 1000 + 3000);
    assert_eq!(parents(&admin, "a2345").await, ["Floor 5", "Room 345", "Top"]);
}
