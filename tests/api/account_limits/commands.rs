//! `platform admin limits`, beside a running server (L-01, L-02).

use serde_json::{Value, json};

use super::{ACCOUNT, OTHER};
use crate::access_tokens::commands::{fail, succeed};
use crate::harness::{Caller, Program, TestDatabase, run, scratch_with_data};

async fn ask(program: &Program, account: &str, token: &str) -> crate::harness::Response {
    let request = Caller::new(program.base(), None).request("GET", &format!("/v2/{account}/limits"));
    request.header("X-Auth-Token", token.trim_end()).send().await
}

#[tokio::test]
async fn token_is_shown_once_and_deleted_with_all_of_its_account() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let hyphenated = "01234567-89AB-cdef-0123-456789abcdef";

    let token = succeed(directory.path(), &["admin", "limits", "token", "create", hyphenated]);
    let second = succeed(directory.path(), &["admin", "limits", "token", "create", ACCOUNT, "--days", "1"]);

    assert_eq!(ask(&program, ACCOUNT, &token).await.status, 200);
    assert_eq!(ask(&program, ACCOUNT, &second).await.status, 200);
    let ended = succeed(directory.path(), &["admin", "limits", "token", "delete", hyphenated]);
    assert_eq!(ended, format!("{ACCOUNT} 2\n"));
    assert_eq!(
        (ask(&program, ACCOUNT, &token).await.status, ask(&program, ACCOUNT, &second).await.status),
        (401, 401)
    );
}

#[tokio::test]
async fn limits_that_are_set_differ_and_the_others_stay() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let token = succeed(directory.path(), &["admin", "limits", "token", "create", ACCOUNT]);
    let other = succeed(directory.path(), &["admin", "limits", "token", "create", OTHER]);
    let set =
        |more: &[&str]| succeed(directory.path(), &[&["admin", "limits", "set", ACCOUNT], more].concat());

    set(&["--max-total-instances", "4", "--total-instance-used", "3"]);
    let printed = set(&["--max-personality", "0", "--total-instance-used", "4"]);

    let answer = ask(&program, ACCOUNT, &token).await;
    assert_eq!(answer.text, printed.trim_end());
    let expected = json!({
        "maxPersonality": 0,
        "maxPersonalitySize": 10240,
        "maxServerMeta": 128,
        "maxTotalInstances": 4,
        "maxTotalKeypairs": 100,
        "totalInstanceUsed": 4,
    });
    assert_eq!(answer.json()["limits"]["absolute"], expected);
    assert_eq!(ask(&program, OTHER, &other).await.json()["limits"]["absolute"]["maxTotalInstances"], 128);
    set(&["--max-personality-size", "1", "--max-server-meta", "2", "--max-total-keypairs", "3"]);
    let absolute = ask(&program, ACCOUNT, &token).await.json()["limits"]["absolute"].clone();
    assert_eq!(
        absolute,
        json!({"maxPersonality": 0, "maxPersonalitySize": 1, "maxServerMeta": 2,
        "maxTotalInstances": 4, "maxTotalKeypairs": 3, "totalInstanceUsed": 4})
    );
}

#[tokio::test]
async fn rates_are_configured_from_a_file_or_a_pipe() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let token = succeed(directory.path(), &["admin", "limits", "token", "create", ACCOUNT]);
    let rates = json!([{"uri": "*", "regex": ".*", "limit": [
        {"value": 10, "verb": "POST", "unit": "MINUTE"},
        {"value": 5, "verb": "GET", "remaining": 2, "unit": "SECOND", "next-available": "2030-01-01T00:00:00Z"},
    ]}]);
    let file = directory.path().join("rates.json");
    std::fs::write(&file, rates.to_string()).unwrap();

    succeed(directory.path(), &["admin", "limits", "set", ACCOUNT, "--rate", file.to_str().unwrap()]);
    let rate = ask(&program, ACCOUNT, &token).await.json()["limits"]["rate"].clone();

    let names: Vec<&String> = rate[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["uri", "regex", "limit"]);
    let first = &rate[0]["limit"][0];
    let names: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(names, ["value", "verb", "remaining", "unit", "next-available"]);
    // The account has used nothing of its rate, so the next call is possible now.
    assert_eq!((&first["value"], &first["remaining"]), (&json!(10), &json!(10)));
    let now = first["next-available"].as_str().unwrap();
    assert!(now.len() == 24 && now.ends_with('Z') && now.starts_with("20"), "{now}");
    let second = &rate[0]["limit"][1];
    assert_eq!(
        (&second["remaining"], &second["next-available"]),
        (&json!(2), &json!("2030-01-01T00:00:00Z"))
    );

    // Setting other limits keeps the rates; an empty array removes them.
    succeed(directory.path(), &["admin", "limits", "set", ACCOUNT, "--max-server-meta", "1"]);
    assert_eq!(ask(&program, ACCOUNT, &token).await.json()["limits"]["rate"][0]["uri"], "*");
    let output =
        run(Program::command(directory.path(), &["admin", "limits", "set", ACCOUNT, "--rate", "-"]), "[]");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let limits = ask(&program, ACCOUNT, &token).await.json();
    assert_eq!(
        (&limits["limits"]["rate"], &limits["limits"]["absolute"]["maxServerMeta"]),
        (&json!([]), &json!(1))
    );
}

#[tokio::test]
async fn what_is_not_allowed_is_named_and_nothing_is_set() {
    let directory = scratch_with_data();
    let _program = Program::serve(directory.path());
    let rates = directory.path().join("rates.json");
    std::fs::write(&rates, r#"[{"uri":"*","regex":".*","limit":[{"value":1,"verb":"FETCH","unit":"DAY"}]}]"#)
        .unwrap();
    for (arguments, named) in [
        (&["admin", "limits", "token", "create", "main"][..], "UUID"),
        (&["admin", "limits", "token", "delete", OTHER], OTHER),
        (&["admin", "limits", "set", "0123", "--max-server-meta", "1"], "UUID"),
        (&["admin", "limits", "set", ACCOUNT, "--rate", "/nowhere"], "/nowhere"),
        (&["admin", "limits", "set", ACCOUNT, "--rate", rates.to_str().unwrap()], "FETCH"),
    ] {
        let said = fail(directory.path(), arguments);
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn token_does_not_stand_in_the_database() {
    let directory = scratch_with_data();
    let program = Program::serve(directory.path());
    let token = succeed(directory.path(), &["admin", "limits", "token", "create", ACCOUNT]);
    assert_eq!(ask(&program, ACCOUNT, &token).await.status, 200);
    let url =
        platform_operator::embedded_postgres::running_database_url(&directory.path().join("data")).unwrap();

    let dump = TestDatabase::at(&url, directory.path()).dump().await;

    assert!(dump.contains(ACCOUNT) && !dump.contains(token.trim_end()));
    let _: Value = ask(&program, ACCOUNT, &token).await.json();
}
