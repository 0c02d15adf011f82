//! Child endpoints: adding, listing, removing (I-03 to I-05, C-08, M-03).

use super::*;

/// Names of the children a page shows, in order.
fn names(page: &Value) -> Vec<String> {
    let references = page["references"].as_array().unwrap_or_else(|| panic!("no references in {page}"));
    references.iter().map(|item| item["managedObject"]["name"].as_str().unwrap().to_owned()).collect()
}

fn child(id: &str) -> Value {
    json!({"managedObject": {"id": id}})
}

/// Links a child and expects success.
async fn link(caller: &Caller, parent: &str, block: &str, id: &str) {
    caller.post(&format!("{OBJECTS}/{parent}/{block}"), &child(id)).await.expect(201);
}

#[tokio::test]
async fn child_is_linked_by_id_or_self_and_returned_as_a_reference() {
    let (server, admin, parent) = TestServer::shared().await.with_device("gateway").await;
    for block in ["childDevices", "childAssets", "childAdditions"] {
        let (one, two) = (admin.create_device("one").await, admin.create_device("two").await);
        let path = format!("{OBJECTS}/{parent}/{block}");
        let object = format!("{}{OBJECTS}/{two}", server.base());

        let by_id = admin.post(&path, &child(&one)).await;
        let by_self = admin.post(&path, &json!({"managedObject": {"self": object}})).await;

        assert_eq!((by_id.status, by_self.status), (201, 201), "{} {}", by_id.text, by_self.text);
        let expected = format!("{}{path}/{one}", server.base());
        assert_eq!(by_id.header("Location"), Some(&*expected));
        let content_type = by_id.header("Content-Type").unwrap();
        assert!(content_type.starts_with("application/json"), "{content_type}");
        let reference = by_id.json();
        assert_eq!(reference["self"], expected);
        assert_eq!(reference["managedObject"], admin.read(&format!("{OBJECTS}/{one}")).await);
        assert_eq!(names(&admin.read(&path).await), ["one", "two"], "{block}");
        assert_eq!(admin.read(&expected).await, reference);
    }
}

#[tokio::test]
async fn every_form_of_body_is_recognized_by_its_media_type_or_its_members() {
    let (_server, admin, parent) = TestServer::shared().await.with_device("gateway").await;
    let path = format!("{OBJECTS}/{parent}/childDevices");
    let ids =
        [admin.create_device("a").await, admin.create_device("b").await, admin.create_device("c").await];

    for (media_type, body) in [
        ("managedObject", child(&ids[0])),
        ("managedObjectReference", child(&ids[1])),
        ("managedObjectReferenceCollection", json!({"references": [child(&ids[2])]})),
        ("managedObject", json!({"name": "d"})),
    ] {
        let content_type = format!("{MEDIA}{media_type}+json;ver=0.9");
        let request = admin.request("POST", &path).header("Content-Type", &content_type);
        let answer = request.body(body.to_string()).send().await.expect(201);
        assert!(answer.header("Location").unwrap().contains(OBJECTS));
    }
    let wrong = admin.request("POST", &path).header("Content-Type", &format!("{MEDIA}alarm+json"));
    assert_eq!(wrong.body(child(&ids[0]).to_string()).send().await.status, 415);

    assert_eq!(names(&admin.read(&path).await), ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn several_children_are_added_in_their_order_or_not_at_all() {
    let (server, admin, group) = TestServer::shared().await.with_device("group").await;
    let path = format!("{OBJECTS}/{group}/childAssets");
    let (a, b) = (admin.create_device("a").await, admin.create_device("b").await);

    let none = admin.post(&path, &json!({"references": [child(&a), child("1")]})).await;
    let both = admin.post(&path, &json!({"references": [child(&b), child(&a)]})).await;

    assert_eq!((none.status, both.status), (422, 201), "{} {}", none.text, both.text);
    assert_eq!(both.header("Location"), Some(&*format!("{}{path}", server.base())));
    assert_eq!(names(&both.json()), ["b", "a"]);
    assert_eq!(names(&admin.read(&path).await), ["b", "a"]);
}

#[tokio::test]
async fn new_object_is_created_below_its_parent() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let creator = server.user_with("creator", &["ROLE_INVENTORY_CREATE"]).await;
    let parent = creator.create_device("gateway").await;
    let path = format!("{OBJECTS}/{parent}/childDevices");

    let answer =
        creator.post(&path, &json!({"name": "sensor", "type": "plat_Sensor", "x": [1]})).await.expect(201);

    let child = answer.json();
    assert_eq!(
        (&child["name"], &child["owner"], &child["x"]),
        (&json!("sensor"), &json!("creator"), &json!([1]))
    );
    let id = child["id"].as_str().unwrap();
    assert_eq!(answer.header("Location"), child["self"].as_str());
    assert_eq!(child["deviceParents"]["references"][0]["managedObject"]["id"], parent);
    assert_eq!(creator.read(&format!("{OBJECTS}/{id}")).await, child);
    assert_eq!(names(&creator.read(&path).await), ["sensor"]);
    admin.post(&format!("{OBJECTS}/1/childDevices"), &json!({"name": "lost"})).await.expect(404);
    let all = admin.read(&format!("{OBJECTS}?pageSize=100")).await;
    assert!(!member_texts(&all, "managedObjects", "id").is_empty());
    assert_eq!(server.count("managed_objects").await, 2, "nothing is left of what failed");
}

#[tokio::test]
async fn linking_twice_is_201_without_a_duplicate() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one, two) =
        (admin.create_device("p").await, admin.create_device("a").await, admin.create_device("b").await);

    for id in [&one, &two, &one, &one] {
        link(&admin, &parent, "childDevices", id).await;
    }

    let page = admin.read(&format!("{OBJECTS}/{parent}/childDevices")).await;
    assert_eq!(names(&page), ["a", "b"]);
}

#[tokio::test]
async fn link_to_itself_and_rings_are_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let ids =
        [admin.create_device("a").await, admin.create_device("b").await, admin.create_device("c").await];
    for block in ["childDevices", "childAssets", "childAdditions"] {
        let answer = admin.post(&format!("{OBJECTS}/{}/{block}", ids[0]), &child(&ids[0])).await;
        assert_eq!((answer.status, answer.error().as_str()), (422, "undefined/validationError"), "{block}");
        assert!(answer.message().contains(&ids[0]), "{}", answer.text);
    }
    link(&admin, &ids[0], "childDevices", &ids[1]).await;
    link(&admin, &ids[1], "childDevices", &ids[2]).await;

    for block in ["childDevices", "childAssets"] {
        for lower in [&ids[1], &ids[2]] {
            admin.post(&format!("{OBJECTS}/{lower}/{block}"), &child(&ids[0])).await.expect(422);
        }
    }
    // Nothing is inherited along additions, so they may form circles.
    link(&admin, &ids[2], "childAdditions", &ids[0]).await;
    link(&admin, &ids[0], "childAdditions", &ids[2]).await;
    let page = admin.read(&format!("{OBJECTS}/{}?withParents=true", ids[0])).await;
    assert_eq!(page["additionParents"]["references"].as_array().unwrap().len(), 1, "{page}");
}

#[tokio::test]
async fn unknown_ends_and_absent_links_are_distinguished() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, other) = (admin.create_device("p").await, admin.create_device("o").await);
    let path = format!("{OBJECTS}/{parent}/childDevices");

    for unknown in ["1", "999999999999", "0", "abc", "", "99999999999999999999"] {
        admin.post(&path, &child(unknown)).await.expect(422);
    }
    for unknown in ["1", "abc"] {
        let path = format!("{OBJECTS}/{unknown}/childDevices");
        admin.post(&path, &child(&other)).await.expect_error(404, "inventory/Not Found");
        assert_eq!(admin.get(&path).await.status, 404);
    }
    for (method, child) in [("GET", &other), ("DELETE", &other), ("GET", &parent), ("DELETE", &"1".into())] {
        admin.request(method, &format!("{path}/{child}")).send().await.expect(404);
    }
}

#[tokio::test]
async fn hostile_bodies_are_refused_and_harm_nobody() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("{OBJECTS}/{}/childAssets", admin.create_device("p").await);

    for (body, status) in [
        ("", 422),
        ("[]", 400),
        ("{", 400),
        (r#"{"managedObject":null,"references":7}"#, 422),
        (r#"{"managedObject":[]}"#, 422),
        (r#"{"managedObject":{"id":{}}}"#, 422),
        (r#"{"managedObject":{"id":1.5}}"#, 422),
        (r#"{"managedObject":{"self":7}}"#, 422),
        (r#"{"references":[null]}"#, 422),
        (r#"{"references":[{"managedObject":{"id":"1' OR '1'='1"}}]}"#, 422),
        (r#"{"$name":1}"#, 422),
    ] {
        let request =
            admin.request("POST", &path).accepting_json().header("Content-Type", "application/json");
        request.body(body).send().await.expect(status);
    }
    assert_eq!(names(&admin.read(&path).await), Vec::<String>::new());
}

#[tokio::test]
async fn unknown_block_is_404() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    assert_eq!(admin.get(&format!("{OBJECTS}/{device}/childThings")).await.status, 404);
}

#[tokio::test]
async fn children_are_paged_in_the_order_they_were_added() {
    let (_server, admin, parent) = TestServer::shared().await.with_device("group").await;
    let path = format!("{OBJECTS}/{parent}/childAssets");
    assert_eq!(admin.read(&path).await["references"], json!([]));
    let mut added = Vec::new();
    for n in 0..7 {
        added.push((format!("n{n}"), admin.create_device(&format!("n{n}")).await));
    }
    added.reverse();
    for (_, id) in &added {
        link(&admin, &parent, "childAssets", id).await;
    }

    let pages = admin.pages(&format!("{path}?pageSize=3&withTotalPages=true")).await;

    assert!(pages.iter().all(|page| page["statistics"]["totalPages"] == 3), "{pages:?}");
    let seen: Vec<_> = pages.iter().flat_map(names).collect();
    assert_eq!(seen, added.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    let second = admin.read(&format!("{path}?pageSize=3&currentPage=2")).await;
    assert_eq!(names(&second), ["n3", "n2", "n1"]);
}

#[tokio::test]
async fn taking_a_child_off_leaves_both_objects() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    link(&admin, &parent, "childDevices", &one).await;
    link(&admin, &parent, "childAssets", &one).await;

    let removed = admin.delete(&format!("{OBJECTS}/{parent}/childDevices/{one}")).await;

    assert_eq!((removed.status, &*removed.text), (204, ""));
    assert_eq!(admin.read(&format!("{OBJECTS}/{parent}/childDevices")).await["references"], json!([]));
    assert_eq!(names(&admin.read(&format!("{OBJECTS}/{parent}/childAssets")).await), ["a"]);
    assert_eq!(admin.get(&format!("{OBJECTS}/{one}")).await.status, 200);
    assert_eq!(admin.delete(&format!("{OBJECTS}/{parent}/childDevices/{one}")).await.status, 404);
}

#[tokio::test]
async fn linking_needs_the_role_or_both_ends_and_taking_off_one() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let reader = server.user_with("reader", &["ROLE_INVENTORY_READ"]).await;
    let (mine, mine_too) = (owner.create_device("mine").await, owner.create_device("mine too").await);
    let foreign = admin.create_device("foreign").await;
    let post = async |caller: &Caller, parent: &str, id: &str| {
        caller.post(&format!("{OBJECTS}/{parent}/childAssets"), &child(id)).await.status
    };

    assert_eq!(post(&owner, &mine, &mine_too).await, 201);
    assert_eq!(post(&owner, &mine, &foreign).await, 403);
    assert_eq!(post(&owner, &foreign, &mine).await, 403);
    assert_eq!(post(&reader, &foreign, &mine).await, 403);
    assert_eq!(post(&admin, &mine, &foreign).await, 201);
    assert_eq!(post(&admin, &foreign, &mine_too).await, 201);
    let link = format!("{OBJECTS}/{foreign}/childAssets/{mine_too}");
    assert_eq!(reader.delete(&link).await.status, 403);
    assert_eq!(owner.delete(&link).await.status, 204, "the child is the owner's");
    assert_eq!(owner.delete(&format!("{OBJECTS}/{mine}/childAssets/{foreign}")).await.status, 204);
    let bare = server.user_with("bare", &[]).await;
    bare.post(&format!("{OBJECTS}/{mine}/childAssets"), &json!({"name": "x"})).await.expect(403);
}

#[tokio::test]
async fn children_a_caller_may_not_see_are_left_out() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let mine = owner.create_device("mine").await;
    let foreign = admin.create_device("foreign").await;
    let own = owner.create_device("own").await;
    link(&admin, &mine, "childAssets", &foreign).await;
    link(&admin, &mine, "childAssets", &own).await;
    let path = format!("{OBJECTS}/{mine}/childAssets");

    assert_eq!(names(&owner.read(&path).await), ["own"]);
    assert_eq!(owner.get(&format!("{path}/{foreign}")).await.status, 403);
    assert_eq!(server.user_with("bare", &[]).await.get(&path).await.status, 403);
    assert_eq!(names(&admin.read(&path).await), ["foreign", "own"]);
}

#[tokio::test]
async fn link_changes_are_published_as_updates_of_the_parent() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    let session = admin.listen(&format!("/managedobjects/{parent}")).await;
    let path = format!("{OBJECTS}/{parent}/childDevices");

    link(&admin, &parent, "childDevices", &one).await;
    let linked = admin.read(&format!("{OBJECTS}/{parent}")).await;
    admin.post(&path, &json!({"name": "b"})).await;
    admin.delete(&format!("{path}/{one}")).await;

    let told = session.receive(3).await;
    let children = |n: usize| {
        let object = &told[n]["data"]["data"];
        member_texts(
            &json!({"c": object["childDevices"]["references"].as_array().unwrap().iter()
            .map(|item| item["managedObject"].clone()).collect::<Vec<_>>()}),
            "c",
            "name",
        )
    };
    assert!(told.iter().all(|message| message["data"]["realtimeAction"] == "UPDATE"), "{told:?}");
    assert_eq!(
        (children(0), children(1), children(2)),
        (vec!["a".into()], vec!["a".into(), "b".into()], vec!["b".into()])
    );
    assert_eq!(redacted(&told[0]["data"]["data"], &[]), redacted(&linked, &[]));
}

#[tokio::test]
async fn quiescent_links_notify_nobody_transient_ones_store_nothing_and_cep_is_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (parent, one) = (admin.create_device("p").await, admin.create_device("a").await);
    let two = admin.create_device("b").await;
    let session = admin.listen(&format!("/managedobjects/{parent}")).await;
    let path = format!("{OBJECTS}/{parent}/childAssets");
    let post = async |mode: &str, id: &str| {
        let request = admin.request("POST", &path).accepting_json();
        request.header("X-Platform-Processing-Mode", mode).json(&child(id)).send().await.status
    };

    assert_eq!(post("QUIESCENT", &one).await, 201);
    assert_eq!(post("CEP", &two).await, 422);
    assert_eq!(post("TRANSIENT", &two).await, 201);

    assert_eq!(session.receive(1).await.len(), 1, "only the transient one is told");
    assert_eq!(names(&admin.read(&path).await), ["a"]);
}

#[tokio::test]
async fn objects_of_another_tenant_cannot_be_linked() {
    let server = TestServer::start_with_tenant("plant7", "plant7.example.com").await;
    let (admin, stranger) = (server.admin(), server.caller("plant7/admin", ADMIN_PASSWORD));
    let (mine, theirs) = (admin.create_device("mine").await, stranger.create_device("theirs").await);

    let down = admin.post(&format!("{OBJECTS}/{mine}/childAssets"), &child(&theirs)).await;
    let up = admin.post(&format!("{OBJECTS}/{theirs}/childAssets"), &child(&mine)).await;
    let read = admin.get(&format!("{OBJECTS}/{theirs}/childAssets")).await;

    assert_eq!((down.status, up.status, read.status), (422, 404, 404));
    assert_eq!(server.database().count("links").await, 0);
}
