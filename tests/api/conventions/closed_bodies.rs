//! Bodies that select what is deleted, sent or limited reject unknown members (C-19a).

use super::*;

const RULES: &str = "/retention/retentions";
const BULK: &str = "/devicecontrol/bulkoperations";
const CLIENTS: &str = "/application/tokenClients";
const MODULE: &str = "module idle; create schema Idle(text string);";

/// Sends a body with an unknown member, and asserts that the response names it and the one that was meant.
async fn is_refused(caller: &Caller, method: &str, path: &str, body: &Value, unknown: &str, meant: &str) {
    let mut body = body.clone();
    body[unknown] = json!(null);
    let answer = caller.request(method, path).json(&body).send().await.expect(422);
    let told = format!("Unknown member '{unknown}'; is '{meant}' meant?");
    assert!(answer.message().contains(&told), "{method} {path}: {}", answer.text);
}

#[tokio::test]
async fn unknown_member_is_named_with_the_one_that_was_meant_and_nothing_is_done() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let rule = admin.create(RULES, &json!({"maximumAge": 30})).await;
    let rule_path = format!("{RULES}/{}", rule["id"].as_str().unwrap());
    let group = admin.create("/inventory/managedObjects", &json!({"plat_IsDeviceGroup": {}})).await;
    let bulk = json!({"groupId": group["id"], "startDate": "3024-03-10T02:30:00Z", "creationRamp": 1,
        "operationPrototype": {"plat_Restart": {}}});
    let planned = admin.create(BULK, &bulk).await;
    let planned_path = format!("{BULK}/{}", planned["id"].as_str().unwrap());
    let module = admin.request("POST", "/cep/modules").accepting_json().body(MODULE).send().await;
    let module = module.expect(201).json();
    let module_path = format!("/cep/modules/{}", module["id"].as_str().unwrap());
    let age = json!({"maximumAge": 1});

    for (method, path, body, unknown, meant) in [
        ("POST", RULES, &age, "sorce", "source"),
        ("PUT", &rule_path, &age, "datatype", "dataType"),
        ("POST", "/retention/preview", &age, "fragmenttype", "fragmentType"),
        ("POST", BULK, &bulk, "failedparentid", "failedParentId"),
        ("PUT", &planned_path, &json!({"creationRamp": 2}), "startdate", "startDate"),
        ("POST", CLIENTS, &json!({}), "scpoe", "scope"),
        ("PUT", &module_path, &json!({"name": "other"}), "staus", "status"),
    ] {
        is_refused(&admin, method, path, body, unknown, meant).await;
    }

    assert_eq!(admin.read(&rule_path).await, rule);
    assert_eq!(admin.read(&planned_path).await, planned);
    assert_eq!(admin.read(&module_path).await["name"], "idle");
    for table in ["retention_rules", "bulk_operations"] {
        assert_eq!(server.count(table).await, 1, "{table}");
    }
    assert_eq!(admin.read(CLIENTS).await["tokenClients"], json!([]));
}

#[tokio::test]
async fn object_may_be_sent_back_as_it_was_read() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let rule = admin.create(RULES, &json!({"maximumAge": 30})).await;
    let group = admin.create("/inventory/managedObjects", &json!({"plat_IsDeviceGroup": {}})).await;
    let bulk = json!({"groupId": group["id"], "startDate": "3024-03-10T02:30:00Z", "creationRamp": 1,
        "operationPrototype": {"plat_Restart": {}}});
    let bulk = admin.create(BULK, &bulk).await;
    let module = admin.request("POST", "/cep/modules").accepting_json().body(MODULE).send().await;
    let module = module.expect(201).json();

    for (path, object) in [(RULES, &rule), (BULK, &bulk), ("/cep/modules", &module)] {
        admin.put(&format!("{path}/{}", object["id"].as_str().unwrap()), object).await.expect(200);
    }
}

#[tokio::test]
async fn unknown_limit_is_named_with_the_one_that_was_meant() {
    let server = TestServer::start().await;
    let operator = server.caller("management/admin", ADMIN_PASSWORD);

    let answer = operator.put("/tenant/tenants/main/limits", &json!({"divices": 1})).await.expect(422);

    assert!(answer.message().contains("Unknown limit 'divices'; is 'devices' meant?"), "{}", answer.text);
}
