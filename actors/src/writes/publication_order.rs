//! The order in which overlapping writes are published.
//!
//! The rows of one CSV request are written concurrently, so that they share commits, and are published in their order
//! (S-03a). Each row has a [`PublicationTurn`]. A row whose turn has not come when it is committed leaves its
//! publication behind and ends; an earlier row publishes it later. So no row waits for another one.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// The order of the rows of one request.
#[derive(Clone, Default)]
pub struct PublicationOrder(Arc<Mutex<Places>>);

/// The place of one row in the order. When it is dropped, the rows behind it may be published, whether or not this
/// row was.
pub struct PublicationTurn {
    places: Arc<Mutex<Places>>,
    number: usize,
}

#[derive(Default)]
struct Places {
    /// The number of the first place in `kept`. Every row before it is published or had nothing to publish.
    first: usize,
    kept: VecDeque<RowState>,
}

enum RowState {
    /// The row may still be assigned an id.
    Waiting,
    /// The row has its ids and is not published.
    Begun,
    /// The row is committed, and this function publishes it.
    Committed(Box<dyn FnOnce() + Send>),
    /// The row is published, or has nothing to publish.
    Ended,
}

impl PublicationOrder {
    /// Returns a turn behind all others.
    pub fn next(&self) -> PublicationTurn {
        let mut places = self.0.lock();
        places.kept.push_back(RowState::Waiting);
        PublicationTurn { places: self.0.clone(), number: places.first + places.kept.len() - 1 }
    }

    /// Returns whether the newest row has its ids or has ended. A row that starts then gets later ids.
    pub fn newest_has_begun(&self) -> bool {
        !matches!(self.0.lock().kept.back(), Some(RowState::Waiting))
    }
}

impl PublicationTurn {
    /// Notes that the row has its ids.
    pub(crate) fn begin(&self) {
        let mut places = self.places.lock();
        if let Some(place @ RowState::Waiting) = places.place(self.number) {
            *place = RowState::Begun;
        }
    }

    /// Returns whether all earlier rows are published. This row may then be published until the turn is dropped.
    pub(crate) fn has_come(&self) -> bool {
        self.places.lock().first == self.number
    }

    /// Leaves a function that publishes the row when its turn comes.
    pub(crate) fn publish_later(self, publish: impl FnOnce() + Send + 'static) {
        if let Some(place) = self.places.lock().place(self.number) {
            *place = RowState::Committed(Box::new(publish));
        }
    }
}

impl Drop for PublicationTurn {
    fn drop(&mut self) {
        let mut places = self.places.lock();
        match places.place(self.number) {
            None | Some(RowState::Committed(_)) => {}
            Some(place) => *place = RowState::Ended,
        }
        places.publish();
    }
}

impl Places {
    fn place(&mut self, number: usize) -> Option<&mut RowState> {
        self.kept.get_mut(number.checked_sub(self.first)?)
    }

    /// Publishes the rows whose turn has come. The places stay locked meanwhile, so that no other row is published in
    /// between.
    fn publish(&mut self) {
        while let Some(RowState::Committed(_) | RowState::Ended) = self.kept.front() {
            self.first += 1;
            if let Some(RowState::Committed(publish)) = self.kept.pop_front() {
                publish();
            }
        }
    }
}

impl fmt::Debug for PublicationOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicationOrder").finish_non_exhaustive()
    }
}

impl fmt::Debug for PublicationTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicationTurn").field("number", &self.number).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The published rows, in order.
    #[derive(Clone, Default)]
    struct Published(Arc<Mutex<Vec<usize>>>);

    impl Published {
        /// Publishes a row, or leaves its publication behind.
        fn commit(&self, row: usize, turn: PublicationTurn) {
            if turn.has_come() {
                self.0.lock().push(row)
            } else {
                let published = self.clone();
                turn.publish_later(move || published.0.lock().push(row));
            }
        }

        fn rows(&self) -> Vec<usize> {
            self.0.lock().clone()
        }
    }

    #[test]
    fn row_that_commits_early_is_published_after_earlier_rows() {
        let (order, published) = (PublicationOrder::default(), Published::default());
        let [first, second, third] = [order.next(), order.next(), order.next()];
        published.commit(3, third);
        published.commit(2, second);
        assert!(published.rows().is_empty());
        published.commit(1, first);
        published.commit(4, order.next());
        assert_eq!(published.rows(), [1, 2, 3, 4]);
    }

    #[test]
    fn row_that_ends_without_publishing_delays_no_other_row() {
        let (order, published) = (PublicationOrder::default(), Published::default());
        let [first, second, third] = [order.next(), order.next(), order.next()];
        published.commit(3, third);
        drop(second);
        assert!(published.rows().is_empty());
        drop(first);
        assert_eq!(published.rows(), [3]);
    }

    #[test]
    fn newest_row_has_begun_when_it_has_ids_or_ended() {
        let order = PublicationOrder::default();
        assert!(order.newest_has_begun());
        let first = order.next();
        assert!(!order.newest_has_begun());
        first.begin();
        assert!(order.newest_has_begun());
        let second = order.next();
        assert!(!order.newest_has_begun());
        drop(second);
        assert!(order.newest_has_begun());
    }

    proptest! {
        #[test]
        fn rows_are_published_in_order_in_whatever_order_they_are_done(
            done in Just((0..20).collect::<Vec<usize>>()).prop_shuffle(),
            refused in 0..20_usize,
        ) {
            let (order, published) = (PublicationOrder::default(), Published::default());
            let mut turns: Vec<Option<PublicationTurn>> = (0..20).map(|_| Some(order.next())).collect();
            for row in done {
                let turn = turns[row].take().expect("each row is done once");
                if row != refused {
                    published.commit(row, turn);
                }
            }
            let expected: Vec<usize> = (0..20).filter(|row| *row != refused).collect();
            prop_assert_eq!(published.rows(), expected);
        }
    }
}
