//! How commands reach a server: time limits, and certificates of an authority of one's own.

use tokio::net::TcpListener;

use super::*;

#[tokio::test]
async fn server_that_is_silent_ends_a_command_in_time() {
    let directory = scratch();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut command = Program::command(directory.path(), &["device", "list", "--timeout", "1"]);
    command.env("PLATFORM_URL", &url).env("PLATFORM_USER", USER).env("PLATFORM_PASSWORD", ADMIN_PASSWORD);

    let output = run(command, "");

    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(6) && said.contains("no response within 1 s"), "{said}");
}

#[tokio::test]
async fn authority_of_a_server_is_stored_with_its_profile() {
    let directory = scratch();
    let here = directory.path();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| here.join(name));
    std::fs::write(&cert, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let tls = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let mut command = Program::command(here, &tls);
    command.env("PLATFORM_ADMIN_PASSWORD", ADMIN_PASSWORD);
    let program = Program::serve_with(command);
    let url = program.base().replace("127.0.0.1", "localhost");

    let (code, message) = refused(here, &["login", &url, "--user", USER], ADMIN_PASSWORD);
    assert!(code == 6 && message.contains("--ca FILE"), "{code} {message}");
    let (code, message) = refused(here, &["login", &url, "--user", USER, "--ca", "key.pem"], ADMIN_PASSWORD);
    assert!(code == 6 && message.contains("no certificate in PEM"), "{code} {message}");
    printed(here, &["login", &url, "--user", USER, "--ca", "cert.pem"], ADMIN_PASSWORD);
    assert_eq!(printed(here, &["device", "list", "-o", "id"], ""), "");
    let plain = url.replace("https", "http");
    let (_, message) = refused(here, &["login", &plain, "--user", USER], ADMIN_PASSWORD);
    assert!(message.contains("https"), "{message}");
}

#[tokio::test]
async fn hint_names_a_role_only_if_a_role_is_missing() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    management.put("/tenant/tenants/main/limits", &json!({"devices": 1})).await.expect(200);
    printed(here, &["device", "create", "--name", "pump"], "");

    let (_, message) = refused(here, &["device", "create", "--name", "fan"], "");
    assert!(message.contains("403") && !message.contains("role"), "{message}");

    let _joe = server.user_with("joe", &["ROLE_ALARM_READ", "ROLE_USER_MANAGEMENT_OWN_READ"]).await;
    let password = client(here, &["user", "update", "joe", "--password", "-"], "another-secret-9\n");
    assert!(password.status.success(), "{password:?}");
    printed(here, &["login", server.base(), "--user", "main/joe", "--profile", "joe"], "another-secret-9\n");
    let (code, message) = refused(here, &["event", "list", "--profile", "joe"], "");
    assert!(code == 4 && message.contains("lacks a role"), "{code} {message}");
}
