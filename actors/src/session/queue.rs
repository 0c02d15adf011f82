//! What a session still has to deliver: bounded, in order, nothing lost (B-12, B-22).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::hub::Notification;
use crate::limits::Limits;
use crate::tenant::AcknowledgementExtension;

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
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Arc<Notification>>,
    bytes: usize,
    /// Only for a client that acknowledges, which few do.
    batches: Option<Box<Batches>>,
}

/// What was sent, by number, and not acknowledged.
#[derive(Debug, Default)]
struct Batches {
    last: i64,
    /// Sent with the batch of this number; kept until the client says it has it.
    unacknowledged: VecDeque<(i64, Arc<Notification>)>,
}

impl Queue {
    /// An empty one. With the acknowledgement extension batches are numbered and kept until they are acknowledged (B-22).
    pub(crate) fn new(acknowledgement: AcknowledgementExtension) -> Self {
        let batches = (acknowledgement == AcknowledgementExtension::Requested).then(Box::default);
        Self { batches, ..Self::default() }
    }

    /// Whether batches are numbered and kept until the client has them.
    pub(crate) fn acknowledges(&self) -> bool {
        self.batches.is_some()
    }

    /// How many notifications would be lost with the session.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.batches.as_ref().map_or(0, |batches| batches.unacknowledged.len())
    }

    /// Whether the next connect is answered at once.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a notification.
    ///
    /// # Errors
    /// `Overflow` when it has no place.
    pub(crate) fn push(&mut self, notification: Arc<Notification>, limits: &Limits) -> Result<(), Overflow> {
        self.bytes += notification.json().len();
        self.waiting.push_back(notification);
        match self.len() <= limits.queued_notifications && self.bytes <= limits.queued_bytes {
            true => Ok(()),
            false => Err(Overflow),
        }
    }

    /// The client says which batch it has: that one and older ones need not be sent again. What it does not have goes
    /// back to the front, before newer ones.
    pub(crate) fn acknowledged(&mut self, batch: i64) {
        let Some(batches) = &mut self.batches else { return };
        // Taken as a whole, so that what a burst needed is given back.
        for (number, notification) in std::mem::take(&mut batches.unacknowledged).into_iter().rev() {
            match number <= batch {
                true => self.bytes -= notification.json().len(),
                false => self.waiting.push_front(notification),
            }
        }
    }

    /// Takes everything that waits as one batch.
    pub(crate) fn take(&mut self) -> Delivery {
        let notifications: Vec<_> = std::mem::take(&mut self.waiting).into();
        let Some(batches) = &mut self.batches else {
            self.bytes -= size(&notifications);
            return Delivery { notifications, batch: None };
        };
        batches.last += 1;
        let batch = batches.last;
        batches.unacknowledged.extend(notifications.iter().map(|notification| (batch, notification.clone())));
        Delivery { notifications, batch: Some(batch) }
    }

    /// Takes notifications for one frame of a socket: at least one, then as many as fit into `most_bytes`. What the
    /// connection took counts as delivered, for a session that acknowledges gets no frames (B-22a).
    pub(crate) fn take_frame(&mut self, most_bytes: usize) -> Vec<Arc<Notification>> {
        let mut bytes = 0;
        let mut fits = |notification: &Arc<Notification>| {
            bytes += notification.json().len();
            bytes <= most_bytes
        };
        let count = self.waiting.iter().take_while(|notification| fits(notification)).count();
        let frame: Vec<_> = self.waiting.drain(..count.max(1).min(self.waiting.len())).collect();
        self.bytes -= size(&frame);
        if self.waiting.len() < self.waiting.capacity() / 4 {
            self.waiting.shrink_to_fit();
        }
        frame
    }

    /// Puts a batch back that no open connection took (B-22).
    pub(crate) fn put_back(&mut self, delivery: Delivery) {
        match (delivery.batch, &mut self.batches) {
            (Some(batch), Some(batches)) => batches.unacknowledged.retain(|(number, _)| *number != batch),
            _ => self.bytes += size(&delivery.notifications),
        }
        let newer = std::mem::replace(&mut self.waiting, delivery.notifications.into());
        self.waiting.extend(newer);
    }

    /// Places for notifications, used or not.
    #[cfg(test)]
    fn capacity(&self) -> usize {
        self.waiting.capacity() + self.batches.as_ref().map_or(0, |batches| batches.unacknowledged.capacity())
    }
}

/// Bytes of some notifications.
pub(super) fn size(notifications: &[Arc<Notification>]) -> usize {
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

    fn push(queue: &mut Queue, n: usize) {
        queue.push(notification(n), &Limits::default()).expect("room");
    }

    fn bounds(queued_notifications: usize, queued_bytes: usize) -> Limits {
        Limits { queued_notifications, queued_bytes, ..Limits::default() }
    }

    fn queue_of(count: usize) -> Queue {
        filled(Queue::default(), count)
    }

    fn acknowledging_queue_of(count: usize) -> Queue {
        filled(Queue::new(AcknowledgementExtension::Requested), count)
    }

    fn filled(mut queue: Queue, count: usize) -> Queue {
        (1..=count).for_each(|n| push(&mut queue, n));
        queue
    }

    #[test]
    fn batch_that_was_put_back_comes_before_newer_ones() {
        let mut queue = queue_of(2);
        let lost = queue.take();
        push(&mut queue, 3);
        queue.put_back(lost);
        assert_eq!(texts(&queue.take()), ["1", "2", "3"]);
        assert_eq!((queue.len(), queue.bytes), (0, 0));
    }

    #[test]
    fn unacknowledged_batches_are_sent_again_in_order_and_before_newer_ones() {
        let mut queue = acknowledging_queue_of(1);
        let first = queue.take();
        push(&mut queue, 2);
        let second = queue.take();
        push(&mut queue, 3);

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
        let (mut queue, few) = (Queue::default(), bounds(2, 1000));
        assert_eq!(queue.push(notification(1), &few), Ok(()));
        assert_eq!(queue.push(notification(2), &few), Ok(()));
        assert_eq!(queue.push(notification(3), &few), Err(Overflow));
        let (mut queue, small) = (Queue::default(), bounds(100, 3));
        assert_eq!(queue.push(notification(12), &small), Ok(()));
        assert_eq!(queue.push(notification(34), &small), Err(Overflow));
    }

    #[test]
    fn unacknowledged_notifications_count_towards_the_bounds() {
        let mut queue = acknowledging_queue_of(2);
        drop(queue.take());
        assert_eq!(queue.push(notification(3), &bounds(2, 1000)), Err(Overflow));
    }

    #[test]
    fn queue_gives_back_what_a_burst_needed() {
        let mut queue = acknowledging_queue_of(1000);
        let burst = queue.take().batch.expect("numbered");
        queue.acknowledged(burst);
        assert_eq!(queue.capacity(), 0);
    }

    #[test]
    fn queue_of_a_socket_shrinks_while_it_is_drained() {
        let mut queue = queue_of(1000);
        let frames: usize = std::iter::from_fn(|| Some(queue.take_frame(40).len())).take(65).sum();
        assert!(queue.len() == 1000 - frames && queue.capacity() < 1000, "{} places", queue.capacity());
    }
}
