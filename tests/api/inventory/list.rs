//! Filters of the collection (I-07).

use serde_json::json;

use crate::harness::{Caller, TestServer, ids, member_texts};

const OBJECTS: &str = "/inventory/managedObjects";

async fn names(caller: &Caller, query: &str) -> Vec<String> {
    member_texts(&caller.read(&format!("{OBJECTS}?{query}")).await, "managedObjects", "name")
}

#[tokio::test]
async fn members_of_a_collection_are_the_objects_as_they_are_read() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let object = admin.create(OBJECTS, &json!({"name": "pump", "plat_A": {"x": 1}})).await;

    let list = admin.read(OBJECTS).await;

    assert_eq!(list["managedObjects"], json!([object]));
}

#[tokio::test]
async fn type_and_fragment_type_filter_exactly_and_together() {
    let server = TestServer::start().await;
    let admin = server.admin();
    for body in [
        json!({"name": "a", "type": "pump", "plat_IsDevice": {}}),
        json!({"name": "b", "type": "pump"}),
        json!({"name": "c", "type": "Pump", "plat_IsDevice": {}, "plat_Nested": {"plat_Inner": 1}}),
        json!({"name": "d"}),
    ] {
        admin.create(OBJECTS, &body).await;
    }

    assert_eq!(names(&admin, "type=pump").await, ["a", "b"]);
    assert_eq!(names(&admin, "fragmentType=plat_IsDevice").await, ["a", "c"]);
    assert_eq!(names(&admin, "type=pump&fragmentType=plat_IsDevice").await, ["a"]);
    assert!(names(&admin, "fragmentType=plat_Inner").await.is_empty(), "top-level names only");
    assert!(names(&admin, "type=unknown").await.is_empty());
}

#[tokio::test]
async fn fragment_type_follows_changes() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let object = admin.create(OBJECTS, &json!({"name": "a", "plat_Old": 1})).await;

    admin.put(object["self"].as_str().unwrap(), &json!({"plat_Old": null, "plat_New": 1})).await;

    assert!(names(&admin, "fragmentType=plat_Old").await.is_empty());
    assert_eq!(names(&admin, "fragmentType=plat_New").await, ["a"]);
}

#[tokio::test]
async fn ids_are_given_in_the_order_of_the_list_without_unknown_ones() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let (a, b, c) =
        (admin.create_device("a").await, admin.create_device("b").await, admin.create_device("c").await);

    let found = admin.read(&format!("{OBJECTS}?ids={c},4711,{a},pump,,{b}")).await;

    assert_eq!(ids(&found, "managedObjects"), [c, a, b]);
}

#[tokio::test]
async fn list_of_ids_is_paged_in_its_order() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(admin.create_device(&format!("pump {n}")).await);
    }
    made.reverse();

    let first = admin.read(&format!("{OBJECTS}?pageSize=3&withTotalPages=true&ids={}", made.join(","))).await;
    let second = admin.read(first["next"].as_str().unwrap()).await;
    let third = admin.read(second["next"].as_str().unwrap()).await;

    let seen = [&first, &second, &third].map(|page| ids(page, "managedObjects")).concat();
    assert_eq!(seen, made);
    assert_eq!(first["statistics"]["totalPages"], 3);
}

#[tokio::test]
async fn ids_are_combined_with_other_filters() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let pump = admin.create(OBJECTS, &json!({"name": "a", "type": "pump"})).await;
    let motor = admin.create(OBJECTS, &json!({"name": "b", "type": "motor"})).await;

    let ids = format!("ids={},{}", motor["id"].as_str().unwrap(), pump["id"].as_str().unwrap());

    assert_eq!(names(&admin, &format!("{ids}&type=pump")).await, ["a"]);
}

#[tokio::test]
async fn empty_list_of_ids_finds_nothing() {
    let server = TestServer::start().await;
    let admin = server.admin();
    admin.create_device("pump").await;

    assert!(names(&admin, "ids=").await.is_empty());
    assert!(names(&admin, "ids=pump").await.is_empty());
}
