//! Modules that exceed limits are switched off, and others are not affected.

use platform_front::config::Settings;

use super::*;

/// Returns the last audit record of a module, which the server wrote about this activity.
async fn last_record(caller: &Caller, module: &Value, activity: &str) -> String {
    let path = format!("/audit/auditRecords?source={}&pageSize=100", module["id"].as_str().unwrap());
    let list = caller.read(&path).await;
    let record = list["auditRecords"].as_array().unwrap().last().unwrap().clone();
    let said = (&record["type"], &record["activity"], &record["user"], &record["severity"]);
    assert_eq!(said, (&json!("CepModule"), &json!(activity), &json!("system"), &json!("major")));
    record["text"].as_str().unwrap().to_owned()
}

/// Waits until a module is switched off and returns its last audit record.
async fn switched_off(caller: &Caller, module: &Value) -> String {
    until("a module that is switched off", async || status(caller, module).await == "NOT_DEPLOYED").await;
    last_record(caller, module, "Module undeployed").await
}

/// Returns a module that retains all measurements and has no output.
fn keeping(name: &str) -> String {
    format!(
        "module {name};\n@Name('kept') select measurement.type as t from MeasurementCreated.win:length_batch(100000);\n"
    )
}

/// The alarms that say what was switched off.
async fn alarms(caller: &Caller) -> Vec<Value> {
    let list = caller.read("/alarm/alarms?type=plat_ModuleSwitchedOff").await;
    list["alarms"].as_array().unwrap().clone()
}

/// Sends `count` measurements in one request.
async fn measure_many(caller: &Caller, device: &str, count: i64) {
    let one = |value| measurement_of(device, "2024-03-10T02:30:00.000Z", value);
    let many: Vec<Value> = (0..count).map(one).collect();
    caller.create("/measurement/measurements", &json!({"measurements": many})).await;
}

#[tokio::test]
async fn module_that_retains_too_much_is_switched_off() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.module_events = 10).await.with_device("pump").await;
    let (keeps, other) =
        (deploy(&admin, &keeping("keeps")).await, deploy(&admin, &marking("marks", "seen")).await);

    for value in 0..12 {
        measure(&admin, &device, value).await;
    }

    let text = switched_off(&admin, &keeps).await;
    assert!(text.starts_with("Module undeployed: keeps: it retains 11 events"), "{text}");
    assert_eq!(events_come(&admin, "seen", 12).await.len(), 12);
    assert_eq!(status(&admin, &other).await, "DEPLOYED");
}

#[tokio::test]
async fn module_that_is_switched_off_is_deployed_again_on_request_and_remembers_nothing() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.module_events = 3).await.with_device("pump").await;
    let keeps = deploy(&admin, &keeping("keeps")).await;
    measure_many(&admin, &device, 4).await;
    switched_off(&admin, &keeps).await;

    set_status(&admin, &keeps, "DEPLOYED").await;
    measure_many(&admin, &device, 3).await;
    assert_eq!(status(&admin, &keeps).await, "DEPLOYED");
    measure(&admin, &device, 4).await;

    switched_off(&admin, &keeps).await;
}

#[tokio::test]
async fn modules_of_a_tenant_retain_no_more_together_than_they_may() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.tenant_module_bytes = 1024)
            .await
            .with_device("pump")
            .await;
    let modules = [deploy(&admin, &keeping("one")).await, deploy(&admin, &keeping("two")).await];

    measure_many(&admin, &device, 20).await;

    for module in &modules {
        let text = switched_off(&admin, module).await;
        assert!(text.contains("the modules of the tenant retain more than 1024 bytes together"), "{text}");
    }
}

#[tokio::test]
async fn module_that_cannot_keep_up_is_switched_off_and_writers_do_not_wait() {
    let (server, admin, device) =
        TestServer::start_with(|settings| settings.limits.module_queue = 5).await.with_device("pump").await;
    let slow = deploy(&admin, &marking("marks", "seen")).await;

    measure_many(&admin, &device, 1000).await;

    let text = switched_off(&admin, &slow).await;
    assert!(text.contains("events arrive faster than it can process them"), "{text}");
    assert_eq!(server.count("measurements").await, 1000);
}

#[tokio::test]
async fn statement_that_fails_leaves_the_others_running_until_it_fails_too_often() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let text = marking("marks", "seen")
        + "@Name('fails')\ninsert into CreateAlarm\n\
           select 'hot' as type, 'hot' as text, m.measurement.type as severity, 'ACTIVE' as status,\n    \
               m.measurement.time as time, m.measurement.source.value as source\n\
           from MeasurementCreated m;\n";
    let module = deploy(&admin, &text).await;

    measure_many(&admin, &device, 100).await;
    assert_eq!(events_come(&admin, "seen", 100).await.len(), 100);
    assert_eq!(status(&admin, &module).await, "DEPLOYED");
    measure(&admin, &device, 1).await;

    let text = switched_off(&admin, &module).await;
    assert!(text.contains("more than 100 errors within a minute, the last in statement 'fails'"), "{text}");
    let alarms = admin.read("/alarm/alarms?type=hot").await;
    assert_eq!(alarms["alarms"], json!([]));
}

#[tokio::test]
async fn module_whose_text_is_not_accepted_any_more_is_switched_off() {
    let (server, admin) = TestServer::start().await.with_admin();
    let stored = "INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text) \
        VALUES ('main', 77, 'old', true, 1, 0, now(), 'module old; select 1 from Nowhere;')";
    server.database().execute(stored, &[]).await;
    server.database().announce("main/+modules").await;

    let text = switched_off(&admin, &json!({"id": "77"})).await;

    assert!(text.contains("its text is not accepted any more"), "{text}");
    assert!(text.contains("Nowhere"), "{text}");
    assert_eq!(admin.get(&path_of(&json!({"id": "77"}))).await.status, 200);
    assert!(events(&admin, "seen").await.is_empty());
}

#[tokio::test]
async fn module_stops_at_once_though_that_can_be_written_only_later() {
    // The limit suffices for a statement and a few entries of its window.
    let (server, admin, device) =
        TestServer::start_with(|settings| settings.limits.module_bytes = 800).await.with_device("pump").await;
    let windowed =
        marking("marks", "seen").replace("MeasurementCreated m", "MeasurementCreated.win:time(1 hour) m");
    let module = deploy(&admin, &windowed).await;
    deploy(&admin, &marking("notes", "noted")).await;
    let lock = "hashtextextended('modules/main', 0)";
    let connected = tokio_postgres::connect(server.database().url(), tokio_postgres::NoTls).await;
    let (holder, connection) = connected.unwrap();
    tokio::spawn(connection);
    holder.execute(&format!("SELECT pg_advisory_lock({lock})"), &[]).await.unwrap();

    for value in 0..10 {
        measure(&admin, &device, value).await;
    }
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    until("the module that is switched off", async || {
        server.database().query(waits, &[]).await[0].get::<_, i64>(0) > 0
    })
    .await;
    for value in 10..15 {
        measure(&admin, &device, value).await;
    }
    events_come(&admin, "noted", 15).await;
    assert_eq!(status(&admin, &module).await, "DEPLOYED");
    drop(holder);

    switched_off(&admin, &module).await;
    assert!(events(&admin, "seen").await.len() <= 10);
}

#[tokio::test]
async fn statement_that_retains_too_much_is_switched_off_and_its_neighbours_continue() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.module_events = 10).await.with_device("pump").await;
    let text = marking("marks", "seen") + keeping("x").split_once('\n').unwrap().1;
    let module = deploy(&admin, &text).await;
    assert_eq!(module.get("switchedOff"), None);

    measure_many(&admin, &device, 12).await;

    let shown = eventually("a statement that is switched off", async || {
        Some(admin.read(&path_of(&module)).await).filter(|shown| shown.get("switchedOff").is_some())
    })
    .await;
    assert_eq!(
        (&shown["status"], &shown["switchedOff"][0]["statement"]),
        (&json!("DEPLOYED"), &json!("kept"))
    );
    let reason = shown["switchedOff"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("it retains 11 events of "), "{reason}");
    assert_eq!(admin.read(super::MODULES).await["modules"][0], shown);

    measure(&admin, &device, 20).await;
    events_come(&admin, "seen", 13).await;

    let text = last_record(&admin, &module, "Module statements switched off").await;
    let beginning = "Module statements switched off: marks: statement 'kept': it retains 11 events";
    assert!(text.starts_with(beginning), "{text}");
}

#[tokio::test]
async fn statement_stays_switched_off_over_a_restart_and_until_its_module_is_deployed_anew() {
    let database = TestDatabase::create().await;
    let change = |settings: &mut Settings| settings.limits.module_events = 10;
    let (server, admin, device) = TestServer::start_on(&database, change).await.with_device("pump").await;
    let text = marking("marks", "seen") + keeping("x").split_once('\n').unwrap().1;
    let module = deploy(&admin, &text).await;
    let is_off = async |caller: &Caller| caller.read(&path_of(&module)).await.get("switchedOff").is_some();
    measure_many(&admin, &device, 12).await;
    until("a statement that is switched off", async || is_off(&admin).await).await;
    // Writes that a module requested and that were not executed yet are lost with the server.
    events_come(&admin, "seen", 12).await;
    server.stop().await;

    let (_server, admin) = TestServer::start_on(&database, change).await.with_admin();
    measure_many(&admin, &device, 30).await;
    events_come(&admin, "seen", 42).await;
    assert!(is_off(&admin).await);
    let switched_off = async || {
        let records = database.audit_records(module["id"].as_str().unwrap()).await;
        records.iter().filter(|record| record["activity"] == "Module statements switched off").count()
    };
    assert_eq!(switched_off().await, 1, "it was off already");

    set_status(&admin, &module, "NOT_DEPLOYED").await;
    set_status(&admin, &module, "DEPLOYED").await;
    assert!(!is_off(&admin).await);
    measure_many(&admin, &device, 12).await;
    until("the statement that is switched off again", async || is_off(&admin).await).await;
    assert_eq!(switched_off().await, 2);
}

#[tokio::test]
async fn alarm_of_the_tenant_says_what_was_switched_off_last() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.module_events = 10).await.with_device("pump").await;
    let text = marking("marks", "seen") + keeping("x").split_once('\n').unwrap().1;
    deploy(&admin, &text).await;
    measure_many(&admin, &device, 12).await;

    let alarm = eventually("an alarm", async || alarms(&admin).await.pop()).await;
    let said = (&alarm["severity"], &alarm["status"], &alarm["count"]);
    assert_eq!(said, (&json!("MAJOR"), &json!("ACTIVE"), &json!(1)));
    let text = alarm["text"].as_str().unwrap();
    let beginning = "The module 'marks' continues without the statements that were switched off: statement 'kept': \
        it retains 11";
    assert!(text.starts_with(beginning), "{text}");
    let source = alarm["source"]["id"].as_str().unwrap();
    let object = admin.read(&format!("/inventory/managedObjects/{source}")).await;
    let said = (&object["type"], &object["name"], object.get("plat_IsDevice"));
    assert_eq!(said, (&json!("plat_EventProcessing"), &json!("Event processing"), None));
    let named = admin.read("/identity/externalIds/plat_EventProcessing/main").await;
    assert_eq!(named["managedObject"]["id"], source);

    deploy(&admin, &keeping("keeps")).await;
    measure_many(&admin, &device, 12).await;
    let newest = eventually("the newest", async || {
        alarms(&admin).await.pop().filter(|alarm| alarm["text"].as_str().unwrap().contains("'keeps'"))
    })
    .await;
    assert_eq!((&newest["id"], &newest["count"]), (&alarm["id"], &json!(2)));
    let text = newest["text"].as_str().unwrap();
    assert!(text.starts_with("The module 'keeps' was switched off: it retains 11 events"), "{text}");
    assert_eq!(alarms(&admin).await.len(), 1);
}
