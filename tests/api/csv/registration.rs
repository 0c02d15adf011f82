//! Registration of template sets (22.2).

use serde_json::json;

use super::{send, send_to};
use crate::harness::{Caller, TestServer};

const OBJECTS: &str = "/inventory/managedObjects";
const FRAGMENT: &str = "com_platform_model_smartrest_SmartRestTemplate";

#[tokio::test]
async fn registered_set_is_found_used_and_stored() {
    let server = TestServer::start().await;
    let admin = server.admin();

    let answer = send_to(
        &admin,
        "pumps",
        "10,100,POST,/inventory/managedObjects,application/json,application/json,%%,STRING NOW,\"{\"\"name\"\":\"\"%%\"\",\"\"at\"\":\"\"%%\"\"}\"\n\
         10,101,GET,/inventory/managedObjects/%%,,,%%,,\n\
         11,200,,plat_X,id,$.name\n\
         11,201,,$.at,$.name\n",
    )
    .await;
    let object = answer.strip_prefix("20,").unwrap().trim_end().to_owned();
    assert_eq!(send_to(&admin, "pumps", "").await, format!("20,{object}\n"));

    let stored = admin.read(&format!("{OBJECTS}/{object}")).await;
    assert_eq!(stored["name"], "pumps");
    println!("{}", stored[FRAGMENT]);
    println!("{}", send_to(&admin, "pumps", "100,a\n\n100,b").await);
}
