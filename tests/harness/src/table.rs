//! Tables: many values of one kind in one test.

use std::fmt::Display;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// Checks every row of a table, also those after a row that fails. Then the test fails with the names of all rows that
/// failed; their messages are above that.
#[track_caller]
pub fn check_rows<Name: Display, Row>(
    rows: impl IntoIterator<Item = (Name, Row)>,
    check: impl AsyncFn(Row),
) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    let rows = rows.into_iter();
    async move {
        let (mut count, mut failed) = (0, Vec::new());
        for (name, row) in rows {
            count += 1;
            if AssertUnwindSafe(check(row)).catch_unwind().await.is_err() {
                eprintln!("the row '{name}' of the table at {caller} failed");
                failed.push(name.to_string());
            }
        }
        assert!(count > 0, "the table at {caller} has no rows");
        assert!(
            failed.is_empty(),
            "{} of {count} rows of the table at {caller} failed: {failed:?}",
            failed.len()
        );
    }
}
