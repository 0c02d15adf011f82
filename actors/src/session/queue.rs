//! The queue of notifications of a session: bounded, in order and without loss (B-12, B-22).

use std::collections::VecDeque;
use std::sync::Arc;

use platform_model::limits::Limits;
use platform_model::realtime::session_move::BatchState;
use platform_model::realtime::trace::record::TracedChange;
use serde_json::value::RawValue;

use crate::hub::Notification;
use crate::session::AcknowledgementExtension;

/// The notifications of one response, and the number that is needed to put them back.
#[derive(Debug, Default)]
pub struct Delivery {
    /// The notifications, oldest first.
    pub notifications: Vec<Arc<Notification>>,
    /// The number of this batch under the acknowledgement extension.
    pub batch: Option<i64>,
}

/// The queue exceeds its bounds. The session must end, because a silent gap is not allowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

/// The notifications that wait for a connect, and those sent but not yet acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Arc<Notification>>,
    bytes: usize,
    /// `None` unless the client uses the acknowledgement extension, which few clients do.
    batches: Option<Box<Batches>>,
}

/// The batches that were sent and not acknowledged.
#[derive(Debug, Default)]
struct Batches {
    last: i64,
    /// Each notification with the number of its batch. It is kept until the client acknowledges the batch.
    unacknowledged: VecDeque<(i64, Arc<Notification>)>,
}

impl Batches {
    /// Takes back the last `count` notifications of a batch. Those that are no longer there were acknowledged, or wait
    /// again already, because a newer connect was faster.
    fn take_back(&mut self, batch: i64, count: usize) -> VecDeque<Arc<Notification>> {
        let before = |bound: i64| self.unacknowledged.partition_point(|(number, _)| *number < bound);
        let (begin, end) = (before(batch), before(batch + 1));
        let back = self.unacknowledged.drain(begin.max(end.saturating_sub(count))..end);
        back.map(|(_, notification)| notification).collect()
    }
}

impl Queue {
    /// Creates an empty queue. With the acknowledgement extension batches are numbered and kept until they are
    /// acknowledged (B-22).
    pub(crate) fn new(acknowledgement: AcknowledgementExtension) -> Self {
        let batches = (acknowledgement == AcknowledgementExtension::Requested).then(Box::default);
        Self { batches, ..Self::default() }
    }

    /// Returns whether the queue keeps batches until the client acknowledges them.
    pub(crate) fn acknowledges(&self) -> bool {
        self.batches.is_some()
    }

    /// Returns the number of the last batch; `None` without the acknowledgement extension.
    pub(crate) fn last_batch(&self) -> Option<i64> {
        self.batches.as_ref().map(|batches| batches.last)
    }

    /// Returns how many notifications are lost if the session ends now.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.batches.as_ref().map_or(0, |batches| batches.unacknowledged.len())
    }

    /// Returns the size in bytes of the notifications that are lost if the session ends now.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether no notification waits for the next connect.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a notification.
    ///
    /// # Errors
    /// `Overflow` when the queue exceeds a limit.
    pub(crate) fn push(&mut self, notification: Arc<Notification>, limits: &Limits) -> Result<(), Overflow> {
        self.bytes += notification.json().len();
        self.waiting.push_back(notification);
        if self.len() <= limits.queued_notifications && self.bytes <= limits.queued_bytes {
            Ok(())
        } else {
            Err(Overflow)
        }
    }

    /// Returns whether there is room for this number of notifications with this number of bytes.
    pub(crate) fn has_room(&self, more: usize, bytes: usize, limits: &Limits) -> bool {
        self.len() + more <= limits.queued_notifications && self.bytes + bytes <= limits.queued_bytes
    }

    /// Drops the batches up to the one that the client acknowledges. Notifications of later batches return to the
    /// front of the queue.
    pub(crate) fn acknowledged(&mut self, batch: i64) {
        let Some(batches) = &self.batches else { return };
        self.acknowledged_first(batches.unacknowledged.partition_point(|(number, _)| *number <= batch));
    }

    /// Drops this number of notifications, or as many as were sent. The others that were sent return to the front of
    /// the queue.
    pub(super) fn acknowledged_first(&mut self, count: usize) {
        let Some(batches) = &mut self.batches else { return };
        // The whole deque is taken, so that the memory of a burst is freed.
        for (at, (_, notification)) in
            std::mem::take(&mut batches.unacknowledged).into_iter().enumerate().rev()
        {
            if at < count {
                self.bytes -= notification.json().len()
            } else {
                self.waiting.push_front(notification)
            }
        }
    }

    /// Takes all waiting notifications as one batch.
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

    /// Takes notifications for one frame of a socket: at least one, then as many as fit into `most_bytes`. They count
    /// as delivered, because a session with the acknowledgement extension sends no frames (B-22a).
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

    /// Puts back a batch that no open connection took, or the end of one (B-22).
    pub(crate) fn put_back(&mut self, delivery: Delivery) {
        if delivery.notifications.is_empty() {
            // A response without notifications may repeat the number of an earlier batch, which stays.
            return;
        }
        let back = match (delivery.batch, &mut self.batches) {
            (Some(batch), Some(batches)) => batches.take_back(batch, delivery.notifications.len()),
            _ => {
                self.bytes += size(&delivery.notifications);
                delivery.notifications.into()
            }
        };
        let newer = std::mem::replace(&mut self.waiting, back);
        self.waiting.extend(newer);
    }

    /// Returns the queue in the form in which it is sent to another server; `None` if a notification is not JSON.
    pub(super) fn into_state(self) -> Option<(Vec<Box<RawValue>>, Option<BatchState>)> {
        let raw = |notification: &Arc<Notification>| {
            RawValue::from_string(String::from_utf8(notification.json().to_vec()).ok()?).ok()
        };
        let waiting = self.waiting.iter().map(raw).collect::<Option<_>>()?;
        let Some(batches) = self.batches else { return Some((waiting, None)) };
        let numbered =
            |(number, notification): &(i64, Arc<Notification>)| Some((*number, raw(notification)?));
        let unacknowledged = batches.unacknowledged.iter().map(numbered).collect::<Option<_>>()?;
        Some((waiting, Some(BatchState { last: batches.last, unacknowledged })))
    }

    /// Returns the queue that another server had.
    pub(super) fn restore(
        waiting: Vec<Box<RawValue>>,
        batches: Option<BatchState>,
        traced: impl Fn(&[u8]) -> Option<TracedChange>,
    ) -> Self {
        let mut bytes = 0;
        let mut notification = |raw: Box<RawValue>| {
            bytes += raw.get().len();
            let json = raw.get().as_bytes();
            Arc::new(Notification::new(json).traced_as(traced(json).map(Arc::new)))
        };
        let waiting = waiting.into_iter().map(&mut notification).collect();
        let batches = batches.map(|BatchState { last, unacknowledged }| {
            let unacknowledged =
                unacknowledged.into_iter().map(|(number, raw)| (number, notification(raw))).collect();
            Box::new(Batches { last, unacknowledged })
        });
        Self { waiting, bytes, batches }
    }

    /// Returns the changes that traces concern, of the notifications that are lost if the session ends now.
    pub(super) fn traced(&self) -> impl Iterator<Item = Arc<TracedChange>> {
        let sent = self.batches.iter().flat_map(|batches| &batches.unacknowledged).map(|(_, sent)| sent);
        sent.chain(&self.waiting).filter_map(|notification| notification.traced().cloned())
    }

    /// Returns for each notification that was sent and not acknowledged the change, if a trace concerns it.
    pub(super) fn traced_and_sent(&self) -> Vec<Option<Arc<TracedChange>>> {
        let sent = self.batches.iter().flat_map(|batches| &batches.unacknowledged);
        sent.map(|(_, notification)| notification.traced().cloned()).collect()
    }

    /// Returns the notifications that wait, oldest first.
    pub(super) fn into_waiting(self) -> impl Iterator<Item = Arc<Notification>> {
        self.waiting.into_iter()
    }

    /// Returns the allocated capacity in notifications.
    #[cfg(test)]
    fn capacity(&self) -> usize {
        self.waiting.capacity() + self.batches.as_ref().map_or(0, |batches| batches.unacknowledged.capacity())
    }
}

/// Returns the total size of some notifications in bytes.
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
    fn end_of_a_batch_that_was_not_written_waits_again() {
        let mut queue = acknowledging_queue_of(3);
        let Delivery { notifications, batch } = queue.take();
        let batch = batch.expect("numbered");
        push(&mut queue, 4);
        queue.put_back(Delivery { notifications: notifications[2..].to_vec(), batch: Some(batch) });

        queue.acknowledged(batch);

        assert_eq!(texts(&queue.take()), ["3", "4"]);
        assert_eq!(queue.bytes, 2);
    }

    #[test]
    fn batch_that_a_newer_connect_got_already_is_not_put_back() {
        let mut queue = acknowledging_queue_of(2);
        let lost = queue.take();
        queue.acknowledged(0);
        let again = queue.take();

        queue.put_back(lost);

        assert!(queue.is_empty());
        queue.acknowledged(again.batch.expect("numbered"));
        assert_eq!((queue.len(), queue.bytes), (0, 0));
    }

    #[test]
    fn first_notifications_of_a_batch_are_acknowledged_by_their_number() {
        let mut queue = acknowledging_queue_of(3);
        drop(queue.take());
        push(&mut queue, 4);

        queue.acknowledged_first(2);

        assert_eq!(texts(&queue.take()), ["3", "4"]);
        queue.acknowledged_first(7);
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
    fn queue_frees_the_memory_of_a_burst() {
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
