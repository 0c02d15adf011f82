//! Pages of a collection (docs/rules.md#paging; P-01, P-02, P-04, P-05, P-06).

use std::collections::BTreeSet;

use super::*;

async fn create_objects(caller: &Caller, count: usize) -> Vec<String> {
    let mut made = Vec::with_capacity(count);
    for n in 0..count {
        made.push(caller.create_device(&format!("pump {n}")).await);
    }
    made
}

/// Path and parameters of a link, in any order.
fn parts(link: &Value) -> (String, BTreeSet<String>) {
    let link = link.as_str().unwrap_or_else(|| panic!("no link: {link}"));
    let (path, query) = link.split_once('?').unwrap();
    (path.to_owned(), query.split('&').map(str::to_owned).collect())
}

#[tokio::test]
async fn each_page_is_the_part_that_its_number_and_size_say() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let made = create_objects(&admin, 25).await;
    let first = admin.read(&format!("{OBJECTS}?pageSize=10")).await;
    let changed = first["next"].as_str().unwrap().replace("currentPage=2", "currentPage=3");
    let page = |query: &str| format!("{OBJECTS}?{query}");

    check_rows(
        [
            ("first page", (page(""), 0..5, 1, 5, [false, true])),
            ("last page", (page("pageSize=20&currentPage=2"), 20..25, 2, 20, [true, false])),
            ("page by its number alone", (page("pageSize=10&currentPage=3"), 20..25, 3, 10, [true, false])),
            ("page beyond the last", (page("pageSize=2000&currentPage=7"), 25..25, 7, 2000, [true, false])),
            (
                "page far beyond the last",
                (page("pageSize=2000&currentPage=2147483647"), 25..25, 2_147_483_647, 2000, [true, false]),
            ),
            ("changed number in a link", (changed, 20..25, 3, 10, [true, false])),
            ("larger pages than there are", (page("pageSize=2001"), 0..25, 1, 2000, [false, false])),
        ],
        async |(path, expected, number, size, has_prev_and_next)| {
            let page = admin.read(&path).await;
            assert_eq!(ids(&page, "managedObjects"), made[expected]);
            assert_eq!(page["statistics"], json!({"currentPage": number, "pageSize": size}));
            let links = ["prev", "next"].map(|link| page.get(link).map(Value::is_string));
            assert_eq!(links, has_prev_and_next.map(|has| has.then_some(true)), "{page}");
            assert!(parts(&page["self"]).1.contains(&format!("pageSize={size}")), "{page}");
        },
    )
    .await;
    let last = admin.read(&page("pageSize=20&currentPage=2")).await;
    let before = admin.read(last["prev"].as_str().unwrap()).await;
    assert_eq!(ids(&before, "managedObjects"), made[..20]);
}

#[tokio::test]
async fn self_link_names_page_page_size_and_all_filters() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let page = admin.read("/alarm/alarms?status=ACTIVE,CLEARED&type=a%20b&colour=red").await;

    let (path, query) = parts(&page["self"]);
    assert_eq!(path, format!("{}/alarm/alarms", server.base()));
    for expected in ["pageSize=5", "currentPage=1", "colour=red"] {
        assert!(query.contains(expected), "{expected}: {query:?}");
    }
    let again = admin.read(page["self"].as_str().unwrap()).await;
    assert_eq!(again, page);
}

#[tokio::test]
async fn links_keep_the_filters() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for n in 0..3 {
        admin.create(OBJECTS, &json!({"type": "a&b=c +d%", "n": n})).await;
        admin.create(OBJECTS, &json!({"type": "other"})).await;
    }

    let first = admin.read(&format!("{OBJECTS}?pageSize=2&type=a%26b%3Dc%20%2Bd%25")).await;
    let second = admin.read(first["next"].as_str().unwrap()).await;

    assert_eq!((ids(&first, "managedObjects").len(), ids(&second, "managedObjects").len()), (2, 1));
    assert!(second.get("next").is_none(), "{second}");
    assert_eq!(second["managedObjects"][0]["n"], 2);
    let (_, query) = parts(&second["self"]);
    assert!(query.contains("pageSize=2") && query.contains("currentPage=2"), "{query:?}");
}

#[tokio::test]
async fn following_next_sees_each_of_25_objects_once_while_others_are_inserted() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let made = create_objects(&admin, 25).await;

    let mut seen = Vec::new();
    let mut link = Some(format!("{OBJECTS}?pageSize=4"));
    while let Some(page) = link {
        let page = admin.read(&page).await;
        seen.extend(ids(&page, "managedObjects"));
        link = page.get("next").map(|next| next.as_str().unwrap().to_owned());
        if seen.len() < 25 {
            create_objects(&admin, 2).await;
        }
    }

    assert_eq!(seen[..25], made, "in ascending order");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len(), "none twice");
}

#[tokio::test]
async fn following_next_sees_each_of_25_alarms_once_while_newer_ones_arrive() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut made = Vec::new();
    for n in 0..25 {
        let mut alarm = alarm_of(&device, &format!("old {n}"));
        // Several at one time: their order is that of their ids.
        alarm["time"] = json!(format!("2024-03-10T02:30:0{}.000Z", n / 5));
        made.push(admin.create("/alarm/alarms", &alarm).await["id"].as_str().unwrap().to_owned());
    }

    let mut seen = Vec::new();
    let mut link = Some("/alarm/alarms?pageSize=4".to_owned());
    while let Some(page) = link {
        let page = admin.read(&page).await;
        seen.extend(ids(&page, "alarms"));
        link = page.get("next").map(|next| next.as_str().unwrap().to_owned());
        let mut newer = alarm_of(&device, &format!("new {}", seen.len()));
        newer["time"] = json!("2024-03-11T00:00:00Z");
        admin.create("/alarm/alarms", &newer).await;
    }

    made.reverse();
    assert_eq!(seen, made, "newest first, then by descending id");
}

#[tokio::test]
async fn following_next_works_for_times_that_differ_by_microseconds() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut made = Vec::new();
    for (n, year) in [2024, 2024, 2024, 9998, 9998, 9998].into_iter().enumerate() {
        let mut alarm = alarm_of(&device, &format!("type {n}"));
        alarm["time"] = json!(format!("{year}-12-31T23:59:59.99999{n}Z"));
        made.push(admin.create("/alarm/alarms", &alarm).await["id"].as_str().unwrap().to_owned());
    }

    made.reverse();
    assert_eq!(admin.ids_of_pages("/alarm/alarms?pageSize=1", "alarms").await, made);
}

#[tokio::test]
async fn page_size_and_page_below_1_or_no_number_are_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for query in [
        "pageSize=0",
        "pageSize=-1",
        "pageSize=five",
        "pageSize=",
        "pageSize=1.5",
        "currentPage=0",
        "currentPage=-2",
        "currentPage=first",
        "currentPage=99999999999999999999",
        "withTotalPages=maybe",
    ] {
        for path in [OBJECTS, "/alarm/alarms"] {
            admin.get(&format!("{path}?{query}")).await.expect(422);
        }
    }
}

#[tokio::test]
async fn broken_position_in_a_link_is_not_a_server_error() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    create_objects(&admin, 3).await;
    let first = admin.read(&format!("{OBJECTS}?pageSize=1")).await;
    let next = first["next"].as_str().unwrap();
    let numbers = |c: char| if c.is_ascii_digit() { '9' } else { c };
    let (place, position) = next.rsplit_once('=').unwrap();

    for changed in [
        format!("{place}="),
        format!("{place}=x"),
        format!("{place}={}", position.chars().map(numbers).collect::<String>()),
        format!("{place}={}", position.replace(|c: char| c.is_ascii_digit(), "99999")),
    ] {
        let answer = admin.get(&changed).await;
        assert!([200, 422].contains(&answer.status), "{changed}: {} {}", answer.status, answer.text);
    }
}
