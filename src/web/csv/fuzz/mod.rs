//! Differential tests of the parsers of hostile text: each is compared with a second, naive implementation.
//!
//! Each property runs a few hundred cases, so that the suite stays fast. To search for ten minutes, which the
//! properties share: `CSV_FUZZ_SECONDS=600 cargo test -p platform-web --lib csv::fuzz -- --test-threads 1
//! --nocapture`.

mod lines;
mod paths;
mod substitution;
mod templates;

use proptest::strategy::Strategy;

use crate::fuzzing::Search;

/// The number of properties of all files here.
const SEARCH: Search = Search { variable: "CSV_FUZZ_SECONDS", properties: 10 };

/// Generates text from pieces, so that interesting combinations are frequent.
fn pieces(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(pieces), 0..most).prop_map(|pieces| pieces.concat())
}
