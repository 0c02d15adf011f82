//! `GET /tenant/options`.

use super::*;

fn names(page: &Value) -> Vec<String> {
    let name = |option: &Value| {
        format!("{}/{}", option["category"].as_str().unwrap(), option["key"].as_str().unwrap())
    };
    page["options"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn options_are_sorted_by_category_and_key_and_always_counted() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for (category, key) in [("b", "b"), ("b", "B"), ("B", "z"), ("b", "a"), ("a b", "c")] {
        admin.create(OPTIONS, &option_of(category, key, "v")).await;
    }

    let answer = admin.get("/tenant/options?pageSize=10&withTotalPages=true").await;

    let page = answer.json();
    let expected = ["B/z", "a b/c", "access.control/allow.origin", "b/B", "b/a", "b/b"];
    assert_eq!(names(&page), expected);
    assert_eq!(page["statistics"], json!({"totalPages": 1, "pageSize": 10, "currentPage": 1}));
    answer.expect_media("optionCollection");
}

#[tokio::test]
async fn next_links_lead_through_all_options_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for n in 0..9 {
        admin.create(OPTIONS, &option_of(&format!("c {}", n % 3), &format!("k&{n}"), "v")).await;
    }
    let all = names(&admin.read("/tenant/options?pageSize=100").await);

    let pages = admin.pages(&format!("{OPTIONS}?pageSize=3&withTotalPages=true")).await;

    assert!(pages.iter().all(|page| page["statistics"]["totalPages"] == 4), "{pages:?}");
    let seen: Vec<_> = pages.iter().flat_map(names).collect();
    assert_eq!((seen.len(), &seen), (10, &all));
    assert_eq!(names(&admin.read("/tenant/options?pageSize=3&currentPage=2").await), all[3..6]);
}

#[tokio::test]
async fn wrong_parameters_are_422_and_hostile_places_harmless() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for query in ["pageSize=0", "currentPage=x"] {
        assert_eq!(admin.get(&format!("{OPTIONS}?{query}")).await.status, 422, "{query}");
    }
    for query in ["after=1_n_%27--", "after=1_n_a%0Ab%0Ac", "after=1_n_%00", "after=1_n_", "after=1_0_7"] {
        let status = admin.get(&format!("{OPTIONS}?{query}")).await.status;
        assert!([200, 422].contains(&status), "{query}: {status}");
    }
}
