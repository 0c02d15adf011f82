//! `platform admin application route`: only the operator sets the address of a microservice.

use platform_operator::administration::applications::perform;
use platform_operator::cli::ApplicationTask;

use super::*;

async fn listed(database: &TestDatabase) -> String {
    perform(&database.open(), &ApplicationTask::Routes).await.unwrap()
}

#[tokio::test]
async fn microservice_is_named_by_its_id_or_its_context_path() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_microservice(&admin, "rules").await;

    let by_path = route(server.database(), "rules", Some("http://127.0.0.1:1/a/")).await;
    let by_id = route(server.database(), &id, Some("http://[::1]:2")).await;

    assert_eq!(by_path.unwrap(), format!("{id} rules main http://127.0.0.1:1/a"));
    assert_eq!(by_id.unwrap(), format!("{id} rules main http://[::1]:2"));
    assert_eq!(listed(server.database()).await, format!("{id} rules main http://[::1]:2"));
    assert_eq!(route(server.database(), "rules", None).await.unwrap(), format!("{id} rules main -"));
    assert_eq!(listed(server.database()).await, "");
}

#[tokio::test]
async fn only_microservices_are_routed() {
    let (server, admin) = TestServer::start().await.with_admin();
    let hosted = json!({"name": "cockpit7", "key": "k7", "type": "HOSTED", "contextPath": "cockpit7",
        "resourcesUrl": "/"});
    admin.create("/application/applications", &hosted).await;

    let hosted = route(server.database(), "cockpit7", Some("http://h:1")).await.unwrap_err();
    let unknown = route(server.database(), "unknown", Some("http://h:1")).await.unwrap_err();
    let secret = route(server.database(), "cockpit7", Some("http://u:secret@h:1")).await.unwrap_err();

    assert!(hosted.contains("HOSTED") && hosted.contains("MICROSERVICE"), "{hosted}");
    assert!(unknown.contains("unknown"), "{unknown}");
    assert!(!secret.contains("secret"), "{secret}");
}

#[tokio::test]
async fn name_that_is_the_id_of_another_one_must_be_said_otherwise() {
    let (server, admin) = TestServer::start().await.with_admin();
    let first = create_microservice(&admin, "rules").await;
    let second = create_microservice(&admin, &first).await;

    let ambiguous = route(server.database(), &first, Some("http://h:1")).await.unwrap_err();

    assert!(ambiguous.contains("two"), "{ambiguous}");
    route(server.database(), "rules", Some("http://h:1")).await.unwrap();
    route(server.database(), &second, Some("http://h:2")).await.unwrap();
    assert_eq!(listed(server.database()).await.lines().count(), 2);
}

#[tokio::test]
async fn nothing_an_owner_says_is_ever_called() {
    let (behind, admin) = Behind::start().await.with_admin();
    let here = format!("http://{}", behind.address());
    let body = json!({"name": "lure", "key": "lure", "type": "MICROSERVICE", "externalUrl": here,
        "resourcesUrl": here, "route": here, "address": here, "contextPath": "lure"});
    admin.post("/application/applications", &body).await;

    let answer = admin.get("/service/lure/x").await;

    assert!([404, 503].contains(&answer.status), "{}", answer.text);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn address_is_shown_to_nobody() {
    let behind = Behind::start().await;
    let path = format!("/application/applications/{}", behind.application);
    let port = behind.address().port().to_string();

    for answer in
        [behind.server.admin().get(&path).await, behind.server.admin().get("/application/applications").await]
    {
        assert_eq!(answer.status, 200);
        assert!(!answer.text.contains(&format!(":{port}")), "{}", answer.text);
    }
}

#[test]
fn command_works_beside_a_running_server() {
    let directory = scratch_with_data();
    let mut serve = Program::command(directory.path(), &[]);
    serve.env("PLATFORM_ADMIN_PASSWORD", ADMIN_PASSWORD);
    let server = Program::serve_with(serve);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let caller = crate::harness::Caller::new(server.base(), Some(("admin", ADMIN_PASSWORD)));
    let id = runtime.block_on(create_microservice(&caller, "rules"));

    let set = |arguments: &[&str]| {
        let output =
            run(Program::command(directory.path(), &[&["admin", "application"], arguments].concat()), "");
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, printed, _) = set(&["route", "rules", "http://127.0.0.1:1"]);
    assert_eq!((code, &*printed), (Some(0), &*format!("{id} rules main http://127.0.0.1:1\n")));
    let (code, printed, _) = set(&["routes"]);
    assert_eq!((code, &*printed), (Some(0), &*format!("{id} rules main http://127.0.0.1:1\n")));
    let (code, _, why) = set(&["route", "rules", "https://127.0.0.1:1"]);
    assert_eq!(code, Some(1));
    assert!(why.starts_with("error: ") && why.contains("http://host:port"), "{why}");
    let answer = runtime.block_on(caller.get("/service/rules/x"));
    assert_eq!(answer.message(), "The microservice 'rules' cannot be reached");
    assert_eq!(set(&["route", &id, "--none"]).0, Some(0));
}
