//! Queries and filters on what the server writes (I-07, I-08).

use super::*;

async fn found(caller: &Caller, parameter: &str, text: &str) -> Vec<String> {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    pairs.append_pair("pageSize", "100").append_pair("withTotalPages", "true").append_pair(parameter, text);
    let page = caller.read(&format!("{OBJECTS}?{}", pairs.finish())).await;
    let name = |object: &Value| object["name"].as_str().unwrap_or("-").to_owned();
    page["managedObjects"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn queries_find_what_reads_show() {
    let (server, admin) = server().await.with_admin();
    let named = async |device: &str, name: &str| {
        admin.put(&object(device), &json!({"name": name})).await;
    };
    let user = device_user(&server, "pump").await;
    let (heard, silent, idle) =
        (watched(&user, 10).await, watched(&admin, 10).await, watched(&admin, 0).await);
    for (device, name) in [(&heard, "heard"), (&silent, "silent"), (&idle, "idle")] {
        named(device, name).await;
    }
    silence(server.database(), &silent, 11).await;
    let _held = user.listen(&format!("/alarms/{heard}")).await.hold().await;
    let plain = admin.create_device("plain").await;
    let mut alarm = alarm_of(&plain, "fire");
    alarm["severity"] = json!("CRITICAL");
    admin.create("/alarm/alarms", &alarm).await;
    let building = admin.create(OBJECTS, &json!({"name": "building"})).await;
    admin.raise_alarm(building["id"].as_str().unwrap(), "hot").await;
    admin.create(OBJECTS, &json!({"name": "nothing"})).await;
    until("the connection", async || {
        let shown = admin.read(&object(&heard)).await;
        shown["plat_Connection"]["status"] == "CONNECTED"
    })
    .await;
    let since = super::last_message(&admin, &silent).await;
    // The server raises no alarms yet, because it has not been watching for long enough.
    assert_eq!(super::unavailability_alarms(&admin, &silent).await.len(), 0);

    for (query, expected) in [
        ("plat_Availability.status eq 'UNAVAILABLE'", vec!["silent"]),
        ("plat_Availability.status eq 'AVAILABLE'", vec!["heard"]),
        ("plat_Availability.status eq 'MAINTENANCE'", vec!["idle"]),
        ("plat_Availability.status eq '*AVAILABLE'", vec!["heard", "silent"]),
        ("plat_Availability.status ne 'AVAILABLE' and has(plat_Availability)", vec!["silent", "idle"]),
        ("has(plat_Availability)", vec!["heard", "silent", "idle"]),
        ("not has(plat_Availability)", vec!["plain", "building", "nothing"]),
        ("plat_Availability eq null", vec!["plain", "building", "nothing"]),
        ("has(plat_Availability.lastMessage)", vec!["heard", "silent", "idle"]),
        ("has(plat_Availability.other)", vec![]),
        (&format!("plat_Availability.lastMessage eq '{since}'"), vec!["silent"]),
        (&format!("plat_Availability.lastMessage.date le '{since}'"), vec!["silent"]),
        (&format!("plat_Availability.lastMessage.date gt '{since}'"), vec!["heard", "idle"]),
        ("plat_Connection.status eq 'CONNECTED'", vec!["heard"]),
        ("plat_Connection.status eq 'DISCONNECTED'", vec!["silent"]),
        ("has(plat_Connection)", vec!["heard", "silent", "idle"]),
        ("plat_Connection.status eq null", vec!["plain", "building", "nothing"]),
        ("plat_ActiveAlarmsStatus.critical gt 0", vec!["plain"]),
        ("plat_ActiveAlarmsStatus.critical ge 1", vec!["plain"]),
        ("plat_ActiveAlarmsStatus.critical eq 1", vec!["plain"]),
        ("plat_ActiveAlarmsStatus.major gt 0", vec!["building"]),
        ("plat_ActiveAlarmsStatus.critical eq 0", vec!["heard", "silent", "idle", "building"]),
        ("plat_ActiveAlarmsStatus.critical lt 1", vec!["heard", "silent", "idle", "building"]),
        ("plat_ActiveAlarmsStatus.critical ne 1", vec!["heard", "silent", "idle", "building", "nothing"]),
        ("has(plat_ActiveAlarmsStatus)", vec!["heard", "silent", "idle", "plain", "building"]),
        ("plat_ActiveAlarmsStatus.critical eq '1'", vec![]),
        (
            "plat_ActiveAlarmsStatus.critical gt 0 or plat_Availability.status eq 'MAINTENANCE'",
            vec!["idle", "plain"],
        ),
        (
            "$filter=has(plat_ActiveAlarmsStatus) $orderby=plat_ActiveAlarmsStatus.critical desc,name",
            vec!["plain", "building", "heard", "idle", "silent"],
        ),
    ] {
        assert_eq!(found(&admin, "query", query).await, expected, "{query}");
    }
    for (name, expected) in [
        ("plat_Availability", vec!["heard", "silent", "idle"]),
        ("plat_Connection", vec!["heard", "silent", "idle"]),
        ("plat_ActiveAlarmsStatus", vec!["heard", "silent", "idle", "plain", "building"]),
    ] {
        assert_eq!(found(&admin, "fragmentType", name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn alarm_of_a_critical_device_makes_it_found_as_unavailable() {
    let (_server, admin) = server().await.with_admin();
    let device = watched(&admin, 10).await;
    let mut alarm = alarm_of(&device, "fire");
    alarm["severity"] = json!("CRITICAL");
    let alarm = admin.create("/alarm/alarms", &alarm).await;
    let query = "plat_Availability.status eq 'UNAVAILABLE'";
    assert_eq!(found(&admin, "query", query).await, ["pump"]);

    admin.put(alarm["self"].as_str().unwrap(), &json!({"status": "ACKNOWLEDGED"})).await;

    assert_eq!(found(&admin, "query", query).await, Vec::<String>::new());
}
