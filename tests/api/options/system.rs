//! `GET /tenant/system/options`.

use super::*;

const SYSTEM: &str = "/tenant/system/options";

#[tokio::test]
async fn version_of_the_server_is_an_option() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let option = admin.read("/tenant/system/options/system/version").await;

    let expected = json!({
        "self": "<base>/tenant/system/options/system/version",
        "category": "system",
        "key": "version",
        "value": env!("CARGO_PKG_VERSION"),
    });
    assert_eq!(redacted(&option, &[(server.base(), "<base>")]), expected);
}

#[tokio::test]
async fn system_options_are_listed_with_their_links() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let page = admin.read(&format!("{SYSTEM}?pageSize=100&withTotalPages=true")).await;

    let options = page["options"].as_array().unwrap();
    assert_eq!(page["statistics"]["totalPages"], 1);
    for option in options {
        assert_eq!(&admin.read(option["self"].as_str().unwrap()).await, option);
    }
    let second = admin.read(&format!("{SYSTEM}?pageSize=2&currentPage=2")).await;
    assert_eq!(second["options"].as_array().unwrap()[..], options[2..4]);
}

#[tokio::test]
async fn unknown_system_option_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for path in ["system/unknown", "unknown/version", "%00/x"] {
        admin.get(&format!("{SYSTEM}/{path}")).await.expect_error(404, "tenants/Not Found");
    }
}

#[tokio::test]
async fn system_options_are_read_only_and_need_the_read_role() {
    let server = TestServer::shared().await;
    let joe = server.user_with("joe", &["ROLE_OPTION_MANAGEMENT_ADMIN"]).await;

    for path in [SYSTEM, "/tenant/system/options/system/version"] {
        assert_eq!(joe.get(path).await.status, 403, "{path}");
        for method in ["POST", "PUT", "DELETE"] {
            assert_eq!(joe.request(method, path).send().await.status, 405, "{method} {path}");
        }
    }
}
