//! Look-ups of modules: by id, by filters, and for the placeholders of a text.

use super::*;

async fn start(statements: &str) -> (TestServer, Caller, String, Session) {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    deploy(&admin, &format!("module finds;\n{statements}")).await;
    let session = admin.listen("/finds/*").await;
    (server, admin, device, session)
}

/// Returns the rows of the statements, by their names.
async fn told(session: &Session, count: usize) -> Vec<(String, Value)> {
    let mut told: Vec<(String, Value)> = session
        .receive(count)
        .await
        .into_iter()
        .map(|told| {
            let channel = told["channel"].as_str().unwrap();
            (channel.rsplit('/').next().unwrap().to_owned(), told["data"].clone())
        })
        .collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    told
}

fn expected(rows: &[(&str, Value)]) -> Vec<(String, Value)> {
    rows.iter().map(|(name, row)| ((*name).to_owned(), row.clone())).collect()
}

#[tokio::test]
async fn objects_are_found_by_their_ids_and_null_is_what_there_is_not() {
    let statements = "
        @Name('a') select findManagedObjectById(e.event.source.value).name as name from EventCreated e;
        @Name('b') select findEventById(e.event.id).text as text from EventCreated e;
        @Name('c') select findAlarmById('999') is null as none from EventCreated e;
        @Name('d') select findMeasurementById('no id') as none from EventCreated e;
        @Name('e') select inMaintenanceMode(e.event.source.value) as pausing from EventCreated e;";
    let (_server, admin, device, session) = start(statements).await;

    admin.create_event(&device, "ask").await;

    let rows = [
        ("a", json!({"name": "pump"})),
        ("b", json!({"text": "It happened"})),
        ("c", json!({"none": true})),
        ("d", json!({"none": null})),
        ("e", json!({"pausing": false})),
    ];
    assert_eq!(told(&session, 5).await, expected(&rows));
}

#[tokio::test]
async fn finders_find_what_was_stored_the_newest_first() {
    let statements = "
        @Name('a') select findFirstAlarmBySourceAndStatusAndType(e.event.source, 'ACTIVE', 'hot').text as text
            from EventCreated e;
        @Name('b') select findOneAlarmBySourceAndType(e.event.source.value, 'hot').count as n from EventCreated e;
        @Name('c') select findFirstEventByType('none') as none from EventCreated e;
        @Name('d') select findAllEventBySource(e.event.source)[0].type as newest from EventCreated e;
        @Name('e') select findAllMeasurementBySource(e.event.source) as none from EventCreated e;";
    let (_server, admin, device, session) = start(statements).await;
    admin.raise_alarm(&device, "hot").await;
    admin.raise_alarm(&device, "hot").await;

    admin.create_event(&device, "ask").await;

    let rows = [
        ("a", json!({"text": "Too hot"})),
        ("b", json!({"n": 2})),
        ("c", json!({"none": null})),
        ("d", json!({"newest": "ask"})),
        ("e", json!({"none": []})),
    ];
    assert_eq!(told(&session, 5).await, expected(&rows));
}

#[tokio::test]
async fn finder_that_wants_one_fails_on_several_and_the_module_continues() {
    let statements = "
        @Name('a') select findOneEventByType('ask').text as text from EventCreated e;
        @Name('b') select e.event.type as type from EventCreated e;";
    let (_server, admin, device, session) = start(statements).await;

    admin.create_event(&device, "ask").await;
    assert_eq!(told(&session, 2).await.len(), 2);
    admin.create_event(&device, "ask").await;

    assert_eq!(told(&session, 1).await, expected(&[("b", json!({"type": "ask"}))]));
    let modules = admin.read("/cep/modules").await;
    assert_eq!(status(&admin, &modules["modules"][0]).await, "DEPLOYED");
}

#[tokio::test]
async fn placeholders_are_read_from_the_object_and_its_device() {
    let statements = "
        @Name('a') select replaceAllPlaceholders('#{source.name}: #{text}, #{no}', e.event) as text
            from EventCreated e;
        @Name('b') select replaceAllPlaceholders('#{source} #{type}', e) as text from EventCreated e;";
    let (_server, admin, device, session) = start(statements).await;

    admin.create_event(&device, "ask").await;

    let rows =
        [("a", json!({"text": "pump: It happened, "})), ("b", json!({"text": format!("{device} ask")}))];
    assert_eq!(told(&session, 2).await, expected(&rows));
}
