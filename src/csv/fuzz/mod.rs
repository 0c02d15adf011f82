//! Differential tests of what reads hostile text: each story against a second, naive way to the same outcome.
//!
//! A few hundred cases each, so that the suite stays fast. `CSV_FUZZ_SECONDS=60 cargo test -p platform --lib csv::fuzz` goes on
//! for a minute, of which each property gets its share.

mod lines;
mod paths;
mod substitution;
mod templates;

use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};

/// Cases of one round.
const CASES: u32 = 300;
/// How many properties share the time.
const PROPERTIES: u32 = 9;

/// Looks for a case that contradicts a property: one round of cases, or as many rounds as its time allows.
fn check<S: Strategy>(cases: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let seconds = std::env::var("CSV_FUZZ_SECONDS").ok().map(|text| text.parse().expect("whole seconds"));
    let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds) / PROPERTIES);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let mut rounds = 0;
    loop {
        if let Err(contradiction) = runner.run(cases, &property) {
            panic!("{contradiction}");
        }
        rounds += 1;
        if deadline.is_none_or(|deadline| deadline <= Instant::now()) {
            break;
        }
    }
    println!("{} cases", rounds * CASES);
}

/// Text put together from pieces, so that what matters meets often.
fn pieces(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(pieces), 0..most).prop_map(|pieces| pieces.concat())
}
