//! Runs property tests: a few hundred cases in the suite, or for as many seconds as an environment variable says.

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};

/// The number of cases of one round.
const CASES: u32 = 300;

/// A group of properties that share a time limit.
pub(crate) struct Search {
    /// The environment variable with the seconds for all of them.
    pub(crate) variable: &'static str,
    /// The number of properties.
    pub(crate) properties: u32,
}

impl Search {
    /// Searches for a case that violates a property, for one round or for as many rounds as the time allows.
    pub(crate) fn check<S: Strategy>(&self, cases: &S, property: impl Fn(S::Value) -> TestCaseResult) {
        let seconds = std::env::var(self.variable).ok().map(|text| text.parse().expect("whole seconds"));
        let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds) / self.properties);
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
}
