//! Channels of modules, from the hub to sessions (B-01, B-05, B-17).

use serde_json::{Value, json};

use super::*;
use crate::hub::PublishRow;

fn pattern(module: &str, statement: Option<&str>) -> Pattern {
    Pattern::Module { module: module.into(), statement: statement.map(Into::into) }
}

fn row(module: &str, statement: &str, json: &str) -> PublishRow {
    PublishRow { module: module.into(), statement: statement.into(), json: json.into() }
}

async fn subscribe(bench: &Bench, patterns: Vec<Pattern>) {
    let subscribe = Subscribe { user: USER.into(), patterns, filter: None, templates: None };
    assert_eq!(bench.session.send(subscribe).await.expect("alive"), Subscribed::Done);
}

/// Returns the notifications that a session with these subscriptions receives for the rows.
async fn received(patterns: Vec<Pattern>, rows: Vec<PublishRow>) -> Vec<Value> {
    let bench = start(Limits::default());
    subscribe(&bench, patterns).await;
    rows.into_iter().for_each(|row| bench.hub.publish_row(row));
    // This last notification marks the end.
    subscribe(&bench, vec![Pattern::All(Resource::Alarms)]).await;
    bench.hub.publish(Publish::deletion_of_alarm(1, ManagedObjectId(7)));
    settle().await;
    let answer = bench.connect().await.expect("a response");
    let mut received: Vec<Value> =
        texts(&answer).into_iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
    assert_eq!(received.pop().expect("the end")["channel"], "/alarms/7");
    received
}

#[actix::test]
async fn row_is_published_on_the_channel_of_its_statement_without_an_action() {
    let received =
        received(vec![pattern("pumps", Some("hot"))], vec![row("pumps", "hot", r#"{"t":20.5}"#)]).await;
    assert_eq!(received, [json!({"channel": "/pumps/hot", "id": "1", "data": {"t": 20.5}})]);
}

#[actix::test]
async fn wildcard_receives_every_statement_of_its_module_and_no_other() {
    let rows = vec![row("pumps", "hot", "{}"), row("doors", "hot", "{}"), row("pumps", "cold", "{}")];
    let received = received(vec![pattern("pumps", None)], rows).await;
    let channels: Vec<_> =
        received.iter().map(|notification| notification["channel"].as_str().expect("text")).collect();
    assert_eq!(channels, ["/pumps/hot", "/pumps/cold"]);
}

#[actix::test]
async fn statement_channel_receives_no_other_statement() {
    let rows = vec![row("pumps", "cold", "{}"), row("doors", "hot", "{}")];
    assert_eq!(received(vec![pattern("pumps", Some("hot"))], rows).await, Vec::<Value>::new());
}

#[actix::test]
async fn session_with_both_subscriptions_receives_a_row_once() {
    let both = vec![pattern("pumps", None), pattern("pumps", Some("hot"))];
    assert_eq!(received(both, vec![row("pumps", "hot", "{}")]).await.len(), 1);
}

#[actix::test]
async fn unsubscribed_session_receives_nothing_more() {
    let bench = start(Limits::default());
    let patterns = vec![pattern("pumps", None), pattern("pumps", Some("hot"))];
    subscribe(&bench, patterns.clone()).await;
    let leave = Unsubscribe { user: USER.into(), patterns };
    assert_eq!(bench.session.send(leave).await.expect("alive"), Subscribed::Done);
    bench.hub.publish_row(row("pumps", "hot", "{}"));
    settle().await;
    bench.notify("the end");
    assert_eq!(texts(&bench.connect().await.expect("a response")), ["the end"]);
}

#[actix::test]
async fn name_that_needs_escaping_yields_a_valid_message() {
    let name = "say \"hi\" \\ \n \u{1F600}";
    let received = received(vec![pattern("pumps", None)], vec![row("pumps", name, "{}")]).await;
    assert_eq!(received, [json!({"channel": format!("/pumps/{name}"), "id": "1", "data": {}})]);
}
