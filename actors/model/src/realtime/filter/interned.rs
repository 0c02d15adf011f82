//! The filters in use, by their text: a thousand sessions with one text share one compiled filter.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use super::NotificationFilter;
use crate::devices::inventory_query::Condition;
use crate::error::Result;

type Interned = HashMap<Box<str>, Weak<NotificationFilter>>;

static INTERNED: LazyLock<Mutex<Interned>> = LazyLock::new(Mutex::default);

/// Returns the filter with this text, which is compiled if it is not in use.
///
/// # Errors
/// The error of `compile`.
pub(super) fn find_or_insert(
    text: &str,
    compile: impl FnOnce() -> Result<Condition>,
) -> Result<Arc<NotificationFilter>> {
    // A filter locks the table when it is dropped, so none is dropped while the lock is held.
    if let Some(known) = interned().get(text).and_then(Weak::upgrade) {
        return Ok(known);
    }
    let condition = compile()?;
    let mut interned = interned();
    if let Some(known) = interned.get(text).and_then(Weak::upgrade) {
        return Ok(known);
    }
    let filter = Arc::new(NotificationFilter { text: text.into(), condition });
    interned.insert(text.into(), Arc::downgrade(&filter));
    Ok(filter)
}

/// Removes a filter that is being dropped, unless another one has its text by now.
pub(super) fn forget(text: &str) {
    let mut interned = interned();
    if interned.get(text).is_some_and(|filter| filter.strong_count() == 0) {
        interned.remove(text);
    }
}

fn interned() -> MutexGuard<'static, Interned> {
    INTERNED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_is_one_filter_while_it_is_in_use() {
        let text = "interned eq 'one'";
        let (first, second) = (NotificationFilter::compile(text), NotificationFilter::compile(text));
        let (first, second) = (first.expect(text), second.expect(text));
        assert!(Arc::ptr_eq(&first, &second));
        drop(first);
        assert!(interned().contains_key(text));
        drop(second);
        assert!(!interned().contains_key(text));
    }

    #[test]
    fn filter_that_is_dropped_after_its_text_was_compiled_again_leaves_the_new_one() {
        let text = "interned eq 'again'";
        let new = NotificationFilter::compile(text).expect(text);
        let old = NotificationFilter { text: text.into(), condition: new.condition.clone() };
        drop(old);
        assert!(Arc::ptr_eq(&new, &NotificationFilter::compile(text).expect(text)));
    }
}
