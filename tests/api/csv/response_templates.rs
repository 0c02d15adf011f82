//! Response templates, which are applied to responses of the platform (S-30 to S-34; S-03, S-06, S-07).

use super::*;

/// A row 100 that reads an object.
const GET: &str = "10,100,GET,/inventory/managedObjects/%%,,,%%\n";
const LIST: &str = "10,101,GET,/inventory/managedObjects?fragmentType=plat_IsDevice\n";

async fn create(admin: &Caller, object: &serde_json::Value) -> String {
    admin.create("/inventory/managedObjects", object).await["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn values_stand_in_lines_as_they_are() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let id = create(
        &admin,
        &json!({
            "name": "a, \"b\"", "lines": "x\ny", "blank": " x", "empty": "", "whole": 25.0, "fraction": 1.50,
            "large": 18446744073709551615_u64, "yes": true, "no": false, "plat_Is-Device": {"1x": [1,
            {"y z": null}]}, "umlaut": "ü",
        }),
    )
    .await;
    let paths = ["name", "lines", "blank", "empty", "whole", "fraction", "large", "yes", "no", "umlaut"];
    let templates = format!(
        "{GET}11,200,,,{}\n11,201,,,$.plat_Is-Device\n11,202,$.plat_Is-Device,,$.1x[0],\"['1x'][0]\"\n",
        paths.join(",")
    );
    register(&admin, "pumps", &templates).await;

    assert_eq!(
        send_to(&admin, "pumps", &format!("\n\n100,{id}\n")).await,
        "200,3,\"a, \"\"b\"\"\",\"x\ny\",\" x\",,25,1.5,18446744073709551615,true,false,ü\n\
         201,3,\"{\"\"1x\"\":[1,{\"\"y z\"\":null}]}\"\n\
         202,3,1,1\n"
    );
}

#[tokio::test]
async fn every_matching_template_gives_its_lines_in_the_order_of_registration() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let first = create(&admin, &json!({"name": "a", "plat_IsDevice": {}, "x": 0})).await;
    let second = create(&admin, &json!({"name": "b", "plat_IsDevice": {}, "y": "z"})).await;
    let templates = format!(
        "{GET}11,300,,x,name\n{LIST}11,200,,,name\n11,250,$.managedObjects,,id,name\n11,240,$.managedObjects,$.y,name\n\
         11,230,managedObjects[1],,name\n11,220,$.managedObjects,,x\n11,210,$.absent,,name\n11,211,,name,absent\n"
    );
    register(&admin, "pumps", &templates).await;

    let answer = send_to(&admin, "pumps", &format!("100,{first}\n100,{second}\n101\n100,4711\n")).await;

    assert_eq!(
        answer,
        format!(
            "300,1,a\n200,1,a\n200,2,b\n250,3,{first},a\n250,3,{second},b\n240,3,b\n230,3,b\n220,3,0\n50,4,404\n"
        )
    );
}

#[tokio::test]
async fn created_object_is_returned_without_accept_and_changed_and_deleted_ones_are_not() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let body = "\"{\"\"name\"\":\"\"%%\"\"}\"";
    register(
        &admin,
        "pumps",
        &format!(
            "10,100,POST,/inventory/managedObjects,application/json,,%%,,{body}\n\
             10,101,PUT,/inventory/managedObjects/%%,application/json,,%%,,{body}\n\
             10,102,PUT,/inventory/managedObjects/%%,application/json,application/json,%%,,{body}\n\
             10,103,DELETE,/inventory/managedObjects/%%,,application/json,%%\n\
             11,200,,,id,name\n"
        ),
    )
    .await;

    let created = send_to(&admin, "pumps", "100,a").await;
    let id = created.strip_prefix("200,1,").unwrap().strip_suffix(",a\n").unwrap();
    let answer = send_to(&admin, "pumps", &format!("101,{id},b\n102,{id},c\n103,{id}\n103,{id}\n")).await;

    assert_eq!(answer, format!("200,2,{id},c\n50,4,404\n"));
}

#[tokio::test]
async fn set_without_response_templates_returns_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let body = "\"{\"\"name\"\":\"\"%%\"\"}\"";
    let post =
        format!("10,101,POST,/inventory/managedObjects,application/json,application/json,%%,,{body}\n");
    register(&admin, "pumps", &format!("{GET}{post}")).await;
    let device = admin.create_device("pump").await;

    assert_eq!(send_to(&admin, "pumps", &format!("100,{device}\n101,a\n")).await, "");
    assert_eq!(server.count("managed_objects").await, 3);
}
