//! `GET /tenant/tenants[/<id>]`.

use super::*;

#[tokio::test]
async fn tenants_are_sorted_by_id_and_counted_on_request() {
    let server = TestServer::start().await;
    for id in ["t9", "t10", "a_b", "a-b"] {
        create_tenant(&server, id).await;
    }

    let answer = management(&server).get(&format!("{TENANTS}?pageSize=4&withTotalPages=true")).await;

    let page = answer.json();
    let ids: Vec<&str> =
        page["tenants"].as_array().unwrap().iter().map(|tenant| tenant["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a-b", "a_b", "main", "management"]);
    assert_eq!(page["statistics"], json!({"totalPages": 2, "pageSize": 4, "currentPage": 1}));
    answer.expect_media("tenantCollection");
}

#[tokio::test]
async fn next_links_lead_through_all_tenants_once() {
    let server = TestServer::start().await;
    for n in 0..7 {
        create_tenant(&server, &format!("t{n}")).await;
    }
    let management = management(&server);

    let mut seen = Vec::new();
    let mut link = Some(format!("{TENANTS}?pageSize=2"));
    let mut pages = 0;
    while let Some(path) = link {
        let page = management.read(&path).await;
        let tenants = page["tenants"].as_array().unwrap();
        seen.extend(tenants.iter().map(|tenant| tenant["id"].as_str().unwrap().to_owned()));
        pages += 1;
        assert_eq!(page["statistics"]["currentPage"], pages);
        assert_eq!(page["prev"].is_string(), pages > 1, "{page}");
        link = page["next"].as_str().map(ToOwned::to_owned);
    }

    assert_eq!(seen, ["main", "management", "t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
    assert_eq!(pages, 5);
}

#[tokio::test]
async fn page_by_its_number_is_the_one_the_links_lead_to() {
    let server = TestServer::start().await;
    for n in 0..3 {
        create_tenant(&server, &format!("t{n}")).await;
    }
    let management = management(&server);

    let second = management.read(&format!("{TENANTS}?pageSize=2&currentPage=2")).await;
    let beyond = management.read(&format!("{TENANTS}?pageSize=2&currentPage=9&withTotalPages=true")).await;

    assert_eq!((&second["tenants"][0]["id"], &second["tenants"][1]["id"]), (&json!("t0"), &json!("t1")));
    assert_eq!((&beyond["tenants"], beyond["next"].is_null()), (&json!([]), true));
    assert_eq!(beyond["statistics"]["totalPages"], 3);
}

#[tokio::test]
async fn wrong_parameters_are_422_and_hostile_places_harmless() {
    let server = TestServer::shared().await;
    let management = management(&server);

    for query in ["pageSize=0", "currentPage=-1", "pageSize=x", "withTotalPages=perhaps"] {
        assert_eq!(management.get(&format!("{TENANTS}?{query}")).await.status, 422, "{query}");
    }
    for query in ["after=1_n_%27%3B--", "after=1_n_%00", "after=1_n_", "after=1_0_7", "after=x"] {
        let status = management.get(&format!("{TENANTS}?{query}")).await.status;
        assert!([200, 422].contains(&status), "{query}: {status}");
    }
}

#[tokio::test]
async fn only_the_read_role_may_read() {
    let server = TestServer::start().await;

    for (role, status) in [
        ("ROLE_TENANT_MANAGEMENT_READ", 200),
        ("ROLE_TENANT_MANAGEMENT_ADMIN", 403),
        ("ROLE_TENANT_MANAGEMENT_CREATE", 403),
        ("ROLE_TENANT_MANAGEMENT_UPDATE", 403),
    ] {
        let caller = manager_with(&server, role, &[role]).await;
        for path in [TENANTS, "/tenant/tenants/main"] {
            assert_eq!(caller.get(path).await.status, status, "{role} {path}");
        }
    }
}

#[tokio::test]
async fn tenant_sees_only_what_is_below_it() {
    let (server, admin) = TestServer::start().await.with_admin();
    let reseller = super::create_reseller(&server, "reseller").await;
    let other = super::create_reseller(&server, "other").await;
    reseller.create(TENANTS, &tenant_of("child")).await;

    assert_eq!(ids_seen_by(&reseller).await, ["child"]);
    assert_eq!(ids_seen_by(&other).await, [""; 0]);
    assert_eq!(ids_seen_by(&admin).await, [""; 0]);
    let all = ["child", "main", "management", "other", "reseller"];
    assert_eq!(ids_seen_by(&management(&server)).await, all);
}

#[tokio::test]
async fn invalid_id_names_no_tenant() {
    let server = TestServer::shared().await;

    for id in ["T7", "%00", "a%2Fb", "unknown", "%F0%9F%94%A5", &"x".repeat(5000)] {
        management(&server).get(&format!("{TENANTS}/{id}")).await.expect_error(404, "tenants/Not Found");
    }
}
