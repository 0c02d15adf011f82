//! Tests who may read entry resources, and with which media type.

use super::*;

/// Paths, media types, and the roles of which one is needed.
const ENTRIES: [(&str, &str, &[&str]); 11] = [
    ("/platform", "platformApi", &[]),
    ("/inventory", "inventoryApi", &[]),
    ("/identity", "identityApi", &["ROLE_IDENTITY_READ"]),
    ("/alarm", "alarmApi", &["ROLE_ALARM_READ"]),
    ("/event", "eventApi", &["ROLE_EVENT_READ"]),
    ("/measurement", "measurementApi", &["ROLE_MEASUREMENT_READ"]),
    ("/devicecontrol", "devicecontrolApi", &["ROLE_DEVICE_CONTROL_READ"]),
    ("/audit", "auditApi", &["ROLE_AUDIT_READ"]),
    ("/user", "userApi", &[]),
    ("/application", "applicationApi", &["ROLE_APPLICATION_READ", "ROLE_APPLICATION_MANAGEMENT_READ"]),
    ("/cep", "cepApi", &["ROLE_CEP_MANAGEMENT_READ"]),
];

#[tokio::test]
async fn entry_resource_is_given_as_its_own_media_type() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (path, name, _) in ENTRIES {
        let media = format!("{MEDIA}{name}+json");
        let answer = admin.request("GET", path).header("Accept", &media).send().await.expect(200);
        assert!(answer.header("Content-Type").unwrap().starts_with(&media), "{path}");
        let other = format!("{MEDIA}alarm+json");
        assert_eq!(admin.request("GET", path).header("Accept", &other).send().await.status, 406, "{path}");
    }
}

#[tokio::test]
async fn entry_resource_without_a_role_is_open_to_every_user_and_the_others_are_403() {
    let server = TestServer::shared().await;
    let nobody = server.user_with("nobody", &[]).await;
    let stranger = server.stranger();

    for (path, _, roles) in ENTRIES {
        let wanted = if roles.is_empty() { 200 } else { 403 };
        assert_eq!(nobody.get(path).await.status, wanted, "{path}");
        assert_eq!(stranger.get(path).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn each_role_of_an_entry_resource_opens_it() {
    let server = TestServer::shared().await;

    for (path, _, roles) in ENTRIES {
        for role in roles {
            let caller = server.user_with(role, &[role]).await;
            assert_eq!(caller.get(path).await.status, 200, "{path} {role}");
        }
    }
}

#[tokio::test]
async fn other_methods_are_405() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (path, _, _) in ENTRIES {
        for method in ["POST", "PUT", "DELETE"] {
            let answer = admin.request(method, path).body("{}").send().await;
            assert_eq!((answer.status, answer.header("Allow")), (405, Some("GET")), "{method} {path}");
        }
    }
}
