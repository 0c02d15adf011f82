//! `platform admin token client`, beside a running server.

use std::path::Path;

use super::*;

/// Runs a command that must succeed and returns the words it printed.
pub(crate) fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = run(Program::command(directory, arguments), "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail and returns what it said.
pub(crate) fn fail(directory: &Path, arguments: &[&str]) -> String {
    let output = run(Program::command(directory, arguments), "");
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

async fn ask(program: &Program, printed: &str) -> crate::harness::Response {
    let (id, secret) = printed.trim_end().split_once(' ').unwrap();
    let body = json!({"grantType": "client_credentials", "clientId": id, "clientSecret": secret});
    Caller::new(program.base(), None).request("POST", TOKENS).json(&body).send().await
}

#[tokio::test]
async fn client_is_created_listed_and_deleted_beside_a_running_server() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let create = [
        "admin",
        "token",
        "client",
        "create",
        "main",
        "--user",
        "admin",
        "--name",
        "a dashboard",
        "--scope",
        "READ",
    ];

    let printed = succeed(directory.path(), &create);

    let issued = ask(&program, &printed).await;
    assert_eq!((issued.status, issued.json()["scope"].as_str()), (200, Some("READ")));
    let bearer = Caller::new(program.base(), None).with_token(issued.json()["accessToken"].as_str().unwrap());
    assert_eq!(bearer.get(OBJECTS).await.status, 200);
    let (id, secret) = printed.trim_end().split_once(' ').unwrap();
    let listed = succeed(directory.path(), &["admin", "token", "client", "list", "main"]);
    assert!(
        listed.starts_with(&format!("{id}  admin  READ  20")) && listed.ends_with("Z  a dashboard\n"),
        "{listed}"
    );
    assert!(!listed.contains(secret) && listed.lines().count() == 1, "{listed}");

    let deleted = succeed(directory.path(), &["admin", "token", "client", "delete", id]);

    assert_eq!(deleted, format!("{id}\n"));
    until("the end of the token", async || bearer.get(OBJECTS).await.status == 401).await;
    assert_eq!(ask(&program, &printed).await.status, 401);
    assert_eq!(succeed(directory.path(), &["admin", "token", "client", "list", "main"]), "");
    assert!(!program.log().contains(secret));
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let directory = scratch_with_data();
    let _program = Program::serve(directory.path());
    for (arguments, named) in [
        (&["admin", "token", "client", "create", "main", "--user", "nobody"][..], "nobody"),
        (&["admin", "token", "client", "create", "t7", "--user", "admin"], "t7"),
        (&["admin", "token", "client", "list", "t7"], "t7"),
        (&["admin", "token", "client", "delete", "abc"], "abc"),
        (&["admin", "token", "client", "delete", "a/b"], "a/b"),
    ] {
        let said = fail(directory.path(), arguments);
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
}
