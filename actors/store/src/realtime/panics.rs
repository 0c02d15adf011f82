//! Panics in tasks that must go on.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use platform_model::error::{Error, Result};

/// Runs one turn of a task that serves many callers. A panic becomes an error, so that the task goes on with its next
/// turn instead of ending for the life of the server. The hook for panics has logged the cause.
pub(crate) async fn caught<T>(turn: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(turn).catch_unwind().await.unwrap_or_else(|_| Err(Error::unavailable("a task panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_of_a_turn_is_an_error_of_this_turn() {
        let turn = async |number: u32| {
            assert_ne!(number, 2, "the test lets this turn panic");
            Ok(number)
        };
        assert_eq!(caught(turn(1)).await.expect("no panic"), 1);
        assert!(matches!(caught(turn(2)).await, Err(Error::Unavailable(_))));
        assert_eq!(caught(turn(3)).await.expect("no panic"), 3);
    }
}
