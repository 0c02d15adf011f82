//! Output streams of modules: rows have the effect of client requests, in order, and chains of writes end (Q-06,
//! Q-07, M-04).

use super::*;

/// A module that writes to the stream named by the type of an event. `target` of the event is the id of the written
/// object.
const ACTS: &str = "module acts;
    insert into CreateAlarm select 'hot' as type, 'MAJOR' as severity, 'ACTIVE' as status, 'Too hot' as text,
        e.event.time as time, e.event.source as source, {'plat_A.b', 5, 'plat_A.of', e.event.source} as fragments
        from EventCreated e where e.event.type = 'CreateAlarm';
    insert into UpdateAlarm select getString(e, 'target') as id, 'CLEARED' as status
        from EventCreated e where e.event.type = 'UpdateAlarm';
    insert into CreateEvent select 'made' as type, 'by a module' as text, e.event.time as time,
        e.event.source.value as source, {'plat_Empty', {}, 'plat_List', {'a', 'b', 'c'}} as fragments
        from EventCreated e where e.event.type = 'CreateEvent';
    insert into UpdateEvent select getString(e, 'target') as id, 'changed' as text, {'plat_New', true} as fragments
        from EventCreated e where e.event.type = 'UpdateEvent';
    insert into DeleteEvent select getString(e, 'target') as id from EventCreated e
        where e.event.type = 'DeleteEvent';
    insert into CreateMeasurement select 'env' as type, e.event.time as time, e.event.source as source,
        {'env.t.value', 20.5, 'env.t.unit', 'C'} as fragments
        from EventCreated e where e.event.type = 'CreateMeasurement';
    insert into DeleteMeasurement select getString(e, 'target') as id from EventCreated e
        where e.event.type = 'DeleteMeasurement';
    insert into CreateOperation select 'SUCCESSFUL' as status, e.event.source as deviceId,
        {'plat_Restart', {}} as fragments from EventCreated e where e.event.type = 'CreateOperation';
    insert into UpdateOperation select getString(e, 'target') as id, 'EXECUTING' as status
        from EventCreated e where e.event.type = 'UpdateOperation';
    insert into CreateManagedObject select 'made' as type, 'Group' as name, {'plat_X', 1} as fragments
        from EventCreated e where e.event.type = 'CreateManagedObject';
    insert into UpdateManagedObject select getString(e, 'target') as id, 'renamed' as name
        from EventCreated e where e.event.type = 'UpdateManagedObject';
    insert into DeleteManagedObject select getString(e, 'target') as id from EventCreated e
        where e.event.type = 'DeleteManagedObject';
    ";

async fn start() -> (TestServer, Caller, String) {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = admin
        .create(
            "/inventory/managedObjects",
            &json!({"name": "pump", "plat_IsDevice": {}, "com_platform_model_Agent": {}}),
        )
        .await;
    let device = device["id"].as_str().unwrap().to_owned();
    (server, admin, device)
}

/// Triggers the module.
async fn act(caller: &Caller, device: &str, stream: &str, target: &Value) {
    let mut event = event_of(device, stream);
    event["target"] = target["id"].clone();
    caller.create("/event/events", &event).await;
}

/// Returns the only element of a list as soon as it exists.
async fn only(caller: &Caller, path: &str, list: &str) -> Value {
    eventually(path, async || {
        let listed = caller.read(path).await;
        let members = listed[list].as_array().unwrap();
        assert!(members.len() < 2, "{members:?}");
        members.first().cloned()
    })
    .await
}

async fn becomes(caller: &Caller, object: &Value, member: &str, expected: Value) -> Value {
    let path = object["self"].as_str().unwrap();
    eventually(&format!("{member} {expected}"), async || {
        Some(caller.read(path).await).filter(|object| object[member] == expected)
    })
    .await
}

async fn goes(caller: &Caller, object: &Value) {
    let path = object["self"].as_str().unwrap();
    until("404", async || caller.get(path).await.status == 404).await;
}

#[tokio::test]
async fn alarms_and_events_are_created_changed_and_deleted() {
    let (_server, admin, device) = start().await;
    let module = deploy(&admin, ACTS).await;

    act(&admin, &device, "CreateAlarm", &Value::Null).await;
    let alarm = only(&admin, "/alarm/alarms", "alarms").await;
    assert_eq!((&alarm["severity"], &alarm["text"]), (&json!("MAJOR"), &json!("Too hot")));
    assert_eq!((&alarm["source"]["id"], &alarm["count"]), (&json!(device), &json!(1)));
    assert_eq!(alarm["plat_A"], json!({"b": 5, "of": device}));
    act(&admin, &device, "UpdateAlarm", &alarm).await;
    becomes(&admin, &alarm, "status", json!("CLEARED")).await;
    let history = admin.read(&format!("/audit/auditRecords?source={}", alarm["id"].as_str().unwrap())).await;
    assert_eq!(history["auditRecords"][0]["user"], "cep");

    act(&admin, &device, "CreateEvent", &Value::Null).await;
    let event = only(&admin, "/event/events?type=made", "events").await;
    assert_eq!((&event["plat_Empty"], &event["plat_List"]), (&json!({}), &json!(["a", "b", "c"])));
    act(&admin, &device, "UpdateEvent", &event).await;
    let event = becomes(&admin, &event, "text", json!("changed")).await;
    assert_eq!(event["plat_New"], true);
    act(&admin, &device, "DeleteEvent", &event).await;
    goes(&admin, &event).await;
    assert_eq!(status(&admin, &module).await, "DEPLOYED");
}

#[tokio::test]
async fn measurements_operations_and_managed_objects_are_created_changed_and_deleted() {
    let (_server, admin, device) = start().await;
    deploy(&admin, ACTS).await;

    act(&admin, &device, "CreateMeasurement", &Value::Null).await;
    let measurement = only(&admin, "/measurement/measurements", "measurements").await;
    assert_eq!(measurement["env"], json!({"t": {"value": 20.5, "unit": "C"}}));
    act(&admin, &device, "DeleteMeasurement", &measurement).await;
    goes(&admin, &measurement).await;

    act(&admin, &device, "CreateOperation", &Value::Null).await;
    let operation = only(&admin, "/devicecontrol/operations", "operations").await;
    assert_eq!((&operation["status"], &operation["deviceId"]), (&json!("PENDING"), &json!(device)));
    act(&admin, &device, "UpdateOperation", &operation).await;
    becomes(&admin, &operation, "status", json!("EXECUTING")).await;

    act(&admin, &device, "CreateManagedObject", &Value::Null).await;
    let object = only(&admin, "/inventory/managedObjects?type=made", "managedObjects").await;
    assert_eq!((&object["owner"], &object["plat_X"]), (&json!("cep"), &json!(1)));
    act(&admin, &device, "UpdateManagedObject", &object).await;
    becomes(&admin, &object, "name", json!("renamed")).await;
    act(&admin, &device, "DeleteManagedObject", &object).await;
    goes(&admin, &object).await;
}

#[tokio::test]
async fn writes_of_one_device_are_made_in_the_order_of_the_statements() {
    let (_server, admin, device) = start().await;
    let clears_and_raises = "module again;
        insert into UpdateAlarm select getString(e, 'target') as id, 'CLEARED' as status
            from EventCreated e where e.event.type = 'again';
        insert into CreateAlarm select 'hot' as type, 'MINOR' as severity, 'ACTIVE' as status, 'again' as text,
            e.event.time as time, e.event.source as source from EventCreated e where e.event.type = 'again';";
    deploy(&admin, clears_and_raises).await;
    let mut alarm = admin.raise_alarm(&device, "hot").await;

    for round in 1..=5 {
        act(&admin, &device, "again", &alarm).await;
        let cleared = becomes(&admin, &alarm, "status", json!("CLEARED")).await;
        assert_eq!(cleared["count"], 1, "round {round}: the new one was not counted in the old one");
        alarm = only(&admin, "/alarm/alarms?status=ACTIVE", "alarms").await;
    }
}

#[tokio::test]
async fn modules_that_set_themselves_going_end_after_eight_writes() {
    let (_server, admin, device) = start().await;
    let loops = "module loops;
        insert into CreateEvent select e.event.type as type, 'again' as text, e.event.time as time,
            e.event.source as source from EventCreated e where e.event.type = 'loop';
        insert into CreateEvent select 'over' as type, 'over' as text, e.event.time as time,
            e.event.source as source from EventCreated e where e.event.type = 'end';";
    let module = deploy(&admin, loops).await;

    admin.create_event(&device, "loop").await;
    let count = async |type_: &str| {
        let list = admin.read(&format!("/event/events?type={type_}&pageSize=100")).await;
        list["events"].as_array().unwrap().len()
    };
    until("nine events", async || count("loop").await >= 9).await;
    // This write is executed after any further write of the loop.
    admin.create_event(&device, "end").await;
    only(&admin, "/event/events?type=over", "events").await;

    assert_eq!(count("loop").await, 9, "that of the client, and eight");
    assert_eq!(status(&admin, &module).await, "DEPLOYED");
}

#[tokio::test]
async fn write_that_is_refused_leaves_the_others_going() {
    let (_server, admin, device) = start().await;
    let refused = "module refused;
        insert into CreateAlarm select 'bad' as type, 'MAJOR' as severity, 'ACTIVE' as status, 'x' as text,
            a.alarm.time as time, '999999' as source from AlarmCreated a where a.alarm.type = 'hot';
        insert into CreateAlarm select 'wrong' as type, a.alarm.type as severity, 'ACTIVE' as status, 'x' as text,
            a.alarm.time as time, a.alarm.source as source from AlarmCreated a where a.alarm.type = 'hot';
        insert into CreateAlarm select 'good' as type, a.alarm.severity as severity, 'ACTIVE' as status,
            a.alarm.text as text, a.alarm.time as time, a.alarm.source as source
            from AlarmCreated a where a.alarm.type = 'hot';";
    let module = deploy(&admin, refused).await;

    admin.create("/alarm/alarms", &alarm_of(&device, "hot")).await;

    let good = only(&admin, "/alarm/alarms?type=good", "alarms").await;
    assert_eq!((&good["severity"], &good["text"]), (&json!("MAJOR"), &json!("Too hot")));
    assert_eq!(admin.read("/alarm/alarms?type=bad,wrong").await["alarms"], json!([]));
    assert_eq!(status(&admin, &module).await, "DEPLOYED");
}

#[tokio::test]
async fn module_that_writes_without_end_is_switched_off() {
    let server = TestServer::start_with(|settings| {
        settings.limits.module_writes_at_once = 20;
        settings.limits.module_writes_per_second = 1;
    })
    .await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let module = deploy(&admin, &super::marking("marks", "seen")).await;

    for value in 0..25 {
        super::measure(&admin, &device, value).await;
    }

    until("a module that is switched off", async || status(&admin, &module).await == "NOT_DEPLOYED").await;
    assert!(super::events(&admin, "seen").await.len() <= 22);
}
