//! What a session still has to deliver: bounded, in order, nothing lost (B-12, B-22).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::hub::Notification;

/// The next answer of a session, and what it takes to put it back.
#[derive(Debug, Default)]
pub struct Delivery {
    /// The notifications, oldest first.
    pub notifications: Vec<Arc<Notification>>,
    /// Number of this batch under the acknowledgement extension.
    pub batch: Option<i64>,
}

/// The queue is over its bounds: the session must end, there is never a silent gap.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

/// Notifications waiting for a connect, and those sent but not yet acknowledged.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: VecDeque<Arc<Notification>>,
    /// Sent with the batch of this number; kept until the client says it has it.
    unacknowledged: VecDeque<(i64, Arc<Notification>)>,
    last_batch: Option<i64>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl Queue {
    /// `most` notifications and `most_bytes` of them may wait.
    pub(crate) fn new(most: usize, most_bytes: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            last_batch: None,
            bytes: 0,
            most,
            most_bytes,
        }
    }

    /// From now on batches are numbered and kept until they are acknowledged (B-22).
    pub(crate) fn acknowledge_batches(&mut self) {
        self.last_batch.get_or_insert(0);
    }

    /// How many notifications would be lost with the session.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.unacknowledged.len()
    }

    /// Whether the next connect is answered at once.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a notification.
    ///
    /// # Errors
    /// `Overflow` when it has no place.
    pub(crate) fn push(&mut self, notification: Arc<Notification>) -> Result<(), Overflow> {
        self.bytes += notification.json().len();
        self.waiting.push_back(notification);
        match self.len() <= self.most && self.bytes <= self.most_bytes {
            true => Ok(()),
            false => Err(Overflow),
        }
    }

    /// The client says which batch it has: that one and older ones need not be sent again. What it does not have goes
    /// back to the front, before newer ones.
    pub(crate) fn acknowledged(&mut self, batch: i64) {
        while let Some((number, _)) = self.unacknowledged.front()
            && *number <= batch
        {
            if let Some((_, notification)) = self.unacknowledged.pop_front() {
                self.bytes -= notification.json().len();
            }
        }
        while let Some((_, notification)) = self.unacknowledged.pop_back() {
            self.waiting.push_front(notification);
        }
    }

    /// Takes everything that waits as one batch.
    pub(crate) fn take(&mut self) -> Delivery {
        let notifications: Vec<_> = std::mem::take(&mut self.waiting).into();
        if let Some(batch) = &mut self.last_batch {
            *batch += 1;
            self.unacknowledged
                .extend(notifications.iter().map(|notification| (*batch, notification.clone())));
        } else {
            self.bytes -= size(&notifications);
        }
        Delivery { notifications, batch: self.last_batch }
    }

    /// Takes notifications for one frame of a socket: at least one, then as many as fit into `most_bytes`. Over a
    /// socket there are no numbered batches; what the connection took counts as delivered.
    pub(crate) fn take_frame(&mut self, most_bytes: usize) -> Vec<Arc<Notification>> {
        let mut bytes = 0;
        let mut fits = |notification: &Arc<Notification>| {
            bytes += notification.json().len();
            bytes <= most_bytes
        };
        let count = self.waiting.iter().take_while(|notification| fits(notification)).count();
        let frame: Vec<_> = self.waiting.drain(..count.max(1).min(self.waiting.len())).collect();
        self.bytes -= size(&frame);
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        frame
    }

    /// Puts a batch back that no open connection took (B-22).
    pub(crate) fn put_back(&mut self, delivery: Delivery) {
        if let Some(batch) = delivery.batch {
            self.unacknowledged.retain(|(number, _)| *number != batch);
        } else {
            self.bytes += size(&delivery.notifications);
        }
        for notification in delivery.notifications.into_iter().rev() {
            self.waiting.push_front(notification);
        }
    }
}

fn size(notifications: &[Arc<Notification>]) -> usize {
    notifications.iter().map(|notification| notification.json().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(n: usize) -> Arc<Notification> {
        Arc::new(Notification::for_test(&n.to_string()))
    }

    fn texts(delivery: &Delivery) -> Vec<&str> {
        delivery.notifications.iter().map(|n| std::str::from_utf8(n.json()).expect("UTF-8")).collect()
    }

    fn queue_of(count: usize) -> Queue {
        let mut queue = Queue::new(100, 10_000);
        (1..=count).for_each(|n| queue.push(notification(n)).expect("room"));
        queue
    }

    #[test]
    fn batch_that_was_put_back_comes_before_newer_ones() {
        let mut queue = queue_of(2);
        let lost = queue.take();
        queue.push(notification(3)).expect("room");
        queue.put_back(lost);
        assert_eq!(texts(&queue.take()), ["1", "2", "3"]);
        assert_eq!((queue.len(), queue.bytes), (0, 0));
    }

    #[test]
    fn unacknowledged_batches_are_sent_again_in_order_and_before_newer_ones() {
        let mut queue = queue_of(1);
        queue.acknowledge_batches();
        let first = queue.take();
        queue.push(notification(2)).expect("room");
        let second = queue.take();
        queue.push(notification(3)).expect("room");

        queue.acknowledged(first.batch.expect("numbered"));

        let again = queue.take();
        assert_eq!(texts(&again), ["2", "3"]);
        assert!(again.batch > second.batch);
        queue.acknowledged(again.batch.expect("numbered"));
        assert_eq!((queue.len(), queue.bytes), (0, 0));
    }

    #[test]
    fn frame_takes_at_least_one_and_at_most_what_fits() {
        let mut queue = queue_of(5);
        let frames: Vec<usize> = std::iter::from_fn(|| Some(queue.take_frame(2).len())).take(4).collect();
        assert_eq!(frames, [2, 2, 1, 0]);
        assert_eq!(queue.bytes, 0);
    }

    #[test]
    fn count_and_bytes_are_bounded() {
        let mut queue = Queue::new(2, 1000);
        assert_eq!(queue.push(notification(1)), Ok(()));
        assert_eq!(queue.push(notification(2)), Ok(()));
        assert_eq!(queue.push(notification(3)), Err(Overflow));
        let mut queue = Queue::new(100, 3);
        assert_eq!(queue.push(notification(12)), Ok(()));
        assert_eq!(queue.push(notification(34)), Err(Overflow));
    }

    #[test]
    fn unacknowledged_notifications_count_towards_the_bounds() {
        let mut queue = Queue::new(2, 1000);
        queue.acknowledge_batches();
        queue.push(notification(1)).expect("room");
        queue.push(notification(2)).expect("room");
        drop(queue.take());
        assert_eq!(queue.push(notification(3)), Err(Overflow));
    }
}
