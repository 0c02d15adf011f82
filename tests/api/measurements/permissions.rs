//! Tests who may write, read and delete measurements (docs/rules.md#measurements; U-12, P-07, I-05, I-06, G-01).

use super::*;

const TIME: &str = "2024-03-10T02:30:00Z";

async fn types(caller: &Caller, query: &str) -> String {
    member_texts(&caller.read(&format!("{MEASUREMENTS}?{query}")).await, "measurements", "type").concat()
}

#[tokio::test]
async fn read_role_reads_and_admin_role_writes() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let link = measure(&admin, &device, TIME, 1).await["self"].as_str().unwrap().to_owned();
    let reader = server.user_with("reader", &["ROLE_MEASUREMENT_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_MEASUREMENT_ADMIN"]).await;

    for (caller, reads, writes) in [(&reader, 200, 403), (&writer, 403, 201)] {
        assert_eq!(caller.get(MEASUREMENTS).await.status, reads);
        assert_eq!(caller.get(&link).await.status, reads);
        assert_eq!(caller.get(&series_of(&device, "")).await.status, reads);
        assert_eq!(caller.post(MEASUREMENTS, &measurement_of(&device, TIME, 1)).await.status, writes);
    }
    assert_eq!(reader.delete(&link).await.status, 403);
    assert_eq!(reader.delete(MEASUREMENTS).await.status, 403);
    assert_eq!(writer.delete(&link).await.status, 204);
    assert_eq!(writer.delete(MEASUREMENTS).await.status, 204);
}

#[tokio::test]
async fn owner_writes_reads_and_deletes_one_and_does_not_read_or_delete_all() {
    let (_server, _, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;

    let created = measure(&owner, &device, TIME, 1).await;
    let link = created["self"].as_str().unwrap();

    assert_eq!(owner.get(link).await.status, 200);
    assert_eq!(owner.get(MEASUREMENTS).await.status, 403);
    assert_eq!(owner.delete(&format!("{MEASUREMENTS}?source={device}")).await.status, 403);
    assert_eq!(owner.delete(link).await.status, 204);
}

#[tokio::test]
async fn one_foreign_source_refuses_the_whole_collection() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let (own, foreign) = (owner.create_device("own").await, admin.create_device("foreign").await);
    let many = json!({"measurements": [
        measurement_of(&own, TIME, 1), measurement_of(&foreign, TIME, 2), measurement_of(&own, TIME, 3),
    ]});

    assert_eq!(owner.post(MEASUREMENTS, &many).await.status, 403);
    assert_eq!(owner.post(MEASUREMENTS, &measurement_of(&foreign, TIME, 1)).await.status, 403);
    assert_eq!(server.count("measurements").await, 0);
    // The right to write is checked before the source, so that nobody learns which ids exist.
    assert_eq!(owner.post(MEASUREMENTS, &measurement_of("4711", TIME, 1)).await.status, 422);
}

#[tokio::test]
async fn device_permission_writes_what_holds_its_fragment() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let any = server.user_permitted("any", &device, &["MEASUREMENT:*:ADMIN"]).await;
    let some = server.user_permitted("some", &device, &["MEASUREMENT:env:ADMIN"]).await;
    let reads = server.user_permitted("reads", &device, &["MEASUREMENT:*:READ"]).await;
    let env = measurement_of(&device, TIME, 1);
    let power = measurement_with(&device, "t", TIME, &json!({"power": {"p": {"value": 1}}}));

    for (caller, may_env, may_power) in [(&any, 201, 201), (&some, 201, 403), (&reads, 403, 403)] {
        assert_eq!(caller.post(MEASUREMENTS, &env).await.status, may_env);
        assert_eq!(caller.post(MEASUREMENTS, &power).await.status, may_power);
        caller.post(MEASUREMENTS, &json!({"measurements": [env, power]})).await.expect(may_power);
    }
    let of = async |body: &Value| admin.create(MEASUREMENTS, body).await["self"].as_str().unwrap().to_owned();
    let (env, power) = (of(&env).await, of(&power).await);
    assert_eq!((some.delete(&power).await.status, some.delete(&env).await.status), (403, 204));
    assert_eq!((reads.delete(&power).await.status, any.delete(&power).await.status), (403, 204));
}

#[tokio::test]
async fn permission_on_a_group_shows_what_is_in_it() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut objects = Vec::new();
    for name in ["group", "device", "other"] {
        objects.push(admin.create_device(name).await);
    }
    let path = format!("/inventory/managedObjects/{}/childAssets", objects[0]);
    admin.create(&path, &json!({"managedObject": {"id": objects[1]}})).await;
    for (type_, object, fragment) in
        [("a", 1, "env"), ("b", 2, "env"), ("c", 1, "power"), ("d", 0, "env"), ("e", 1, "env")]
    {
        let members = json!({fragment: {"t": {"value": 1}}});
        admin.create(MEASUREMENTS, &measurement_with(&objects[object], type_, TIME, &members)).await;
    }
    let all = server.user_permitted("all", &objects[0], &["MEASUREMENT:*:READ"]).await;
    let env = server.user_permitted("env", &objects[0], &["MEASUREMENT:env:READ"]).await;
    let none = server.user_permitted("none", &objects[0], &["MEASUREMENT:*:ADMIN"]).await;

    assert_eq!(types(&all, "").await, "acde");
    assert_eq!(types(&all, "revert=true").await, "edca");
    assert_eq!(types(&env, "").await, "ade");
    assert_eq!(types(&env, "type=c").await, "");
    assert_eq!(types(&env, &format!("source={}", objects[1])).await, "ae");
    assert_eq!(types(&env, &format!("source={}", objects[2])).await, "");
    assert_eq!(types(&all, "valueFragmentType=power").await, "c");
    assert_eq!(none.get(MEASUREMENTS).await.status, 403);
    let counted = all.read(&format!("{MEASUREMENTS}?withTotalPages=true")).await;
    assert_eq!(counted["statistics"]["totalPages"], Value::Null, "P-07");
    assert!(counted["statistics"].as_object().unwrap().contains_key("totalPages"));
    let listed = admin.read(MEASUREMENTS).await;
    for (place, expected) in [(0, 200), (1, 403), (2, 403)] {
        let link = listed["measurements"][place]["self"].as_str().unwrap();
        assert_eq!(env.get(link).await.status, expected, "{place}");
    }
}

#[tokio::test]
async fn limited_callers_reach_everything_by_following_next() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (seen, hidden) = (admin.create_device("seen").await, admin.create_device("hidden").await);
    let many: Vec<Value> =
        (0..3000).map(|n| measurement_of(if n % 1000 == 999 { &seen } else { &hidden }, TIME, n)).collect();
    admin.create(MEASUREMENTS, &json!({"measurements": many})).await;
    let caller = server.user_permitted("caller", &seen, &["MEASUREMENT:*:READ"]).await;

    let (mut found, mut pages) = (0, 1);
    let mut page = caller.read(&format!("{MEASUREMENTS}?pageSize=10")).await;
    loop {
        found += page["measurements"].as_array().unwrap().len();
        match page["next"].as_str() {
            Some(next) => page = caller.read(next).await,
            None => break,
        }
        pages += 1;
    }
    assert_eq!(found, 3);
    assert!(pages >= 3, "a request looks at a thousand: {pages}");
}

#[tokio::test]
async fn series_show_the_kinds_of_measurements_that_permissions_name() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("motor").await);
    for fragment in ["env", "power"] {
        let members = json!({fragment: {"t": {"value": 1}}});
        admin.create(MEASUREMENTS, &measurement_with(&device, "t", TIME, &members)).await;
    }
    let env = server.user_permitted("env", &device, &["MEASUREMENT:env:READ"]).await;

    for more in ["", "&aggregationType=DAILY"] {
        let series = env.read(&series_of(&device, more)).await["series"].clone();
        assert_eq!(series, json!([{"unit": null, "name": "t", "type": "env"}]), "{more}");
        let named = env.read(&series_of(&device, &format!("&series=power.t{more}"))).await;
        assert_eq!(named["values"], json!({}), "{more}");
        assert_eq!(env.get(&series_of(&other, more)).await.status, 403, "{more}");
        assert_eq!(env.read(&series_of("4711", more)).await["values"], json!({}), "{more}");
    }
}

#[tokio::test]
async fn other_tenants_see_and_delete_nothing() {
    let (server, admin, device) =
        TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_device("pump").await;
    let created = measure(&admin, &device, TIME, 1).await;
    let other = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);
    let path = format!("{MEASUREMENTS}/{}", created["id"].as_str().unwrap());

    assert_eq!(types(&other, "").await, "");
    assert_eq!(types(&other, &format!("source={device}&type=env")).await, "");
    assert_eq!(other.read(&series_of(&device, "")).await["values"], json!({}));
    assert_eq!((other.get(&path).await.status, other.delete(&path).await.status), (404, 404));
    assert_eq!(other.post(MEASUREMENTS, &measurement_of(&device, TIME, 1)).await.status, 422);
    assert_eq!(other.delete(MEASUREMENTS).await.status, 204);
    assert_eq!(admin.read(created["self"].as_str().unwrap()).await, created);
}
