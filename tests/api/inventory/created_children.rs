//! The response to a POST to a child collection depends on the body and on `Accept` (I-03a).

use super::*;

#[tokio::test]
async fn whole_object_returns_the_object_and_a_reference_returns_the_reference() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (parent, known) = (admin.create_device("gateway").await, admin.create_device("known").await);
    let path = format!("{OBJECTS}/{parent}/childAssets");
    let object = format!("{MEDIA}managedObject+json");
    let reference = format!("{MEDIA}managedObjectReference+json");
    let (whole, link) = (json!({"name": "sub"}), json!({"managedObject": {"id": known}}));

    for (body, content_type, accept, answered, id) in [
        (&whole, &object, "application/json", "application/json", "/id"),
        (&whole, &object, &*object, &*object, "/id"),
        (&whole, &object, "*/*", &*object, "/id"),
        (&whole, &object, &*reference, &*reference, "/managedObject/id"),
        (&link, &object, "application/json", "application/json", "/managedObject/id"),
        (&link, &reference, &*reference, &*reference, "/managedObject/id"),
    ] {
        let request = admin.request("POST", &path).header("Content-Type", content_type);
        let answer = request.header("Accept", accept).body(body.to_string()).send().await.expect(201);
        assert!(answer.header("Content-Type").unwrap().starts_with(answered), "{body} {accept}");
        assert!(answer.json().pointer(id).is_some_and(Value::is_string), "{body} {accept}: {}", answer.text);
    }
    let before = server.count("managed_objects").await;
    let request = admin.request("POST", &path).header("Accept", &format!("{MEDIA}alarm+json"));
    assert_eq!(request.json(&whole).send().await.status, 406);
    assert_eq!(server.count("managed_objects").await, before, "what is refused is not done");
}
