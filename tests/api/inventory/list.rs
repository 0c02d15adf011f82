//! Filters of the collection (I-07).

use super::*;

async fn names(caller: &Caller, query: &str) -> Vec<String> {
    member_texts(&caller.read(&format!("{OBJECTS}?{query}")).await, "managedObjects", "name")
}

#[tokio::test]
async fn members_of_a_collection_are_the_objects_as_they_are_read() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let object = admin.create(OBJECTS, &json!({"name": "pump", "plat_A": {"x": 1}})).await;

    let list = admin.read(OBJECTS).await;

    assert_eq!(list["managedObjects"], json!([object]));
}

#[tokio::test]
async fn type_and_fragment_type_filter_exactly_and_together() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for body in [
        json!({"name": "a", "type": "pump", "plat_IsDevice": {}}),
        json!({"name": "b", "type": "pump"}),
        json!({"name": "c", "type": "Pump", "plat_IsDevice": {}, "plat_Nested": {"plat_Inner": 1}}),
        json!({"name": "d"}),
    ] {
        admin.create(OBJECTS, &body).await;
    }

    assert_eq!(names(&admin, "type=pump").await, ["a", "b"]);
    assert_eq!(names(&admin, "fragmentType=plat_IsDevice").await, ["a", "c"]);
    assert_eq!(names(&admin, "type=pump&fragmentType=plat_IsDevice").await, ["a"]);
    assert!(names(&admin, "fragmentType=plat_Inner").await.is_empty(), "top-level names only");
    assert!(names(&admin, "type=unknown").await.is_empty());
}

#[tokio::test]
async fn fragment_type_follows_changes() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let object = admin.create(OBJECTS, &json!({"name": "a", "plat_Old": 1})).await;

    admin.put(object["self"].as_str().unwrap(), &json!({"plat_Old": null, "plat_New": 1})).await;

    assert!(names(&admin, "fragmentType=plat_Old").await.is_empty());
    assert_eq!(names(&admin, "fragmentType=plat_New").await, ["a"]);
}

#[tokio::test]
async fn ids_are_given_in_the_order_of_the_list_without_unknown_ones() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (a, b, c) =
        (admin.create_device("a").await, admin.create_device("b").await, admin.create_device("c").await);

    let found = admin.read(&format!("{OBJECTS}?ids={c},4711,{a},pump,,{b}")).await;

    assert_eq!(ids(&found, "managedObjects"), [c, a, b]);
}

#[tokio::test]
async fn list_of_ids_is_paged_in_its_order() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(admin.create_device(&format!("pump {n}")).await);
    }
    made.reverse();

    let first = admin.read(&format!("{OBJECTS}?pageSize=3&withTotalPages=true&ids={}", made.join(","))).await;
    let second = admin.read(first["next"].as_str().unwrap()).await;
    let third = admin.read(second["next"].as_str().unwrap()).await;

    let seen = [&first, &second, &third].map(|page| ids(page, "managedObjects")).concat();
    assert_eq!(seen, made);
    assert_eq!(first["statistics"]["totalPages"], 3);
}

#[tokio::test]
async fn ids_are_combined_with_other_filters() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let pump = admin.create(OBJECTS, &json!({"name": "a", "type": "pump"})).await;
    let motor = admin.create(OBJECTS, &json!({"name": "b", "type": "motor"})).await;

    let ids = format!("ids={},{}", motor["id"].as_str().unwrap(), pump["id"].as_str().unwrap());

    assert_eq!(names(&admin, &format!("{ids}&type=pump")).await, ["a"]);
}

#[tokio::test]
async fn empty_list_of_ids_finds_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.create_device("pump").await;

    assert!(names(&admin, "ids=").await.is_empty());
    assert!(names(&admin, "ids=pump").await.is_empty());
}

#[tokio::test]
async fn text_finds_prefixes_of_words_in_top_level_texts_in_any_case() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for body in [
        json!({"name": "Boiler house", "type": "acme_Pump"}),
        json!({"name": "b", "note": "next to the BOILER"}),
        json!({"name": "c", "nested": {"note": "boiler"}, "count": 5, "list": ["boiler"]}),
        json!({"name": "d", "note": "Überdruck, größer als 5"}),
        json!({"name": "it's 100% \"odd\" \\ {x} :* & | !"}),
    ] {
        admin.create(OBJECTS, &body).await;
    }

    for (text, expected) in [
        ("boil", vec!["Boiler house", "b"]),
        ("BOIL", vec!["Boiler house", "b"]),
        ("oiler", vec![]),
        ("boiler%20ho", vec!["Boiler house"]),
        ("house-boiler", vec!["Boiler house"]),
        ("pump", vec!["Boiler house"]),
        ("%C3%BCBERD", vec!["d"]),
        // Upper-case letters outside of ASCII match their lower-case forms too.
        ("gr%C3%96%C3%9FER", vec!["d"]),
        ("GR%C3%B6%C3%9FER", vec!["d"]),
        ("admi", vec!["Boiler house", "b", "c", "d", "it's 100% \"odd\" \\ {x} :* & | !"]),
        ("%22odd%22", vec!["it's 100% \"odd\" \\ {x} :* & | !"]),
        ("%3A*%20%26%20%7C%20!", vec![]),
        ("'", vec![]),
    ] {
        assert_eq!(names(&admin, &format!("text={text}")).await, expected, "{text}");
    }
    assert_eq!(names(&admin, "text=&type=acme_Pump").await, ["Boiler house"], "no text is no filter");
}

#[tokio::test]
async fn text_follows_changes_and_any_text_can_be_stored() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let words: String = (0..20_000).map(|n| format!("word{n} ")).collect();
    let object = admin
        .create(
            OBJECTS,
            &json!({"name": "a", "words": words, "long": "x".repeat(1 << 20), "odd": "\u{1}\u{10FFFF}'"}),
        )
        .await;

    assert_eq!(names(&admin, "text=word7").await, ["a"]);
    admin.put(object["self"].as_str().unwrap(), &json!({"words": "Other", "name": "renamed"})).await;

    assert!(names(&admin, "text=word7").await.is_empty());
    assert_eq!(names(&admin, "text=oth").await, ["renamed"]);
    assert_eq!(names(&admin, &format!("text={}", "x".repeat(100))).await, ["renamed"]);
}

#[tokio::test]
async fn owner_filters_exactly_and_together_with_others() {
    let server = TestServer::shared().await;
    let joe = server.user_with("joe", &["ROLE_INVENTORY_CREATE"]).await;
    joe.create(OBJECTS, &json!({"name": "a", "type": "pump"})).await;
    joe.create(OBJECTS, &json!({"name": "b"})).await;
    let admin = server.admin();
    admin.create(OBJECTS, &json!({"name": "c", "type": "pump"})).await;

    assert_eq!(names(&admin, "owner=joe").await, ["a", "b"]);
    assert_eq!(names(&admin, "owner=joe&type=pump").await, ["a"]);
    assert!(names(&admin, "owner=Joe").await.is_empty());
}

#[tokio::test]
async fn parents_of_a_child_are_listed_by_the_kind_of_link() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut made = Vec::new();
    for name in ["gateway", "hall", "manual", "child"] {
        made.push(admin.create_device(name).await);
    }
    let child: i64 = made[3].parse().unwrap();
    for (kind, parent) in [("childDevices", 0), ("childAssets", 1), ("childAdditions", 2), ("childAssets", 0)]
    {
        let parent: i64 = made[parent].parse().unwrap();
        let statement = "INSERT INTO links (tenant, kind, parent, child) VALUES ($1, $2, $3, $4)";
        server.execute(statement, &[&kind, &parent, &child]).await;
    }

    assert_eq!(names(&admin, &format!("childDeviceId={child}")).await, ["gateway"]);
    assert_eq!(names(&admin, &format!("childAssetId={child}")).await, ["gateway", "hall"]);
    assert_eq!(names(&admin, &format!("childAdditionId={child}")).await, ["manual"]);
    assert_eq!(names(&admin, &format!("childAssetId={child}&childDeviceId={child}")).await, ["gateway"]);
    assert_eq!(names(&admin, &format!("childAssetId={child}&text=hal")).await, ["hall"]);
    assert!(names(&admin, &format!("childDeviceId={}", made[0])).await.is_empty());
    for id in ["4711", "x", ""] {
        assert!(names(&admin, &format!("childDeviceId={id}")).await.is_empty(), "{id}");
    }
}

#[tokio::test]
async fn repeated_ids_are_given_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (a, b) = (admin.create_device("a").await, admin.create_device("b").await);

    let found = admin.read(&format!("{OBJECTS}?ids={b},{a},{b}&withTotalPages=true&pageSize=1")).await;

    assert_eq!((ids(&found, "managedObjects"), &found["statistics"]["totalPages"]), (vec![b], &json!(2)));
}

/// Puts 6000 objects named by their number into the database; every 1500th is rare.
async fn fill(server: &TestServer) {
    let statement = "INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments) \
        SELECT $1, n, 'type ' || n % 2, 'n' || n, 'admin', now(), now(), \
            CASE WHEN n % 1500 = 0 THEN '{\"plat_Rare\": {\"a\": 1}}'::jsonb ELSE '{\"plat_Often\": {}}' END \
        FROM generate_series(1, 6000) n";
    server.execute(statement, &[]).await;
}

#[tokio::test]
async fn few_among_many_are_found_by_every_filter_on_every_page() {
    let (server, admin) = TestServer::shared().await.with_admin();
    fill(&server).await;

    for filter in [
        "fragmentType=plat_Rare",
        "fragmentType=plat_Rare&type=type%200",
        "fragmentType=plat_Rare&owner=admin",
        "query=has(plat_Rare)",
        "query=plat_Rare.a%20eq%201",
        "query=plat_Often%20eq%20null",
        "query=not%20has(plat_Often)%20or%20has(plat_None)",
        "query=id%20eq%201500%20or%20id%20eq%203000%20or%20name%20eq%20'n4500'%20or%20name%20eq%20'n6000*'",
    ] {
        for size in [1, 3, 4, 2000] {
            let pages = admin.pages(&format!("{OBJECTS}?pageSize={size}&withTotalPages=true&{filter}")).await;
            let counted = 4_u32.div_ceil(size);
            assert!(pages.iter().all(|page| page["statistics"]["totalPages"] == counted), "{filter} {size}");
            let seen: Vec<_> = pages.iter().flat_map(|page| ids(page, "managedObjects")).collect();
            assert_eq!(seen, ["1500", "3000", "4500", "6000"], "{filter} {size}");
        }
        let page = admin.read(&format!("{OBJECTS}?pageSize=2&currentPage=2&{filter}")).await;
        assert_eq!(ids(&page, "managedObjects"), ["4500", "6000"], "{filter}");
        assert!(page.get("next").is_none());
    }
}

#[tokio::test]
async fn many_among_many_are_paged_by_number_and_by_link() {
    let (server, admin) = TestServer::shared().await.with_admin();
    fill(&server).await;

    for (filter, expected) in [
        ("", ["2001", "2002"]),
        ("&type=type%201", ["4001", "4003"]),
        ("&fragmentType=plat_Often", ["2002", "2003"]),
        ("&owner=admin&text=n", ["2001", "2002"]),
        ("&query=$orderby=id", ["2001", "2002"]),
    ] {
        let page = admin.read(&format!("{OBJECTS}?pageSize=2000&currentPage=1{filter}")).await;
        let next = admin.read(page["next"].as_str().unwrap()).await;
        let numbered = admin.read(&format!("{OBJECTS}?pageSize=2&currentPage=1001{filter}")).await;
        assert_eq!(ids(&next, "managedObjects")[..2], expected, "{filter}");
        assert_eq!(ids(&numbered, "managedObjects"), expected, "{filter}");
    }
}
