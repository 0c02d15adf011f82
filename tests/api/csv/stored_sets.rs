//! Sets that are changed and deleted as the managed objects they are (S-15).

use serde_json::json;

use super::{register, send_to};
use crate::harness::TestServer;

const FRAGMENT: &str = "com_platform_model_smartrest_SmartRestTemplate";

#[tokio::test]
async fn set_is_changed_at_once_by_a_put_of_its_fragment() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let get = "10,100,GET,/inventory/managedObjects/%%,,,%%\n11,200,,,name\n";
    let object = register(&admin, "pumps", get).await;
    assert_eq!(send_to(&admin, "pumps", &format!("100,{device}")).await, "200,1,pump\n");

    let path = format!("/inventory/managedObjects/{object}");
    let mut fragment = admin.read(&path).await[FRAGMENT].clone();
    fragment["responseTemplates"][0]["msgId"] = json!(201);
    fragment["responseTemplates"][0]["pattern"] = json!(["$.id", "name"]);
    fragment["requestTemplates"][0]["msgId"] = json!("300");
    let answer = admin.put(&path, &json!({ FRAGMENT: fragment })).await;
    assert_eq!(answer.status, 200, "{}", answer.text);

    let rows = format!("300,{device}\n999\n");
    let expected = format!("201,1,{device},pump\n43,2,Invalid message identifier\n");
    assert_eq!(send_to(&admin, "pumps", &rows).await, expected);
}

#[tokio::test]
async fn what_is_no_template_is_unknown_and_the_rest_is_served() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
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
        let answer = admin.put(&path, &json!({ FRAGMENT: fragment })).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
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
    let server = TestServer::start().await;
    let admin = server.admin();
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
