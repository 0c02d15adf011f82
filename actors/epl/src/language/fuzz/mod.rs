//! Property tests of the parser, with random texts and with random syntax trees.
//!
//! Each property runs a few hundred cases, so that the suite stays fast. The following command searches for ten
//! minutes, divided among the properties: `MODULE_FUZZ_SECONDS=600 cargo test -p platform-epl --lib
//! language::fuzz -- --test-threads 1 --nocapture`.

mod expressions;
mod patterns;
mod texts;
mod trees;

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};

/// The number of cases of one round.
const CASES: u32 = 300;
/// The number of properties that share the time.
const PROPERTIES: u32 = 4;

/// Searches for a case that violates a property, for one round or for as many rounds as the time allows.
fn check<S: Strategy>(cases: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let seconds = std::env::var("MODULE_FUZZ_SECONDS").ok().map(|text| text.parse().expect("whole seconds"));
    let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds) / PROPERTIES);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let ran = Cell::new(0_u64);
    loop {
        // A runner counts its successes over all its runs, so a second run of the same runner would do nothing.
        let found = TestRunner::new(config.clone()).run(cases, |case| {
            ran.set(ran.get() + 1);
            property(case)
        });
        if let Err(contradiction) = found {
            panic!("{contradiction}");
        }
        if deadline.is_none_or(|deadline| deadline <= Instant::now()) {
            break;
        }
    }
    assert!(ran.get() >= u64::from(CASES), "{} cases", ran.get());
    println!("{} cases", ran.get());
}
