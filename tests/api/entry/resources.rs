//! Each entry resource is compared as a whole with the expected list.

use super::*;

#[tokio::test]
async fn each_entry_resource_has_its_collections_and_templates() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for (path, members) in [
        (
            "/inventory",
            json!({
                "managedObjects": {"self": "<base>/inventory/managedObjects", "references": []},
                "managedObjectsForType": "<base>/inventory/managedObjects?type={type}",
                "managedObjectsForFragmentType": "<base>/inventory/managedObjects?fragmentType={fragmentType}",
                "managedObjectsForListOfIds": "<base>/inventory/managedObjects?ids={ids}",
                "managedObjectsForText": "<base>/inventory/managedObjects?text={text}",
            }),
        ),
        (
            "/identity",
            json!({
                "externalId": "<base>/identity/externalIds/{type}/{value}",
                "externalIdsOfGlobalId": "<base>/identity/globalIds/{globalId}/externalIds",
            }),
        ),
        (
            "/devicecontrol",
            json!({
                "operations": {"self": "<base>/devicecontrol/operations", "operations": []},
                "operationsByStatus": "<base>/devicecontrol/operations?status={status}",
                "operationsByAgentId": "<base>/devicecontrol/operations?agentId={agentId}",
                "operationsByAgentIdAndStatus": "<base>/devicecontrol/operations?agentId={agentId}&status={status}",
                "operationsByDeviceId": "<base>/devicecontrol/operations?deviceId={deviceId}",
                "operationsByDeviceIdAndStatus":
                    "<base>/devicecontrol/operations?deviceId={deviceId}&status={status}",
            }),
        ),
        (
            "/user",
            json!({
                "userByName": "<base>/user/{realm}/userByName/{userName}",
                "users": "<base>/user/{realm}/users",
                "currentUser": "<base>/user/currentUser",
                "groupByName": "<base>/user/{realm}/groupByName/{groupName}",
                "groups": "<base>/user/{realm}/groups",
                "roles": "<base>/user/roles",
            }),
        ),
        (
            "/application",
            json!({
                "applications": {"self": "<base>/application/applications", "applications": []},
                "applicationById": "<base>/application/applications/{id}",
                "applicationsByName": "<base>/application/applicationsByName/{name}",
                "applicationsByTenant": "<base>/application/applicationsByTenant/{tenant}",
                "applicationsByOwner": "<base>/application/applicationsByOwner/{tenant}",
            }),
        ),
        ("/cep", json!({"modules": {"self": "<base>/cep/modules", "modules": []}})),
    ] {
        let entry = admin.read(path).await;
        assert_eq!(entry["self"], format!("{}{path}", server.base()));
        assert_eq!(shown(&entry, server.base()), members, "{path}");
    }
}

#[tokio::test]
async fn compatibility_switch_changes_the_template_of_external_ids() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.client_compatibility = true).await.with_admin();

    let wanted = format!("{}/identity/externalIds/{{type}}/{{externaId}}", server.base());
    assert_eq!(admin.read("/identity").await["externalId"], wanted);
    assert_eq!(admin.read("/platform").await["identity"]["externalId"], wanted);
}

#[tokio::test]
async fn platform_embeds_the_entry_resources_of_the_documents() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut wanted = json!({"self": format!("{}/platform", server.base())});
    for (name, path) in [
        ("inventory", "/inventory"),
        ("identity", "/identity"),
        ("event", "/event"),
        ("measurement", "/measurement"),
        ("audit", "/audit"),
        ("alarm", "/alarm"),
        ("user", "/user"),
        ("deviceControl", "/devicecontrol"),
    ] {
        wanted[name] = admin.read(path).await;
    }

    assert_eq!(admin.read("/platform").await, wanted);
}

#[tokio::test]
async fn links_start_with_the_address_the_client_used() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let request = admin.request("GET", "/alarm/").header("Host", "things.example.com:81");
    let entry: Value = request.send().await.json();

    assert_eq!(entry["self"], "http://things.example.com:81/alarm");
    assert_eq!(entry["alarms"]["self"], "http://things.example.com:81/alarm/alarms");
    assert_eq!(entry["alarmsForStatus"], "http://things.example.com:81/alarm/alarms?status={status}");
}
