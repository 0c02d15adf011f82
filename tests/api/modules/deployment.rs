//! The running modules after one was deployed, replaced, renamed or undeployed, and its effect on dependent modules
//! (Q-02, Q-04,
//!

use super::*;
use crate::harness::tenants::{create_tenant, management};

/// A module that declares a stream and inserts into it.
const SOURCE: &str = "module source;\n\
    create schema Warm(time date, source string);\n\
    insert into Warm\n\
    select m.measurement.time as time, m.measurement.source.value as source from MeasurementCreated m;\n";
/// A module that reads that stream.
const DEPENDENT: &str = "module dependent;\n\
    insert into CreateEvent\n\
    select 'warm' as type, 'warm' as text, w.time as time, w.source as source from Warm w;\n";

async fn audit_texts(caller: &Caller, module: &Value) -> Vec<(String, String, String)> {
    let path = format!("/audit/auditRecords?source={}&pageSize=100", module["id"].as_str().unwrap());
    let list = caller.read(&path).await;
    let records = list["auditRecords"].as_array().unwrap();
    let text = |record: &Value, member: &str| record[member].as_str().unwrap().to_owned();
    records.iter().map(|one| (text(one, "activity"), text(one, "user"), text(one, "text"))).collect()
}

#[tokio::test]
async fn module_runs_when_its_deployment_is_acknowledged() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    deploy(&admin, &marking("marks", "seen")).await;
    measure(&admin, &device, 20).await;

    assert_eq!(events_come(&admin, "seen", 1).await, ["seen"]);
}

#[tokio::test]
async fn module_runs_again_when_the_server_starts_again() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let device = server.admin().create_device("pump").await;
    deploy(&server.admin(), &marking("marks", "seen")).await;
    server.stop().await;

    let (_server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();

    eventually("an event of the module", async || {
        measure(&admin, &device, 20).await;
        events(&admin, "seen").await.pop()
    })
    .await;
}

#[tokio::test]
async fn replaced_module_has_another_id_and_the_old_one_runs_no_more() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let old = deploy(&admin, &marking("marks", "old")).await;

    let request = admin.request("PUT", &path_of(&old)).accepting_json().header("Content-Type", "text/plain");
    let answer = request.body(marking("marks", "new")).send().await.expect(200);
    let new = answer.json();
    measure(&admin, &device, 20).await;

    assert_ne!(new["id"], old["id"]);
    assert_eq!(new["status"], "DEPLOYED");
    assert_eq!(admin.get(&path_of(&old)).await.status, 404);
    events_come(&admin, "new", 1).await;
    assert!(events(&admin, "old").await.is_empty());
}

#[tokio::test]
async fn warnings_are_in_the_response_and_whenever_the_module_is_shown() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let text = "module slips;\n\ninsert into CreateAlarms\n\
        select alarm.text as text from AlarmUpdated where alarm.cuont > 10;\n";
    let warnings = json!([
        "nobody reads 'CreateAlarms', a stream of this module's own; is 'CreateAlarm' meant?, line 3, column 13",
        "'cuont' is read as a fragment; is 'count' meant?, line 4, column 57",
    ]);

    let module = deploy(&admin, text).await;

    assert_eq!((&module["status"], &module["warnings"]), (&json!("DEPLOYED"), &warnings));
    assert_eq!(admin.read(&path_of(&module)).await, module);
    assert_eq!(admin.read(MODULES).await["modules"][0], module);

    let reader = deploy(&admin, "module reader;\nselect text from CreateAlarms;\n").await;
    assert_eq!(reader.get("warnings"), None);
    assert_eq!(admin.read(&path_of(&module)).await["warnings"], json!([warnings[1]]));
    admin.delete(&path_of(&reader)).await;
    assert_eq!(admin.read(&path_of(&module)).await["warnings"], warnings);
    let told = audit_texts(&admin, &module).await;
    assert_eq!(told.len(), 1, "nobody did anything to it: {told:?}");
}

#[tokio::test]
async fn renamed_module_keeps_what_it_remembers() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let module = deploy(&admin, &counting("counts")).await;
    measure(&admin, &device, 20).await;
    events_come(&admin, "count", 1).await;

    let answer = admin.put(&path_of(&module), &json!({"name": "tallies"})).await;
    assert_eq!((answer.status, &answer.json()["name"]), (200, &json!("tallies")), "{}", answer.text);
    measure(&admin, &device, 20).await;

    assert_eq!(events_come(&admin, "count", 2).await, ["1", "2"]);
}

#[tokio::test]
async fn module_that_is_deployed_again_remembers_nothing() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let module = deploy(&admin, &counting("counts")).await;
    measure(&admin, &device, 20).await;
    events_come(&admin, "count", 1).await;

    set_status(&admin, &module, "NOT_DEPLOYED").await;
    measure(&admin, &device, 20).await;
    set_status(&admin, &module, "DEPLOYED").await;
    measure(&admin, &device, 20).await;

    assert_eq!(events_come(&admin, "count", 2).await, ["1", "1"]);
}

#[tokio::test]
async fn deploying_what_is_deployed_changes_nothing() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let module = deploy(&admin, &counting("counts")).await;
    measure(&admin, &device, 20).await;
    events_come(&admin, "count", 1).await;
    let before = admin.read(&path_of(&module)).await;

    set_status(&admin, &module, "DEPLOYED").await;
    measure(&admin, &device, 20).await;

    assert_eq!(events_come(&admin, "count", 2).await, ["1", "2"]);
    assert_eq!(admin.read(&path_of(&module)).await, before);
}

#[tokio::test]
async fn other_modules_keep_what_they_remember_when_one_comes_or_goes() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    deploy(&admin, &counting("counts")).await;
    measure(&admin, &device, 20).await;
    events_come(&admin, "count", 1).await;

    let other = deploy(&admin, &marking("marks", "seen")).await;
    measure(&admin, &device, 20).await;
    assert_eq!(admin.delete(&path_of(&other)).await.status, 204);
    measure(&admin, &device, 20).await;

    assert_eq!(events_come(&admin, "count", 3).await, ["1", "2", "3"]);
    assert_eq!(events(&admin, "seen").await.len(), 1);
}

#[tokio::test]
async fn rows_go_from_one_module_to_another() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    deploy(&admin, SOURCE).await;
    deploy(&admin, DEPENDENT).await;

    measure(&admin, &device, 20).await;

    assert_eq!(events_come(&admin, "warm", 1).await, ["warm"]);
}

#[tokio::test]
async fn module_that_needs_another_is_undeployed_with_it() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (source, dependent) = (deploy(&admin, SOURCE).await, deploy(&admin, DEPENDENT).await);

    set_status(&admin, &source, "NOT_DEPLOYED").await;

    assert_eq!(status(&admin, &dependent).await, "NOT_DEPLOYED");
    let records = audit_texts(&admin, &dependent).await;
    let activities: Vec<_> = records.iter().map(|(activity, ..)| activity.as_str()).collect();
    assert_eq!(activities, ["Module created", "Module undeployed"]);
    assert!(records[1].2.contains("it needs another module that changed"), "{}", records[1].2);
    admin.put(&path_of(&dependent), &json!({"status": "DEPLOYED"})).await.expect(422);
}

#[tokio::test]
async fn text_that_contradicts_another_module_is_refused_and_nothing_changes() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let source = deploy(&admin, SOURCE).await;

    let request = admin.request("POST", MODULES).header("Content-Type", "text/plain");
    request.body("module other;\ncreate schema Warm(source double);\n").send().await.expect(422);

    assert_eq!(status(&admin, &source).await, "DEPLOYED");
    assert_eq!(server.count("modules").await, 1);
}

#[tokio::test]
async fn each_change_of_a_module_is_recorded() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let module = deploy(&admin, &marking("marks", "seen")).await;

    admin.put(&path_of(&module), &json!({"name": "notes"})).await;
    set_status(&admin, &module, "NOT_DEPLOYED").await;
    set_status(&admin, &module, "DEPLOYED").await;
    assert_eq!(admin.delete(&path_of(&module)).await.status, 204);

    let of_admin = |activity: &str, text: &str| (activity.to_owned(), "admin".to_owned(), text.to_owned());
    let expected = [
        of_admin("Module created", "Module created: marks"),
        of_admin("Module renamed", "Module renamed: notes"),
        of_admin("Module undeployed", "Module undeployed: notes"),
        of_admin("Module deployed", "Module deployed: notes"),
        of_admin("Module deleted", "Module deleted: notes"),
    ];
    assert_eq!(audit_texts(&admin, &module).await, expected);
}

#[tokio::test]
async fn tenant_has_at_most_a_hundred_modules() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let many = "INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text) \
        SELECT $1, n, 'm' || n, false, 1, 0, now(), 'module m;' FROM generate_series(1, 100) n";
    server.execute(many, &[]).await;

    let request = admin.request("POST", MODULES).header("Content-Type", "text/plain");
    let answer = request.body(marking("marks", "seen")).send().await;

    assert_eq!((answer.status, server.count("modules").await), (403, 100), "{}", answer.text);
    assert!(answer.message().contains("is used up: 100 of 100"), "{}", answer.text);
}

#[tokio::test]
async fn module_that_looks_things_up_takes_events_in_their_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let looking = "module looks;\n\
        insert into CreateEvent\n\
        select 'named' as type, m.measurement.time as time, m.measurement.source.value as source,\n    \
            getString(findManagedObjectById(m.measurement.source.value), 'name') || ' '\n        \
            || cast(getNumber(m, 'env.t.value'), string) as text\n\
        from MeasurementCreated m;\n";
    deploy(&admin, looking).await;

    for value in 1..=20 {
        measure(&admin, &device, value).await;
    }

    let expected: Vec<String> = (1..=20).map(|value| format!("pump {value}")).collect();
    assert_eq!(events_come(&admin, "named", 20).await, expected);
}

#[tokio::test]
async fn timers_go_off_without_events() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let ticking = format!(
        "module ticks;\ninsert into CreateEvent\n\
         select 'tick' as type, 'tick' as text, current_timestamp().toDate() as time, '{device}' as source\n\
         from pattern [every timer:interval(200 milliseconds)];\n"
    );

    let module = deploy(&admin, &ticking).await;

    events_come(&admin, "tick", 3).await;
    set_status(&admin, &module, "NOT_DEPLOYED").await;
}

#[tokio::test]
async fn modules_go_with_their_tenant() {
    let server = TestServer::start().await;
    let boss = create_tenant(&server, "t7").await;
    deploy(&boss, &marking("marks", "seen")).await;

    assert_eq!(management(&server).delete("/tenant/tenants/t7").await.status, 204);

    let (modules, leases) =
        (server.database().count("modules").await, server.database().count("module_leases").await);
    assert_eq!((modules, leases), (0, 0));
}
