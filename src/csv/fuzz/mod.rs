//! Differential tests of what reads hostile text: each story against a second, naive way to the same outcome.
//!
//! A few hundred cases each, so that the suite stays fast. To look for ten minutes, of which each property gets its share:
//! `CSV_FUZZ_SECONDS=600 cargo test -p platform --lib csv::fuzz -- --test-threads 1 --nocapture`.

mod lines;
mod paths;
mod substitution;
mod templates;

use proptest::strategy::Strategy;

use crate::fuzzing::Search;

/// The properties of all files here.
const SEARCH: Search = Search { variable: "CSV_FUZZ_SECONDS", properties: 10 };

/// Text put together from pieces, so that what matters meets often.
fn pieces(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(pieces), 0..most).prop_map(|pieces| pieces.concat())
}
