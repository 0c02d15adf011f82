//! The query language (I-08).

use platform_model::realtime::filter::{Content, Membership, NotificationFilter};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::query_model::{at, bodies, expressions, paths};
use super::*;

/// Conditions the differential test tries.
const CASES: usize = 500;

/// The address of the objects that match a query.
fn address(query: &str) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    pairs.append_pair("pageSize", "2000").append_pair("query", query);
    format!("{OBJECTS}?{}", pairs.finish())
}

/// Names of what a query finds, in order.
async fn found(caller: &Caller, query: &str) -> Vec<String> {
    let page = caller.read(&address(query)).await;
    let name = |object: &Value| object["name"].as_str().unwrap_or("-").to_owned();
    page["managedObjects"].as_array().unwrap().iter().map(name).collect()
}

/// A server with three devices, a group that holds the first two, and something that is neither.
async fn plant() -> TestServer {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut made = Vec::new();
    for body in [
        json!({"name": "pump 1", "type": "acme_Pump", "plat_IsDevice": {}, "plat_Hardware":
            {"model": "RX1", "revision": 3}, "tags": ["wet", "loud"], "sold": "2015-10-24T09:00:53+01:00"}),
        json!({"name": "pump 12", "type": "acme_Pump", "plat_IsDevice": {}, "plat_Hardware":
            {"model": "RX2", "revision": 10}, "tags": ["dry"], "sold": "2015-10-24T10:00:53+01:00"}),
        json!({"name": "motor", "type": "acme_Motor", "plat_IsDevice": {}, "plat_Hardware":
            {"model": "rx1", "revision": "3"}, "on": true, "sold": "never"}),
        json!({"name": "group", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}}),
        json!({"type": "plan"}),
    ] {
        made.push(admin.create(OBJECTS, &body).await["id"].as_str().unwrap().parse::<i64>().unwrap());
    }
    for child in [made[0], made[1]] {
        link(&server, "childAssets", made[3], child).await;
    }
    server
}

async fn link(server: &TestServer, kind: &str, parent: i64, child: i64) {
    let statement = "INSERT INTO links (tenant, kind, parent, child) VALUES ($1, $2, $3, $4)";
    server.execute(statement, &[&kind, &parent, &child]).await;
}

#[tokio::test]
async fn q_is_the_query_of_devices_alone() {
    let (_server, admin) = plant().await.with_admin();
    let found = async |q: &str| {
        let q: String = form_urlencoded::byte_serialize(q.as_bytes()).collect();
        let page = admin.read(&format!("{OBJECTS}?q={q}")).await;
        member_texts(&page, "managedObjects", "name")
    };

    assert_eq!(found("$filter=name eq '*'").await, ["pump 1", "pump 12", "motor"]);
    assert_eq!(found("has(plat_IsDeviceGroup) or name eq 'motor'").await, ["motor"]);
    assert_eq!(found("$orderby=name desc").await, ["pump 12", "pump 1", "motor"]);
    assert_eq!(admin.get(&format!("{OBJECTS}?q=name")).await.status, 422);
    admin.get(&format!("{OBJECTS}?q=has(x)&query=has(y)")).await.expect_message(422, "'q'");
}

#[tokio::test]
async fn each_condition_finds_what_it_says() {
    let (_server, admin) = plant().await.with_admin();
    let group = admin.read(&address("type eq 'plat_DeviceGroup'")).await;
    let group = ids(&group, "managedObjects").remove(0);

    let rows = [
        // Comparisons are strict in case and type.
        ("name eq 'pump 1'", vec!["pump 1"]),
        ("name eq 'Pump 1'", vec![]),
        ("name eq 'pump*'", vec!["pump 1", "pump 12"]),
        ("name eq '*1*'", vec!["pump 1", "pump 12"]),
        ("name ne 'pump*'", vec!["motor", "group", "-"]),
        ("name gt 'motor'", vec!["pump 1", "pump 12"]),
        ("name eq null", vec!["-"]),
        ("type eq 'plan'", vec!["-"]),
        ("owner eq 'admin' and name eq 'group'", vec!["group"]),
        ("plat_Hardware.model eq 'RX1'", vec!["pump 1"]),
        ("plat_Hardware.model eq 'RX*'", vec!["pump 1", "pump 12"]),
        ("plat_Hardware.revision eq 3", vec!["pump 1"]),
        ("plat_Hardware.revision eq '3'", vec!["motor"]),
        ("plat_Hardware.revision gt 3", vec!["pump 12"]),
        ("on eq true", vec!["motor"]),
        ("on ne true", vec!["pump 1", "pump 12", "group", "-"]),
        ("on eq null and has(plat_IsDevice)", vec!["pump 1", "pump 12"]),
        // An array matches when any of its elements does.
        ("tags eq 'loud'", vec!["pump 1"]),
        ("tags eq '*r*'", vec!["pump 12"]),
        ("tags ne 'loud' and has(tags)", vec!["pump 12"]),
        // `has` looks at fragments, inside them, and at standard members.
        ("has(plat_IsDevice)", vec!["pump 1", "pump 12", "motor"]),
        ("has(plat_Hardware.model) and has(on)", vec!["motor"]),
        ("not(has(plat_IsDevice))", vec!["group", "-"]),
        ("has(name)", vec!["pump 1", "pump 12", "motor", "group"]),
        ("not has(name) or not has(creationTime.date)", vec!["-"]),
        // A group gives its direct child assets.
        (&*format!("bygroupid({group})"), vec!["pump 1", "pump 12"]),
        (&*format!("not bygroupid({group}) and has(plat_IsDevice)"), vec!["motor"]),
        ("bygroupid(4711)", vec![]),
        // Dates compare as instants.
        ("sold.date eq '2015-10-24T08:00:53Z'", vec!["pump 1"]),
        ("sold.date gt '2015-10-24T10:00:52+02:00'", vec!["pump 1", "pump 12"]),
        ("creationTime.date lt '2015-10-24T08:00:53Z'", vec![]),
        ("lastUpdated gt '2015-10-24' and has(on)", vec!["motor"]),
        // Filter and order may be named.
        ("$filter=has(plat_IsDevice) $orderby=name desc", vec!["pump 12", "pump 1", "motor"]),
        ("$orderby=name", vec!["group", "motor", "pump 1", "pump 12", "-"]),
        (
            "$filter=has(plat_IsDevice) $orderby=type desc,plat_Hardware.revision desc",
            vec!["pump 12", "pump 1", "motor"],
        ),
    ];
    let rows = rows.map(|(query, expected)| (query, (query, expected)));
    check_rows(rows, async |(query, expected)| assert_eq!(found(&admin, query).await, expected)).await;
}

#[tokio::test]
async fn sorted_result_is_paged_in_its_order() {
    let (_server, admin) = plant().await.with_admin();

    let pages = admin.pages(&format!("{OBJECTS}?pageSize=2&withTotalPages=true&query=$orderby=name")).await;

    assert!(pages.iter().all(|page| page["statistics"]["totalPages"] == 3), "{pages:?}");
    let objects = pages.iter().flat_map(|page| page["managedObjects"].as_array().unwrap());
    let seen: Vec<_> = objects.map(|object| &object["name"]).collect();
    assert_eq!(json!(seen), json!(["group", "motor", "pump 1", "pump 12", null]));
}

#[tokio::test]
async fn query_makes_type_fragment_type_and_text_ignored_but_not_the_owner() {
    let (_server, admin) = plant().await.with_admin();
    let address = address("has(on)");

    for ignored in ["type=none", "fragmentType=none", "text=none"] {
        let page = admin.read(&format!("{address}&{ignored}")).await;
        assert_eq!(ids(&page, "managedObjects").len(), 1, "{ignored}");
    }
    let page = admin.read(&format!("{address}&owner=nobody")).await;
    assert_eq!(ids(&page, "managedObjects").len(), 0);
}

#[tokio::test]
async fn wrong_query_is_422_and_names_place_and_expectation() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.get(&address("name eq pump")).await.expect_error(422, "undefined/validationError");
    assert!(answer.message().contains("character 9"), "{}", answer.text);
    for query in
        ["", " ", "(", "name", "name eq 'a\0'", &"not ".repeat(1000), &"x".repeat(9000), "a eq 1e999"]
    {
        admin.get(&address(query)).await.expect(422);
    }
}

#[tokio::test]
async fn name_that_no_fragment_can_have_is_422_and_names_its_place() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (query, place) in [
        ("$type ne 'x'", 1),
        ("not($type eq 'x')", 5),
        ("=type ne 'x'", 1),
        ("filter=type ne 'x'", 1),
        ("type.x ne 'x'", 1),
        ("not(childDevices.x eq 'x')", 5),
        ("has(a) and self ne 'x'", 12),
        ("$filter=has(a) $orderby=$type", 25),
    ] {
        let answer = admin.get(&address(query)).await.expect_error(422, "undefined/validationError");
        assert!(answer.message().contains(&format!("character {place}:")), "{query}: {}", answer.text);
    }
    for name in ["", "$type", "%3Dtype", "a%20b", "a.b"] {
        admin.get(&format!("{OBJECTS}?fragmentType={name}")).await.expect_message(422, "'fragmentType'");
    }
}

/// Returns the ids of the objects of whose creation a subscription with this filter is notified (B-35).
fn notified(filter: &str, objects: &[Value]) -> Vec<String> {
    let filter = NotificationFilter::compile(filter).unwrap();
    let matches = |object: &&Value| {
        let change = json!({"realtimeAction": "CREATE", "data": object}).to_string();
        filter.matches(&Content::of(&change))
    };
    objects.iter().filter(matches).map(|object| object["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the ids of the objects that would be members of a group with this query if they were devices (B-39).
fn members_of(query: &str, objects: &[Value]) -> Vec<String> {
    let membership = Membership::of_query(query).unwrap();
    let includes = |object: &&Value| {
        let mut device = (*object).clone();
        device["plat_IsDevice"] = json!({});
        membership.includes(&Content::of(&device.to_string())).unwrap()
    };
    objects.iter().filter(includes).map(|object| object["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn any_condition_finds_what_a_plain_reading_of_it_finds() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let mut random = TestRunner::deterministic();
    let mut objects = Vec::new();
    for _ in 0..60 {
        let body = bodies().new_tree(&mut random).unwrap().current();
        objects.push(admin.create(OBJECTS, &body).await);
    }
    let id = |object: &Value| object["id"].as_str().unwrap().to_owned();
    let group = id(&objects[0]);
    let members: Vec<String> = objects[1..20].iter().map(id).collect();
    for member in &members {
        link(&server, "childAssets", group.parse().unwrap(), member.parse().unwrap()).await;
    }

    let expression = expressions();
    let mut hits = 0;
    for _ in 0..CASES {
        let expr = expression.new_tree(&mut random).unwrap().current();
        let text = expr.text(&group);
        let answer = admin.get(&address(&text)).await.expect(200);
        let expected: Vec<String> =
            objects.iter().filter(|object| expr.holds(object, &members)).map(id).collect();
        let given = ids(&answer.json(), "managedObjects");
        let odd: Vec<&Value> = objects
            .iter()
            .filter(|object| expected.contains(&id(object)) != given.contains(&id(object)))
            .collect();
        assert_eq!(given, expected, "{text}\ndiffers in {odd:#?}");
        // A filter of notifications has no condition that needs the database.
        if !text.contains("bygroupid(") {
            assert_eq!(notified(&text, &objects), given, "{text} as a filter of notifications");
            assert_eq!(members_of(&text, &objects), given, "{text} as the query of a group");
        }
        hits += usize::from(!expected.is_empty() && expected.len() < objects.len());
    }
    assert!(hits > CASES / 4, "the test tells something: {hits} of {CASES} conditions split the objects");
}

#[tokio::test]
async fn any_path_sorts_numbers_before_texts_before_the_rest() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut random = TestRunner::deterministic();
    let mut objects = Vec::new();
    for _ in 0..40 {
        let body = bodies().new_tree(&mut random).unwrap().current();
        objects.push(admin.create(OBJECTS, &body).await);
    }

    for _ in 0..60 {
        let path = paths().new_tree(&mut random).unwrap().current();
        if path.len() > 1 && path.last().unwrap() == "date" {
            continue;
        }
        let key = |object: &Value| match at(object, &path).first() {
            Some(Value::Number(number)) => (0, number.as_f64().unwrap(), String::new()),
            Some(Value::String(text)) => (1, 0.0, text.clone()),
            _ => (2, 0.0, String::new()),
        };
        for direction in ["asc", "desc"] {
            let mut expected: Vec<&Value> = objects.iter().collect();
            // A stable sort: ties stay by ascending id.
            expected.sort_by(|a, b| {
                let ascending = key(a).partial_cmp(&key(b)).unwrap();
                if direction == "asc" { ascending } else { ascending.reverse() }
            });
            let expected: Vec<&str> = expected.iter().map(|object| object["id"].as_str().unwrap()).collect();
            let page = admin.read(&address(&format!("$orderby={} {direction}", path.join(".")))).await;
            assert_eq!(ids(&page, "managedObjects"), expected, "{path:?} {direction}");
        }
    }
}
