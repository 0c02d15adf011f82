//! Forwarded addresses are accepted only from trusted proxies, and only the value that the nearest proxy set.

use super::*;

const FORWARDED: (&str, &str) = ("X-Forwarded-Host", "plant7.example.com");

#[tokio::test]
async fn what_a_stranger_forwards_changes_neither_tenant_nor_links() {
    let server = two_tenants(|_| {}).await;
    let headers = [FORWARDED, ("X-Forwarded-Proto", "https"), ("X-Forwarded-Port", "444")];

    assert_eq!(sees(&server.admin(), &headers).await, seen("main", server.base()));
}

#[tokio::test]
async fn what_a_trusted_proxy_forwards_decides_tenant_and_links() {
    let (server, admin) = two_tenants(behind_a_proxy).await.with_admin();

    for (proto, scheme) in
        [("https", "https"), ("HTTPS", "https"), ("http", "http"), ("ws", "http"), ("", "http")]
    {
        let headers = [FORWARDED, ("X-Forwarded-Proto", proto)];
        assert_eq!(
            sees(&admin, &headers).await,
            seen("t7", &format!("{scheme}://plant7.example.com")),
            "{proto}"
        );
    }
    // The caller is also cached for the forwarded host.
    assert_eq!(sees(&admin, &[]).await, seen("main", server.base()));
    assert_eq!(sees(&admin, &[FORWARDED]).await.1, "in t7");
}

#[tokio::test]
async fn of_several_values_the_one_of_the_nearest_proxy_counts() {
    let (_server, admin) = two_tenants(behind_a_proxy).await.with_admin();

    let one_line =
        [("X-Forwarded-Host", "evil.example.org, plant7.example.com"), ("X-Forwarded-Proto", "http,https")];
    let lines = [("X-Forwarded-Host", "evil.example.org"), FORWARDED, ("X-Forwarded-Proto", "https")];
    for headers in [&one_line[..], &lines] {
        assert_eq!(sees(&admin, headers).await, seen("t7", "https://plant7.example.com"), "{headers:?}");
    }
}

#[tokio::test]
async fn forwarded_host_may_have_a_port_or_be_an_address() {
    let (_server, admin) = two_tenants(behind_a_proxy).await.with_admin();

    for (host, tenant) in [
        ("plant7.example.com:8443", "t7"),
        ("192.0.2.7:81", "main"),
        ("[2001:db8::7]", "main"),
        ("[2001:db8::7]:8443", "main"),
    ] {
        let headers = [("X-Forwarded-Host", host), ("X-Forwarded-Proto", "https")];
        assert_eq!(sees(&admin, &headers).await, seen(tenant, &format!("https://{host}")));
    }
}

#[tokio::test]
async fn forwarded_junk_counts_as_not_forwarded() {
    let (_server, admin) = two_tenants(behind_a_proxy).await.with_admin();
    let long = "a".repeat(300);

    for junk in [
        "",
        ",",
        "evil.example.org,",
        "a b",
        "a/b",
        "a@b",
        "\"><script>",
        "a:b",
        "a:70000",
        "[::1",
        "::1",
        "unknown host",
        &long,
    ] {
        let headers =
            [("X-Forwarded-Host", junk), ("X-Forwarded-Proto", junk), ("Host", "plant7.example.com")];
        assert_eq!(sees(&admin, &headers).await, seen("t7", "http://plant7.example.com"), "{junk}");
    }
}

#[tokio::test]
async fn forwarded_port_is_not_read() {
    let server = two_tenants(behind_a_proxy).await;

    let headers = [FORWARDED, ("X-Forwarded-Port", "8443")];

    assert_eq!(sees(&server.admin(), &headers).await, seen("t7", "http://plant7.example.com"));
}

#[tokio::test]
async fn location_and_notifications_start_with_the_forwarded_address() {
    let (_server, admin) = two_tenants(behind_a_proxy).await.with_admin();
    let session = admin.listen("/managedobjects/*").await;

    let request = admin.request("POST", OBJECTS).header("X-Forwarded-Host", "things.example.com");
    let request = request.header("X-Forwarded-Proto", "https").json(&json!({"name": "pump"}));
    let location = request.send().await.header("Location").unwrap().to_owned();

    assert!(location.starts_with("https://things.example.com/"), "{location}");
    let told = session.glance_until_told().await;
    assert_eq!(told[0]["data"]["data"]["self"], json!(location));
}
