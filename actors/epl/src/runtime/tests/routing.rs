//! The destinations of rows: other statements, other modules, the platform.

use std::sync::Arc;

use platform_model::id::ManagedObjectId;
use platform_model::origin::Depth;
use platform_model::origin::ProcessingMode;
use platform_model::timestamp::Timestamp;

use super::bench::{BUDGET, Bench, Nothing, run};
use crate::runtime::{Budget, Effect, Outcome};
use crate::stream::{Input, Occurrence, OutputStream, Response};

const STREAM: &str = "create schema S(k string, v double);";

#[test]
fn inserted_rows_are_processed_in_order_before_the_next_event() {
    let text = format!(
        "{STREAM} @Name('a') insert into T select v as w from S; @Name('b') insert into T select v + 1 as w from S;
        @Name('c') select w from T; @Name('d') select w * 10 as w from T"
    );
    run(&text, &[(0, "S a 1", "a 1 b 2 c 1 d 10 c 2 d 20")]);
}

#[test]
fn inserted_rows_are_forwarded_to_other_modules() {
    let text = format!("{STREAM} @Name('a') insert into T select v as w from S");
    let mut bench = Bench::new(&text);
    let outcome = bench.step(0, "S a 1");
    assert!(matches!(&outcome.effects[..],
        [Effect::Forward { stream, .. }, Effect::Publish { statement: 1, row }]
        if **stream == *"T" && row.depth.statements == 1 && row.depth.writes == 0));
}

#[test]
fn endless_chain_is_a_fault_and_other_statements_continue() {
    let text = format!(
        "{STREAM} @Name('a') insert into S select k, v + 1 as v from S; @Name('b') select max(v) as m from S output \
         last every 1000 events;
        @Name('c') select v from S(v = 40)"
    );
    let mut bench = Bench::new(&text);
    for _ in 0..2 {
        let outcome = bench.step(0, "S a 0");
        assert_eq!(outcome.faults.len(), 1);
        assert_eq!(outcome.faults[0].0, 1);
        let published = |which: usize| {
            outcome
                .effects
                .iter()
                .filter(|effect| matches!(effect, Effect::Publish { statement, .. } if *statement == which))
                .count()
        };
        assert_eq!(published(1), usize::from(BUDGET.chain));
        assert_eq!(published(3), 1);
    }
}

#[test]
fn a_chain_that_branches_ends_by_the_budget_of_the_step() {
    let text = format!(
        "{STREAM} @Name('a') insert into S select k, v from S; @Name('b') insert into S select k, v from S; \
         @Name('c') select count(*) as n from S(k = 'b')"
    );
    let mut bench = Bench::with(&text, Budget { evaluations: 10_000, ..BUDGET });
    let outcome = bench.step(0, "S a 0");
    assert!(outcome.effects.len() < 100_000);
    assert!(!outcome.faults.is_empty() && outcome.faults.len() < 20_000);
    let outcome = bench.step(0, "T b 0");
    assert!(outcome.effects.is_empty());
}

#[test]
fn variables_are_set_from_left_to_right() {
    let text = format!(
        "{STREAM} create variable double a = 1; create variable double b = a + 1;
        on S set a = v, b = a * 2; @Name('o') select a, b from S"
    );
    run(&text, &[(0, "S x 5", "o 5,10"), (0, "S x 7", "o 7,14")]);
}

#[test]
fn timer_begins_a_chain_of_writes() {
    let text = format!("{STREAM} @Name('o') select count(*) as n from S.win:time_batch(1 seconds)");
    let mut bench = Bench::new(&text);
    bench.step(0, "S a 1");
    let outcome = bench.step(1000, "");
    assert!(matches!(&outcome.effects[..], [Effect::Publish { row, .. }] if row.depth.statements == 1));
}

#[test]
fn rows_of_output_streams_are_performed_published_and_readable() {
    let text = format!(
        "{STREAM} @Name('a') insert into SendEmail select k as receiver, 's' as subject, 't' as text, 'r' as replyTo \
         from S;
        @Name('o') select receiver from SendEmail"
    );
    let mut bench = Bench::new(&text);
    let outcome = bench.step(0, "S you 1");
    assert!(bench.written(&outcome).ends_with("o you"));
    assert!(matches!(&outcome.effects[..],
        [
            Effect::Perform { statement: 1, stream: OutputStream::SendEmail, depth, .. },
            Effect::Publish { .. },
            Effect::Publish { .. },
        ] if depth.writes == 0));
}

#[test]
fn events_of_the_tenant_are_passed_on_into_a_window_as_they_are() {
    let text =
        "create window ResponseReceived.win:length(1) as W; insert into W select * from ResponseReceived;
        @Name('o') select status, body from W";
    let mut bench = Bench::new(text);
    let response =
        Response { status: 200, body: "fine".into(), creation_time: Timestamp::now(), source: None };
    let input = Input::new(
        Occurrence::Response(Arc::new(response)),
        ManagedObjectId(1),
        ProcessingMode::Persistent,
        Depth::default(),
    );
    let mut outcome = Outcome::default();
    bench.runtime.feed_input(&Arc::new(input), 0, &Nothing, &mut outcome);
    assert!(bench.written(&outcome).ends_with("o 200,fine"), "{}", bench.written(&outcome));
}
