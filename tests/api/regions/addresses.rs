//! The label of a region before a tenant's address.

use super::*;

#[tokio::test]
async fn regional_address_means_the_tenant_behind_the_region_and_stays_in_links() {
    let (_server, admin) = two_tenants(|_| {}).await.with_admin();

    for host in
        ["jp.plant7.example.com", "us.plant7.example.com", "uk.plant7.example.com:8443", "plant7.example.com"]
    {
        assert_eq!(sees(&admin, &[("Host", host)]).await, seen("t7", &format!("http://{host}")));
    }
    assert_eq!(sees(&admin, &[("Host", "JP.Plant7.example.com")]).await.1, "in t7");
}

#[tokio::test]
async fn regional_address_of_no_tenant_means_the_default_tenant() {
    let server = two_tenants(|_| {}).await;

    for host in [
        "jp.example.com",
        "jp",
        "jp.",
        "eu.plant7.example.com",
        "jp.us.plant7.example.com",
        "jpx.plant7.example.com",
    ] {
        assert_eq!(sees(&server.admin(), &[("Host", host)]).await.1, "in main", "{host}");
    }
}

#[tokio::test]
async fn more_regions_may_be_set() {
    let server = two_tenants(|settings| settings.regions = vec!["eu".into(), "ap-1".into()]).await;
    let admin = server.admin();

    for (host, tenant) in [("eu", "in t7"), ("ap-1", "in t7"), ("jp", "in main")] {
        let host = format!("{host}.plant7.example.com");
        assert_eq!(sees(&admin, &[("Host", &host)]).await.1, tenant, "{host}");
    }
}

#[tokio::test]
async fn tenant_whose_own_domain_begins_like_a_region_goes_first() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    database.insert_tenant("t8", "jp.plant7.example.com").await;
    let server = TestServer::start_on(&database, |_| {}).await;
    for tenant in ["t7", "t8"] {
        let caller = server.caller(&format!("{tenant}/admin"), ADMIN_PASSWORD);
        caller.create(OBJECTS, &json!({"name": format!("in {tenant}")})).await;
    }

    for (host, tenant) in [("jp", "in t8"), ("us", "in t7"), ("us.jp", "in t8")] {
        let host = format!("{host}.plant7.example.com");
        assert_eq!(sees(&server.admin(), &[("Host", &host)]).await.1, tenant, "{host}");
    }
}

#[tokio::test]
async fn tenant_id_as_label_with_a_bare_user_name_is_403_behind_a_region_too() {
    let server = two_tenants(|_| {}).await;

    for host in ["t7.example.com", "jp.t7.example.com", "us.t7.example.com:80"] {
        let answer = asks(&server.admin(), &[("Host", host)]).send().await;
        assert_eq!((answer.status, &*answer.error()), (403, "security/Forbidden"), "{host}");
        let named = server.caller("t7/admin", ADMIN_PASSWORD);
        assert_eq!(sees(&named, &[("Host", host)]).await.1, "in t7", "{host}");
    }
    assert_eq!(sees(&server.admin(), &[("Host", "eu.t7.example.com")]).await.1, "in main", "eu is no region");
}

#[tokio::test]
async fn remembered_caller_is_one_of_its_host() {
    let (_server, admin) = two_tenants(|_| {}).await.with_admin();

    for _ in 0..3 {
        for (host, tenant) in [
            ("jp.plant7.example.com", "in t7"),
            ("jp.plant8.example.com", "in main"),
            ("plant7.example.com", "in t7"),
            ("jp.example.com", "in main"),
        ] {
            assert_eq!(sees(&admin, &[("Host", host)]).await.1, tenant, "{host}");
        }
    }
}

#[tokio::test]
async fn regional_address_follows_a_tenant_that_changes_its_domain() {
    let (server, admin) = two_tenants(|_| {}).await.with_admin();
    let host = ("Host", "jp.plant7.example.com");
    assert_eq!(sees(&admin, &[host]).await.1, "in t7");

    server.database().execute("UPDATE tenants SET domain = 'plant9.example.com' WHERE id = 't7'", &[]).await;
    server.database().announce("t7/").await;

    until("the new domain", async || sees(&admin, &[("Host", "jp.plant9.example.com")]).await.1 == "in t7")
        .await;
    assert_eq!(sees(&admin, &[host]).await.1, "in main");
}

#[tokio::test]
async fn rules_for_browsers_are_those_of_the_tenant_behind_the_region() {
    let server = two_tenants(|_| {}).await;
    let option =
        json!({"category": "access.control", "key": "allow.origin", "value": "https://a.example.org"});
    server.caller("t7/admin", ADMIN_PASSWORD).create("/tenant/options", &option).await;

    for (host, allowed) in [("jp.plant7.example.com", None), ("jp.example.com", Some("*"))] {
        let headers = [("Host", host), ("Origin", "https://b.example.org")];
        let answer = asks(&server.admin(), &headers).send().await;
        assert_eq!(answer.header("Access-Control-Allow-Origin"), allowed, "{host}");
    }
}

#[tokio::test]
async fn location_next_and_notifications_keep_the_regional_address() {
    let server = two_tenants(|_| {}).await;
    let admin = server.caller("t7/admin", ADMIN_PASSWORD);
    let device = admin.create_device("pump").await;
    let (host, base) = ("jp.plant7.example.com", "http://jp.plant7.example.com/");
    let session = admin.listen("/alarms/*").await;

    let raised = admin.request("POST", "/alarm/alarms").header("Host", host).json(&alarm_of(&device, "hot"));
    let location = raised.send().await.header("Location").unwrap().to_owned();
    let list =
        admin.request("GET", &format!("{OBJECTS}?pageSize=1")).header("Host", host).send().await.json();

    let told = session.glance_until_told().await;
    let alarm = &told[0]["data"]["data"];
    for link in [location.as_str(), list["next"].as_str().unwrap(), alarm["self"].as_str().unwrap()] {
        assert!(link.starts_with(base), "{link}");
    }
}

#[tokio::test]
async fn forwarded_regional_address_counts_as_if_it_were_the_host() {
    let server = two_tenants(behind_a_proxy).await;
    let headers = [("X-Forwarded-Host", "jp.plant7.example.com"), ("X-Forwarded-Proto", "https")];

    assert_eq!(sees(&server.admin(), &headers).await, seen("t7", "https://jp.plant7.example.com"));
}
