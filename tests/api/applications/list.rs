//! `GET /application/applications` and the lists by name, owner and tenant (W-08, P-01 to P-06).

use super::*;

#[tokio::test]
async fn applications_are_a_collection_in_the_order_of_their_creation() {
    let (_server, admin) = TestServer::start().await.with_admin();
    for name in ["z", "a", "m"] {
        create(&admin, &hosted(name)).await;
    }

    let answer = admin.get(&format!("{APPLICATIONS}?pageSize=100")).await;

    answer.expect_media("applicationCollection");
    let page = answer.json();
    assert_eq!(member_texts(&page, "applications", "name")[STANDARD..], ["z", "a", "m"]);
    let mut numbers: Vec<i64> = ids(&page, "applications").iter().map(|id| id.parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    numbers.dedup();
    assert_eq!(numbers.len(), STANDARD + 3);
    assert_eq!(page["statistics"], json!({"pageSize": 100, "currentPage": 1}));
    assert_eq!(
        page["applications"][STANDARD],
        admin.read(&format!("{APPLICATIONS}/{}", numbers[STANDARD])).await
    );
}

#[tokio::test]
async fn next_links_lead_through_everything_a_tenant_sees_once() {
    let (server, database) = with_two_tenants().await;
    let (admin, plant7) = (server.admin(), plant7(&server));
    for n in 0..9 {
        // The applications are owned, in the market, subscribed, or both owned and in the market: each appears once.
        let (owner, availability) = match n % 3 {
            0 => (&admin, "PRIVATE"),
            1 => (&plant7, "MARKET"),
            _ => (&plant7, "PRIVATE"),
        };
        let body = with(hosted(&format!("web{n}")), "availability", json!(availability));
        let application = create(owner, &body).await;
        subscribe(&database, "main", &application).await;
    }

    let mut names = Vec::new();
    let mut link = Some(format!("{APPLICATIONS}?pageSize=2&withTotalPages=true"));
    let mut pages = 0;
    while let Some(path) = link {
        let page = admin.read(&path).await;
        names.extend(member_texts(&page, "applications", "name"));
        pages += 1;
        assert_eq!(page["statistics"], json!({"totalPages": 9, "pageSize": 2, "currentPage": pages}));
        assert_eq!(page["prev"].is_string(), pages > 1, "{page}");
        let number = format!("{APPLICATIONS}?pageSize=2&currentPage={pages}");
        assert_eq!(admin.read(&number).await["applications"], page["applications"]);
        link = page["next"].as_str().map(ToOwned::to_owned);
    }

    let expected: Vec<String> = (0..9).map(|n| format!("web{n}")).collect();
    assert_eq!((pages, &names[STANDARD..]), (9, &expected[..]));
    let beyond = admin.read(&format!("{APPLICATIONS}?pageSize=2&currentPage=10")).await;
    assert_eq!((&beyond["applications"], beyond["next"].is_null()), (&json!([]), true));
}

#[tokio::test]
async fn wrong_parameters_are_422_and_hostile_places_harmless() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let lists = [
        APPLICATIONS,
        "/application/applicationsByName/a",
        "/application/applicationsByOwner/main",
        "/application/applicationsByTenant/main",
    ];

    for list in lists {
        for query in ["pageSize=0", "currentPage=-1", "pageSize=x", "withTotalPages=perhaps"] {
            assert_eq!(admin.get(&format!("{list}?{query}")).await.status, 422, "{list}?{query}");
        }
        for query in [
            "after=1_n_%27%3B--",
            "after=1_0_9223372036854775807",
            "after=1_0_-9223372036854775808",
            "after=x",
            "currentPage=2147483647&pageSize=2000",
        ] {
            let status = admin.get(&format!("{list}?{query}")).await.status;
            assert!([200, 422].contains(&status), "{list}?{query}: {status}");
        }
    }
}

#[tokio::test]
async fn list_by_name_has_the_visible_ones_of_every_owner() {
    let (server, database) = with_two_tenants().await;
    let (main, plant7) = (server.admin(), plant7(&server));
    let named = |key: &str, availability: &str| {
        let body = with(hosted("pump"), "key", json!(key));
        with(with(body, "contextPath", json!(key)), "availability", json!(availability))
    };
    let own = create(&main, &named("a", "PRIVATE")).await;
    let of_market = create(&plant7, &named("b", "MARKET")).await;
    let subscribed = create(&management(&server), &named("c", "PRIVATE")).await;
    subscribe(&database, "main", &subscribed).await;
    create(&main, &hosted("pump2")).await;

    let by_name = "/application/applicationsByName/pump";
    let seen = main.read(by_name).await;

    let found: Vec<String> =
        ids(&seen, "applications").iter().map(|id| format!("{APPLICATIONS}/{id}")).collect();
    assert_eq!(found, [own.clone(), of_market.clone(), subscribed]);
    assert_eq!(ids(&plant7.read(by_name).await, "applications").len(), 1);
    assert_eq!(main.read("/application/applicationsByName/Pump").await["applications"], json!([]));
    let page = main.read(&format!("{by_name}?pageSize=1&currentPage=2&withTotalPages=true")).await;
    assert_eq!(format!("{APPLICATIONS}/{}", page["applications"][0]["id"].as_str().unwrap()), of_market);
    assert_eq!(page["statistics"]["totalPages"], 3);
    assert!(page["next"].is_string() && page["prev"].is_string(), "{page}");
}

#[tokio::test]
async fn name_of_any_letters_is_found() {
    let (_server, admin) = TestServer::start().await.with_admin();
    create(&admin, &with(hosted("x"), "name", json!("Pümpe & 7 \"α\""))).await;

    let path = "/application/applicationsByName/P%C3%BCmpe%20&%207%20%22%CE%B1%22";

    assert_eq!(names_in(&admin, path).await.len(), 1);
}

#[tokio::test]
async fn list_by_owner_has_all_of_ones_own_and_what_one_sees_of_others() {
    let (server, database) = with_two_tenants().await;
    let (main, plant7) = (server.admin(), plant7(&server));
    create(&main, &hosted("private")).await;
    create(&main, &with(hosted("market"), "availability", json!("MARKET"))).await;
    let subscribed = create(&main, &hosted("subscribed")).await;
    subscribe(&database, "plant7", &subscribed).await;
    create(&plant7, &hosted("other")).await;

    let of_main = "/application/applicationsByOwner/main";

    assert_eq!(names_in(&main, of_main).await, ["private", "market", "subscribed"]);
    assert_eq!(names_in(&plant7, of_main).await, ["market", "subscribed"]);
    assert_eq!(names_in(&management(&server), of_main).await, ["market"]);
    assert_eq!(names_in(&main, "/application/applicationsByOwner/unknown").await, [""; 0]);
    let count = main.read(&format!("{of_main}?pageSize=1&withTotalPages=true")).await;
    assert_eq!(count["statistics"]["totalPages"], 3);
}

#[tokio::test]
async fn list_by_tenant_has_what_it_subscribes_to() {
    let (server, database) = with_two_tenants().await;
    let (main, plant7) = (server.admin(), plant7(&server));
    let service = create(&main, &microservice("service")).await;
    let web = create(&main, &with(hosted("web"), "availability", json!("MARKET"))).await;
    create(&plant7, &hosted("own")).await;
    for application in [&web, &service] {
        subscribe(&database, "plant7", application).await;
    }

    let of_plant7 = "/application/applicationsByTenant/plant7";

    assert_eq!(names_in(&plant7, of_plant7).await, ["service", "web"]);
    assert_eq!(names_in(&main, "/application/applicationsByTenant/main").await, [""; 0]);
    let count = plant7.read(&format!("{of_plant7}?pageSize=1&withTotalPages=true")).await;
    assert_eq!((&count["statistics"]["totalPages"], count["next"].is_string()), (&json!(2), true));
}

#[tokio::test]
async fn list_by_another_tenant_is_for_who_looks_after_it() {
    let (server, database) = with_two_tenants().await;
    let main = server.admin();
    let service = create(&main, &microservice("service")).await;
    subscribe(&database, "plant7", &service).await;
    database.execute("UPDATE tenants SET parent = 'main' WHERE id = 'plant7'", &[]).await;
    let reader = server.user_with("reader", &["ROLE_APPLICATION_MANAGEMENT_READ"]).await;
    let of_plant7 = "/application/applicationsByTenant/plant7";

    assert_eq!(names_in(&management(&server), of_plant7).await, ["service"]);
    assert_eq!(names_in(&main, of_plant7).await, ["service"]);
    assert_eq!(reader.get(of_plant7).await.status, 403);
    database.execute("UPDATE tenants SET parent = NULL WHERE id = 'plant7'", &[]).await;
    for foreign in ["plant7", "management", "unknown"] {
        let answer = main.get(&format!("/application/applicationsByTenant/{foreign}")).await;
        assert_eq!((answer.status, answer.error().as_str()), (403, "security/Forbidden"), "{foreign}");
    }
    let unknown = management(&server).get("/application/applicationsByTenant/unknown").await;
    assert_eq!((unknown.status, unknown.error().as_str()), (404, "tenants/Not Found"));
}

#[tokio::test]
async fn only_the_read_role_may_list() {
    let server = TestServer::start().await;

    for (role, status) in [
        ("ROLE_APPLICATION_MANAGEMENT_READ", 200),
        ("ROLE_APPLICATION_MANAGEMENT_ADMIN", 403),
        ("ROLE_APPLICATION_READ", 403),
    ] {
        let caller = server.user_with(role, &[role]).await;
        for list in [
            APPLICATIONS,
            "/application/applicationsByName/a",
            "/application/applicationsByOwner/main",
            "/application/applicationsByTenant/main",
        ] {
            assert_eq!(caller.get(list).await.status, status, "{role} {list}");
        }
    }
}
