//! The blocks of parents as collections (I-03b).

use super::*;

/// Each block of children with its block of parents.
const BLOCKS: [(&str, &str); 3] = [
    ("childDevices", "deviceParents"),
    ("childAssets", "assetParents"),
    ("childAdditions", "additionParents"),
];

async fn link(caller: &Caller, parent: &str, block: &str, child: &str) {
    caller.create(&format!("{OBJECTS}/{parent}/{block}"), &json!({"managedObject": {"id": child}})).await;
}

fn ids(references: &Value) -> Vec<&str> {
    let items = references.as_array().unwrap().iter();
    items.map(|item| item["managedObject"]["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn self_of_every_block_and_of_every_reference_can_be_read() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (top, middle, leaf) =
        (admin.create_device("t").await, admin.create_device("m").await, admin.create_device("l").await);
    for (children, _) in BLOCKS {
        link(&admin, &top, children, &middle).await;
        link(&admin, &middle, children, &leaf).await;
    }
    let (object, middle_object) =
        (admin.read(&format!("{OBJECTS}/{leaf}")).await, admin.read(&format!("{OBJECTS}/{middle}")).await);
    let top_object = admin.read(&format!("{OBJECTS}/{top}")).await;

    for shown in [&top_object, &middle_object, &object] {
        for (children, parents) in BLOCKS {
            for block in [children, parents] {
                let address = shown[block]["self"].as_str().unwrap();
                let page = admin.read(address).await;
                assert_eq!(ids(&page["references"]), ids(&shown[block]["references"]), "{address}");
                assert!(page["self"].as_str().unwrap().starts_with(address), "{page}");
                for (reference, short) in page["references"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .zip(shown[block]["references"].as_array().unwrap())
                {
                    assert_eq!(reference["self"], short["self"]);
                    let alone = admin.read(short["self"].as_str().unwrap()).await;
                    assert_eq!(alone, *reference, "{short}");
                    let whole = admin.read(alone["managedObject"]["self"].as_str().unwrap()).await;
                    assert_eq!(alone["managedObject"], whole, "{short}");
                }
            }
        }
    }
    assert_eq!(ids(&object["assetParents"]["references"]), [&*middle, &*top]);
}

#[tokio::test]
async fn parents_are_paged() {
    let (_server, admin, leaf) = TestServer::shared().await.with_device("leaf").await;
    let mut groups = Vec::new();
    for n in 0..5 {
        groups.push(admin.create_device(&format!("g{n}")).await);
        link(&admin, &groups[n], "childAssets", &leaf).await;
    }

    let path = format!("{OBJECTS}/{leaf}/assetParents?pageSize=2&withTotalPages=true");
    let pages = admin.pages(&path).await;

    assert!(pages.iter().all(|page| page["statistics"]["totalPages"] == 3), "{pages:?}");
    let seen: Vec<&str> = pages.iter().flat_map(|page| ids(&page["references"])).collect();
    assert_eq!(seen, groups);
    admin.get(&format!("{OBJECTS}/{leaf}/assetParents?pageSize=0")).await.expect(422);
}

#[tokio::test]
async fn parents_that_do_not_exist_are_404_and_nothing_changes_them() {
    let (_server, admin, leaf) = TestServer::shared().await.with_device("leaf").await;
    let other = admin.create_device("other").await;

    for (_, block) in BLOCKS {
        let path = format!("{OBJECTS}/{leaf}/{block}");
        assert_eq!(admin.read(&path).await["references"], json!([]), "{block}");
        for unknown in [&*other, "4711", "x"] {
            admin.get(&format!("{path}/{unknown}")).await.expect(404);
        }
        admin.get(&format!("{OBJECTS}/4711/{block}")).await.expect(404);
        let refused = admin.post(&path, &json!({"managedObject": {"id": other}})).await.expect(405);
        assert_eq!(refused.header("Allow"), Some("GET"));
        assert!(refused.message().ends_with("allowed: GET"), "{}", refused.text);
        admin.delete(&format!("{path}/{other}")).await.expect(405);
    }
}

#[tokio::test]
async fn caller_sees_the_parents_that_it_may_read() {
    let (_server, admin, owner) = TestServer::shared().await.with_owner().await;
    let own = owner.create_device("own").await;
    let (hidden, shown) = (admin.create_device("hidden").await, owner.create_device("shown").await);
    link(&admin, &hidden, "childAssets", &own).await;
    link(&admin, &shown, "childAssets", &own).await;

    let page = owner.read(&format!("{OBJECTS}/{own}/assetParents")).await;

    assert_eq!(ids(&page["references"]), [&*shown]);
    owner.get(&format!("{OBJECTS}/{own}/assetParents/{hidden}")).await.expect(403);
    owner.get(&format!("{OBJECTS}/{own}/assetParents/{shown}")).await.expect(200);
    owner.get(&format!("{OBJECTS}/{hidden}/assetParents")).await.expect(403);
}
