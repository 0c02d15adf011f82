//! Template sets that are changed and deleted as managed objects (S-15).

use super::acting_device::send_for;
use super::*;

const FRAGMENT: &str = "com_platform_model_smartrest_SmartRestTemplate";

#[tokio::test]
async fn set_is_changed_at_once_by_a_put_of_its_fragment() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let get = "10,100,GET,/inventory/managedObjects/%%,,,%%\n11,200,,,name\n";
    let object = register(&admin, "pumps", get).await;
    assert_eq!(send_to(&admin, "pumps", &format!("100,{device}")).await, "200,1,pump\n");

    let path = format!("/inventory/managedObjects/{object}");
    let mut fragment = admin.read(&path).await[FRAGMENT].clone();
    fragment["responseTemplates"][0]["msgId"] = json!(201);
    fragment["responseTemplates"][0]["pattern"] = json!(["$.id", "name"]);
    fragment["requestTemplates"][0]["msgId"] = json!("300");
    admin.put(&path, &json!({ FRAGMENT: fragment })).await.expect(200);

    let rows = format!("300,{device}\n999\n");
    let expected = format!("201,1,{device},pump\n43,2,Invalid message identifier\n");
    assert_eq!(send_to(&admin, "pumps", &rows).await, expected);
}

#[tokio::test]
async fn invalid_template_is_unknown_and_the_rest_is_served() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let object = register(&admin, "pumps", "10,1,GET,/x\n").await;
    let path = format!("/inventory/managedObjects/{object}");
    let uri = format!("/inventory/managedObjects/{device}");

    for broken in [
        json!({"msgId": "999", "method": "get", "resourceUri": uri}),
        json!({"msgId": "999", "method": "GET", "resourceUri": "x"}),
        json!({"msgId": "999", "method": "GET", "resourceUri": uri, "values": ["STRING"]}),
        json!({"msgId": [], "method": "GET", "resourceUri": uri}),
        json!({"msgId": "83", "method": "GET", "resourceUri": uri}),
        json!(null),
        json!("GET"),
    ] {
        let good = json!({"msgId": "901", "method": "GET", "resourceUri": uri});
        let response = json!({"msgId": "902", "pattern": ["name"]});
        let fragment = json!({"requestTemplates": [broken, good], "responseTemplates": [broken, response]});
        admin.put(&path, &json!({ FRAGMENT: fragment })).await.expect(200);
        let answered = send_to(&admin, "pumps", "999\n83\n901\n").await;
        let unknown = |line| format!("43,{line},Invalid message identifier\n");
        assert_eq!(answered, format!("{}{}902,3,pump\n", unknown(1), unknown(2)), "{broken}");
    }
    for fragment in [json!([]), json!("x"), json!({"requestTemplates": 7})] {
        admin.put(&path, &json!({ FRAGMENT: fragment })).await;
        assert_eq!(send_to(&admin, "pumps", "901").await, "43,1,Invalid message identifier\n");
        assert_eq!(send_to(&admin, "pumps", "").await, format!("20,{object}\n"));
    }
}

#[tokio::test]
async fn deleted_set_is_none_and_its_x_id_is_free() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let get = "10,999,GET,/inventory/managedObjects\n11,200,$.managedObjects,,name\n";
    let first = register(&admin, "pumps", get).await;
    assert_eq!(send_to(&admin, "pumps", "999").await, "200,1,pumps\n");

    assert_eq!(admin.delete(&format!("/inventory/managedObjects/{first}")).await.status, 204);

    for x_id in ["pumps", &first] {
        assert_eq!(send_to(&admin, x_id, "").await, "40,\"No template for this X-ID.\"\n", "{x_id}");
        assert_eq!(send_to(&admin, x_id, "999\n999").await, "40,\"No template for this X-ID.\"\n", "{x_id}");
    }
    let second = register(&admin, "pumps", get).await;
    assert_ne!(first, second);
}

#[tokio::test]
async fn change_at_one_server_is_in_force_at_all() {
    let [one, other] = TestServer::start_two().await;
    let (admin, elsewhere) = (one.admin(), other.admin());
    let object =
        register(&admin, "pumps", "10,100,GET,/inventory/managedObjects\n11,200,,,statistics.pageSize\n")
            .await;
    // The other server caches the set in its current form, also for an X-Id that is the id of an object (S-12).
    assert_eq!(send_to(&elsewhere, "pumps", "100").await, "200,1,5\n");
    assert_eq!(send_to(&elsewhere, &object, "100").await, "200,1,5\n");

    let (path, changed) = (
        format!("/inventory/managedObjects/{object}"),
        json!({"msgId": "201", "pattern": ["$.statistics.pageSize"]}),
    );
    let mut fragment = admin.read(&path).await[FRAGMENT].clone();
    fragment["responseTemplates"] = json!([changed]);
    admin.put(&path, &json!({ FRAGMENT: fragment })).await;
    let answered = async || (send_to(&elsewhere, "pumps", "100").await == "201,1,5\n").then_some(());
    eventually("the changed set at the other server", answered).await;

    let shadow =
        register(&admin, "shadow", "10,100,GET,/inventory/managedObjects\n11,202,,,statistics.pageSize\n")
            .await;
    let named = json!({"type": "plat_SmartRestDeviceIdentifier", "externalId": object});
    admin.create(&format!("/identity/globalIds/{shadow}/externalIds"), &named).await;
    let answered = async || send_to(&elsewhere, &object, "100").await == "202,1,5\n";
    until("the set that is called like the id of the other", answered).await;

    assert_eq!(admin.delete("/identity/externalIds/plat_SmartRestDeviceIdentifier/pumps").await.status, 204);
    let gone = async || send_to(&elsewhere, "pumps", "100").await.starts_with("40,");
    until("the end of the name at the other server", gone).await;
}

#[tokio::test]
async fn serial_that_names_another_object_does_so_at_all_servers() {
    let [one, other] = TestServer::start_two().await;
    let (admin, elsewhere) = (one.admin(), other.admin());
    let (old, new) = (admin.create_device("old").await, admin.create_device("new").await);
    let pair = json!({"type": "plat_Serial", "externalId": "sn-1"});
    admin.create(&format!("/identity/globalIds/{old}/externalIds"), &pair).await;
    for _ in 0..2 {
        assert_eq!(send_for(&elsewhere, "sn-1", "200,t,T,1").await, "");
    }

    assert_eq!(admin.delete("/identity/externalIds/plat_Serial/sn-1").await.status, 204);
    admin.create(&format!("/identity/globalIds/{new}/externalIds"), &pair).await;

    let measured = async || {
        assert_eq!(send_for(&elsewhere, "sn-1", "200,t,T,2").await, "");
        let of_new = admin.read(&format!("/measurement/measurements?source={new}")).await;
        !of_new["measurements"].as_array().unwrap().is_empty()
    };
    until("a measurement of the new object", measured).await;
}
