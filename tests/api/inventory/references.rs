//! The reference blocks of an object (I-01, I-02), and that they stay symmetric whatever happens at once.

use super::*;

async fn link(caller: &Caller, parent: &str, block: &str, id: &str) -> u16 {
    caller.post(&format!("{OBJECTS}/{parent}/{block}"), &json!({"managedObject": {"id": id}})).await.status
}

/// The names a block shows, in order.
fn shown(object: &Value, block: &str) -> Vec<String> {
    let items = object[block]["references"].as_array().unwrap_or_else(|| panic!("no {block} in {object}"));
    items.iter().map(|item| item["managedObject"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn reference_holds_id_name_and_self_of_the_child() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    link(&admin, &parent, "childDevices", &one).await;

    let object = admin.read(&format!("{OBJECTS}/{parent}")).await;

    let base = format!("{}{OBJECTS}", server.base());
    assert_eq!(
        object["childDevices"],
        json!({
            "self": format!("{base}/{parent}/childDevices"),
            "references": [{
                "self": format!("{base}/{parent}/childDevices/{one}"),
                "managedObject": {"id": one, "name": "a", "self": format!("{base}/{one}")},
            }],
        })
    );
}

#[tokio::test]
async fn parents_are_always_listed_and_named_on_request() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    link(&admin, &parent, "childDevices", &one).await;
    let base = format!("{}{OBJECTS}", server.base());
    let reference = |object: Value| {
        json!([{"self": format!("{base}/{one}/deviceParents/{parent}"),
        "managedObject": object}])
    };

    let plain = admin.read(&format!("{OBJECTS}/{one}")).await;
    let named = admin.read(&format!("{OBJECTS}/{one}?withParents=true")).await;
    let changed = admin.put(&format!("{OBJECTS}/{one}"), &json!({"x": 1})).await.json();
    let listed = admin.read(&format!("{OBJECTS}?ids={one}")).await["managedObjects"][0].clone();

    let unnamed = json!({"id": parent, "self": format!("{base}/{parent}")});
    for object in [&plain, &changed, &listed] {
        assert_eq!(object["deviceParents"]["references"], reference(unnamed.clone()));
    }
    let whole = json!({"id": parent, "name": "p", "self": format!("{base}/{parent}")});
    assert_eq!(named["deviceParents"]["references"], reference(whole));
}

#[tokio::test]
async fn parents_are_a_flat_list_of_parents_and_their_ancestors() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut ids = Vec::new();
    for name in ["top", "middle", "other", "leaf"] {
        ids.push(admin.create_device(name).await);
    }
    link(&admin, &ids[0], "childDevices", &ids[1]).await;
    link(&admin, &ids[1], "childDevices", &ids[3]).await;
    link(&admin, &ids[2], "childAssets", &ids[3]).await;
    link(&admin, &ids[0], "childAdditions", &ids[3]).await;

    let leaf = admin.read(&format!("{OBJECTS}/{}?withParents=true", ids[3])).await;

    assert_eq!(shown(&leaf, "deviceParents"), ["middle", "top"]);
    assert_eq!(shown(&leaf, "assetParents"), ["other"]);
    assert_eq!(shown(&leaf, "additionParents"), ["top"]);
}

#[tokio::test]
async fn children_are_left_out_on_request() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    link(&admin, &parent, "childAssets", &one).await;

    let without = admin.read(&format!("{OBJECTS}/{parent}?withChildren=false")).await;
    let wrong = admin.get(&format!("{OBJECTS}/{parent}?withChildren=maybe")).await;

    assert_eq!((shown(&without, "childAssets").len(), wrong.status), (0, 422));
}

#[tokio::test]
async fn collection_reads_include_the_children_of_each_member() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    link(&admin, &parent, "childAssets", &one).await;

    let page = admin.read(OBJECTS).await;
    let with_parents = admin.read(&format!("{OBJECTS}?withParents=true&withChildren=false")).await;

    assert_eq!(shown(&page["managedObjects"][0], "childAssets"), ["a"]);
    assert_eq!(page["managedObjects"][1]["assetParents"]["references"][0]["managedObject"]["id"], parent);
    assert_eq!(shown(&with_parents["managedObjects"][0], "childAssets"), Vec::<String>::new());
    assert_eq!(shown(&with_parents["managedObjects"][1], "assetParents"), ["p"]);
}

#[tokio::test]
async fn put_is_returned_and_published_with_references() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    link(&admin, &parent, "childAssets", &one).await;
    let session = admin.listen("/managedobjects/*").await;

    let answer = admin.put(&format!("{OBJECTS}/{parent}"), &json!({"x": 1})).await.json();

    assert_eq!(shown(&answer, "childAssets"), ["a"]);
    assert_eq!(shown(&session.receive(1).await[0]["data"]["data"], "childAssets"), ["a"]);
}

#[tokio::test]
async fn renamed_child_is_shown_by_its_new_name_and_a_deleted_one_not_at_all() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    let two = admin.create_device("b").await;
    link(&admin, &parent, "childAssets", &one).await;
    link(&admin, &parent, "childAssets", &two).await;

    admin.put(&format!("{OBJECTS}/{one}"), &json!({"name": "new"})).await;
    admin.delete(&format!("{OBJECTS}/{two}")).await;

    assert_eq!(shown(&admin.read(&format!("{OBJECTS}/{parent}")).await, "childAssets"), ["new"]);
}

#[tokio::test]
async fn changes_at_once_leave_no_ring_no_orphan_and_no_server_error() {
    let server = TestServer::start_with(|settings| {
        (settings.workers, settings.actor_threads, settings.job_connections) = (2, 2, 4);
    })
    .await;
    let admin = server.admin();
    let mut ids = Vec::new();
    for n in 0..8 {
        ids.push(admin.create_device(&format!("n{n}")).await);
    }
    let steps = (0..160_usize).map(|n| {
        let (admin, ids) = (&admin, &ids);
        async move {
            let (parent, other) = (&ids[n % 8], &ids[(n * 5 + 3) % 8]);
            let block = ["childDevices", "childAssets", "childAdditions"][n % 3];
            match n % 8 {
                0 => {
                    admin.put(&format!("{OBJECTS}/{parent}"), &json!({"name": format!("r{n}")})).await.status
                }
                1 => admin.delete(&format!("{OBJECTS}/{parent}/{block}/{other}")).await.status,
                2 if n > 100 => admin.delete(&format!("{OBJECTS}/{other}?forceCascade=true")).await.status,
                3 => admin.post("/alarm/alarms", &alarm_of(other, "hot")).await.status,
                4 => admin.post(&format!("{OBJECTS}/{parent}/{block}"), &json!({"name": "new"})).await.status,
                _ => link(admin, parent, block, other).await,
            }
        }
    });

    let statuses = join_all(steps).await;

    assert!(statuses.iter().all(|status| [200, 201, 204, 404, 422].contains(status)), "{statuses:?}");
    let orphans = "SELECT count(*) FROM links l WHERE NOT EXISTS \
        (SELECT FROM managed_objects o WHERE o.id = l.parent) OR NOT EXISTS \
        (SELECT FROM managed_objects o WHERE o.id = l.child)";
    let orphans: i64 = server.database().query(orphans, &[]).await[0].get(0);
    let rings = "SELECT count(*) FROM links l WHERE l.kind <> 'childAdditions' AND EXISTS \
        (SELECT FROM lineage(l.tenant, l.parent) a WHERE a.id = l.child)";
    let rings: i64 = server.database().query(rings, &[]).await[0].get(0);
    assert_eq!((orphans, rings), (0, 0));
    symmetric(&admin).await;
}

/// Asserts that references of parents and of children agree.
async fn symmetric(admin: &Caller) {
    let page = admin.read(&format!("{OBJECTS}?pageSize=2000&withParents=true")).await;
    let objects = page["managedObjects"].as_array().unwrap();
    let ends = |object: &Value, block: &str| -> Vec<String> {
        let items = object[block]["references"].as_array().unwrap();
        items.iter().map(|item| item["managedObject"]["id"].as_str().unwrap().to_owned()).collect()
    };
    for (down, up) in [
        ("childDevices", "deviceParents"),
        ("childAssets", "assetParents"),
        ("childAdditions", "additionParents"),
    ] {
        for parent in objects {
            for child in ends(parent, down) {
                let child = objects.iter().find(|object| object["id"] == *child).unwrap();
                assert!(ends(child, up).contains(&parent["id"].as_str().unwrap().to_owned()), "{down}");
            }
        }
    }
}
