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
    let subscribe = Subscribe { user: USER.into(), patterns, templates: None };
    assert_eq!(bench.session.send(subscribe).await.expect("alive"), Subscribed::Done);
}

/// What a session that listens to these is told of the rows.
async fn told(patterns: Vec<Pattern>, rows: Vec<PublishRow>) -> Vec<Value> {
    let bench = start(Limits::default());
    subscribe(&bench, patterns).await;
    rows.into_iter().for_each(|row| bench.hub.do_send(row));
    // The end, which everybody hears of.
    subscribe(&bench, vec![Pattern::All(Resource::Alarms)]).await;
    let (event, links) = (Event::AlarmDeleted(AlarmId(1)), Links::new("http://h"));
    bench.hub.do_send(Publish { source: ManagedObjectId(7), event, links });
    settle().await;
    let answer = bench.connect().await.expect("answered");
    let mut told: Vec<Value> =
        texts(&answer).into_iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
    assert_eq!(told.pop().expect("the end")["channel"], "/alarms/7");
    told
}

#[actix::test]
async fn row_is_told_on_the_channel_of_its_statement_without_an_action() {
    let told = told(vec![pattern("pumps", Some("hot"))], vec![row("pumps", "hot", r#"{"t":20.5}"#)]).await;
    assert_eq!(told, [json!({"channel": "/pumps/hot", "id": "1", "data": {"t": 20.5}})]);
}

#[actix::test]
async fn wildcard_hears_of_every_statement_of_its_module_and_no_other() {
    let rows = vec![row("pumps", "hot", "{}"), row("doors", "hot", "{}"), row("pumps", "cold", "{}")];
    let told = told(vec![pattern("pumps", None)], rows).await;
    let channels: Vec<_> = told.iter().map(|told| told["channel"].as_str().expect("text")).collect();
    assert_eq!(channels, ["/pumps/hot", "/pumps/cold"]);
}

#[actix::test]
async fn statement_hears_of_no_other_statement() {
    let rows = vec![row("pumps", "cold", "{}"), row("doors", "hot", "{}")];
    assert_eq!(told(vec![pattern("pumps", Some("hot"))], rows).await, Vec::<Value>::new());
}

#[actix::test]
async fn session_subscribed_in_both_ways_gets_a_row_once() {
    let both = vec![pattern("pumps", None), pattern("pumps", Some("hot"))];
    assert_eq!(told(both, vec![row("pumps", "hot", "{}")]).await.len(), 1);
}

#[actix::test]
async fn session_that_left_hears_nothing_more() {
    let bench = start(Limits::default());
    let patterns = vec![pattern("pumps", None), pattern("pumps", Some("hot"))];
    subscribe(&bench, patterns.clone()).await;
    let leave = Unsubscribe { user: USER.into(), patterns };
    assert_eq!(bench.session.send(leave).await.expect("alive"), Subscribed::Done);
    bench.hub.do_send(row("pumps", "hot", "{}"));
    settle().await;
    bench.notify("the end");
    assert_eq!(texts(&bench.connect().await.expect("answered")), ["the end"]);
}

#[actix::test]
async fn name_that_needs_escaping_leaves_the_message_whole() {
    let name = "say \"hi\" \\ \n \u{1F600}";
    let told = told(vec![pattern("pumps", None)], vec![row("pumps", name, "{}")]).await;
    assert_eq!(told, [json!({"channel": format!("/pumps/{name}"), "id": "1", "data": {}})]);
}
