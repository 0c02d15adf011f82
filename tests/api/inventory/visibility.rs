//! Collections of callers who see only part of them (P-07, I-05, U-12).

use super::*;

async fn names(caller: &Caller, query: &str) -> Vec<String> {
    member_texts(&caller.read(&format!("{OBJECTS}?{query}")).await, "managedObjects", "name")
}

async fn link(server: &TestServer, kind: &str, parent: &str, child: &str) {
    let (parent, child): (i64, i64) = (parent.parse().unwrap(), child.parse().unwrap());
    let statement = "INSERT INTO links (tenant, kind, parent, child) VALUES ($1, $2, $3, $4)";
    server.execute(statement, &[&kind, &parent, &child]).await;
}

/// A user without roles, with these device permissions.
async fn guest(server: &TestServer, permissions: &Value) -> Caller {
    let guest = server.user_with("guest", &[]).await;
    let statement =
        "UPDATE users SET device_permissions = $2::text::json WHERE tenant = $1 AND name = 'guest'";
    server.execute(statement, &[&permissions.to_string()]).await;
    guest
}

/// Puts 5000 objects of another user into the database, with ids from 1; every 2400th belongs to `owner`.
async fn crowd(server: &TestServer) {
    let statement = "INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments) \
        SELECT $1, n, 'pump', 'n' || n, CASE WHEN n % 2400 = 0 THEN 'owner' ELSE 'admin' END, now(), now(), '{}' \
        FROM generate_series(1, 5000) n";
    server.execute(statement, &[]).await;
}

#[tokio::test]
async fn owner_of_a_gateway_sees_its_child_devices_but_not_its_assets() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let gateway = owner.create_device("gateway").await;
    let (sensor, probe, asset) = (
        admin.create_device("sensor").await,
        admin.create_device("probe").await,
        admin.create_device("asset").await,
    );
    link(&server, "childDevices", &gateway, &sensor).await;
    link(&server, "childDevices", &sensor, &probe).await;
    link(&server, "childAssets", &gateway, &asset).await;
    admin.create_device("hidden").await;

    assert_eq!(names(&owner, "").await, ["gateway", "sensor", "probe"]);
    assert_eq!(names(&owner, "text=pro").await, ["probe"]);
    assert_eq!(names(&owner, &format!("childDeviceId={probe}")).await, ["sensor"]);
    assert_eq!(names(&owner, &format!("ids={probe},{asset},{gateway}")).await, ["probe", "gateway"]);
}

#[tokio::test]
async fn permission_on_a_group_shows_everything_in_it() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (group, subgroup, device, child) = (
        admin.create_device("group").await,
        admin.create_device("subgroup").await,
        admin.create_device("device").await,
        admin.create_device("child").await,
    );
    link(&server, "childAssets", &group, &subgroup).await;
    link(&server, "childAssets", &subgroup, &device).await;
    link(&server, "childDevices", &device, &child).await;
    admin.create_device("hidden").await;
    let guest = guest(&server, &json!({&group: ["MANAGED_OBJECT:*:READ"]})).await;

    assert_eq!(names(&guest, "").await, ["group", "subgroup", "device", "child"]);
    assert_eq!(names(&guest, "query=name%20eq%20'*e'").await, ["device"]);
}

#[tokio::test]
async fn permission_for_a_fragment_shows_what_has_it() {
    let (server, admin, group) = TestServer::shared().await.with_device("group").await;
    let relay = admin.create(OBJECTS, &json!({"name": "relay", "plat_Relay": {}})).await;
    let plain = admin.create(OBJECTS, &json!({"name": "plain"})).await;
    for child in [&relay, &plain] {
        link(&server, "childAssets", &group, child["id"].as_str().unwrap()).await;
    }
    let permissions =
        json!({&group: ["MANAGED_OBJECT:plat_Relay:READ", "MANAGED_OBJECT:*:ADMIN", "ALARM:*:READ"]});
    let guest = guest(&server, &permissions).await;

    assert_eq!(names(&guest, "").await, ["relay"]);
}

/// Number and ids of a page.
fn numbered(page: &Value, array: &str) -> (u64, Vec<String>) {
    (page["statistics"]["currentPage"].as_u64().unwrap(), ids(page, array))
}

#[tokio::test]
async fn request_reads_a_thousand_documents_and_next_continues_behind_them() {
    let server = TestServer::shared().await;
    crowd(&server).await;
    let owner = server.user_with("owner", &[]).await;

    let pages = owner.pages(&format!("{OBJECTS}?withTotalPages=true")).await;

    assert!(pages.iter().all(|page| page["statistics"]["totalPages"] == Value::Null));
    let pages: Vec<_> = pages.iter().map(|page| numbered(page, "managedObjects")).collect();
    let found = |id: &str| vec![id.to_owned()];
    let expected =
        [(1, vec![]), (1001, vec![]), (2001, found("2400")), (3001, vec![]), (4001, found("4800"))];
    assert_eq!(pages[..5], expected);
    assert!(pages.len() <= 6, "{pages:?}");
}

#[tokio::test]
async fn current_page_of_a_limited_caller_is_an_offset_into_the_whole_collection() {
    let server = TestServer::shared().await;
    crowd(&server).await;
    let owner = server.user_with("owner", &[]).await;

    let before = owner.read(&format!("{OBJECTS}?currentPage=1400")).await;
    let at = owner.read(&format!("{OBJECTS}?currentPage=2400&pageSize=1")).await;
    let behind = owner.read(&format!("{OBJECTS}?currentPage=2401")).await;

    assert!(ids(&before, "managedObjects").is_empty());
    assert_eq!(ids(&at, "managedObjects"), ["2400"]);
    assert!(ids(&behind, "managedObjects").is_empty());
    assert!(before["prev"].as_str().unwrap().contains("currentPage=400"), "{}", before["prev"]);
    assert!(at["next"].as_str().unwrap().contains("currentPage=3400"), "{}", at["next"]);
}

#[tokio::test]
async fn full_page_of_a_limited_caller_ends_at_its_last_member() {
    let (server, _, owner) = TestServer::shared().await.with_owner().await;
    let admin = server.admin();
    for n in 0..7 {
        admin.create_device("hidden").await;
        owner.create_device(&format!("own {n}")).await;
    }

    let first = owner.read(&format!("{OBJECTS}?pageSize=3")).await;
    let second = owner.read(first["next"].as_str().unwrap()).await;
    let third = owner.read(second["next"].as_str().unwrap()).await;

    let seen = [&first, &second, &third].map(|page| member_texts(page, "managedObjects", "name")).concat();
    assert_eq!(seen, ["own 0", "own 1", "own 2", "own 3", "own 4", "own 5", "own 6"]);
    assert_eq!(second["statistics"]["currentPage"], 7);
    assert!(third.get("next").is_none(), "{third}");
}

#[tokio::test]
async fn filters_hold_for_limited_callers_too() {
    let server = TestServer::shared().await;
    crowd(&server).await;
    let owner = server.user_with("owner", &[]).await;

    assert_eq!(names(&owner, "owner=owner").await, ["n2400", "n4800"]);
    assert_eq!(names(&owner, "ids=4800,1,2400").await, ["n4800", "n2400"]);
    assert!(names(&owner, "type=motor").await.is_empty());
    assert!(names(&owner, "fragmentType=plat_IsDevice").await.is_empty());
}

#[tokio::test]
async fn alarm_collection_shows_what_permissions_name() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (group, pump, motor) = (
        admin.create_device("group").await,
        admin.create_device("pump").await,
        admin.create_device("motor").await,
    );
    link(&server, "childAssets", &group, &pump).await;
    for source in [&pump, &motor] {
        admin.raise_alarm(source, "hot").await;
        let mut relay = alarm_of(source, "relay");
        relay["plat_Relay"] = json!({});
        admin.create("/alarm/alarms", &relay).await;
    }
    let permissions = json!({&group: ["ALARM:*:READ"], &motor: ["ALARM:plat_Relay:READ"]});
    let guest = guest(&server, &permissions).await;

    let page = guest.read("/alarm/alarms?withTotalPages=true").await;

    let seen: Vec<_> = page["alarms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|alarm| (alarm["source"]["name"].as_str().unwrap(), alarm["type"].as_str().unwrap()))
        .collect();
    assert_eq!(seen, [("motor", "relay"), ("pump", "relay"), ("pump", "hot")]);
    assert_eq!(page["statistics"], json!({"totalPages": null, "pageSize": 5, "currentPage": 1}));
    let filtered = guest.read(&format!("/alarm/alarms?type=relay&source={motor}")).await;
    assert_eq!(ids(&filtered, "alarms").len(), 1);
}

#[tokio::test]
async fn alarm_collection_without_role_and_permission_is_403_also_for_owners() {
    let (server, _, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;
    owner.raise_alarm(&device, "hot").await;
    let guest = guest(&server, &json!({&device: ["ALARM:*:ADMIN", "EVENT:*:READ"]})).await;

    assert_eq!(owner.get("/alarm/alarms").await.status, 403);
    assert_eq!(guest.get("/alarm/alarms").await.status, 403);
}

#[tokio::test]
async fn alarms_of_a_limited_caller_are_paged_by_documents_looked_at() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (mine, other) = (admin.create_device("mine").await, admin.create_device("other").await);
    let (mine_id, other_id): (i64, i64) = (mine.parse().unwrap(), other.parse().unwrap());
    let statement = "INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count, \
        first_time, first_offset, created_at, fragments) SELECT $1, n, CASE WHEN n % 1200 = 0 THEN $2::bigint \
        ELSE $3 END, 't' || n, now() - make_interval(secs => n), 0, 'x', 'CLEARED', 'MAJOR', 1, now(), 0, now(), \
        '{}' FROM generate_series(1, 2500) n";
    server.execute(statement, &[&mine_id, &other_id]).await;
    let guest = guest(&server, &json!({&mine: ["ALARM:*:READ"]})).await;

    let pages: Vec<_> =
        guest.pages("/alarm/alarms").await.iter().map(|page| numbered(page, "alarms")).collect();

    assert_eq!(pages, [(1, vec![]), (1001, vec!["1200".to_owned()]), (2001, vec!["2400".to_owned()])]);
}
