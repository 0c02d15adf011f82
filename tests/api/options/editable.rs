//! `PUT /tenant/options/<category>/<key>/editable`.

use super::*;

const HOST: &str = "/tenant/options/mail/host";
const EDITABLE: &str = "/tenant/options/mail/host/editable";

#[tokio::test]
async fn option_that_is_not_editable_is_403_to_write_and_200_to_read() {
    let server = TestServer::start().await;
    let admin = management(&server);
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;

    let answer = admin.put(EDITABLE, &json!({"editable": "false"})).await;

    assert_eq!((answer.status, &answer.json()["value"]), (200, &json!("a")), "{}", answer.text);
    for (method, path) in [("POST", OPTIONS), ("PUT", HOST), ("DELETE", HOST)] {
        let answer = admin.request(method, path).json(&option_of("mail", "host", "b")).send().await;
        assert_eq!((answer.status, answer.error().as_str()), (403, "security/Forbidden"), "{method}");
        assert!(answer.message().contains("not editable"), "{}", answer.message());
    }
    assert_eq!(admin.read(HOST).await["value"], "a");
}

#[tokio::test]
async fn editable_again_may_be_written_again() {
    let server = TestServer::start().await;
    let admin = management(&server);
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;

    for (editable, status) in
        [(json!("false"), 403), (json!("true"), 200), (json!(false), 403), (json!(true), 200)]
    {
        assert_eq!(admin.put(EDITABLE, &json!({"editable": editable})).await.status, 200, "{editable}");
        assert_eq!(admin.put(HOST, &json!({"value": "b"})).await.status, status, "{editable}");
    }
}

#[tokio::test]
async fn management_says_so_of_the_options_of_other_tenants() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;
    let predefined = "/tenant/options/access.control/allow.origin";

    for path in [HOST, predefined] {
        management(&server)
            .put(&format!("{path}/editable?tenantId=main"), &json!({"editable": "false"}))
            .await
            .expect(200);
        assert_eq!(admin.put(path, &json!({"value": "b"})).await.status, 403, "{path}");
        assert_eq!(admin.delete(path).await.status, 403, "{path}");
    }
    assert_eq!(admin.read(predefined).await["value"], "*");
    assert_eq!(management(&server).put(predefined, &json!({"value": "b"})).await.status, 200);
}

#[tokio::test]
async fn only_management_says_what_is_editable() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "host", "a")).await;

    assert_eq!(admin.put(EDITABLE, &json!({"editable": "false"})).await.status, 403);
    assert_eq!(admin.put(HOST, &json!({"value": "b"})).await.status, 200);
}

#[tokio::test]
async fn unknown_option_or_tenant_is_404_and_a_wrong_body_422() {
    let server = TestServer::start().await;
    let management = management(&server);
    management.create(OPTIONS, &option_of("mail", "host", "a")).await;

    for path in [
        "/tenant/options/mail/unknown/editable",
        "/tenant/options/mail/host/editable?tenantId=main",
        "/tenant/options/mail/host/editable?tenantId=unknown",
        "/tenant/options/access.control/allow.origin/editable?tenantId=unknown",
        "/tenant/options/mail/host/editable?tenantId=%00",
    ] {
        management.put(path, &json!({"editable": "false"})).await.expect_error(404, "tenants/Not Found");
    }
    for body in [json!({}), json!({"editable": "no"}), json!({"editable": 0}), json!({"editable": null})] {
        assert_eq!(management.put(EDITABLE, &body).await.status, 422, "{body}");
    }
}
