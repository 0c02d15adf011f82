//! Points in the order of publications. A function at a point runs after all earlier publications have been sent to
//! their sessions, and before all later ones.
//!
//! Notifications to families wait for look-ups, and those to groups for the members. While a point waits for these, all
//! later publications wait behind it.

use std::collections::VecDeque;

use super::agents::PublishQueued;
use super::modules::PublishRow;
use super::{NotificationHub, Publish, Subscriptions};

/// The function that runs at a point.
pub(crate) type Act = Box<dyn FnOnce(&mut Subscriptions) + Send>;

/// An entry of the line behind a point that waits for look-ups.
pub(super) enum Waiting {
    Point(Act),
    Change(Publish),
    Queued(PublishQueued),
    Row(PublishRow),
    LinksChanged,
}

/// A waiting point and the publications after it.
pub(super) type WaitingLine = VecDeque<Waiting>;

impl NotificationHub {
    /// Runs a function at this point. The function must not call the hub.
    pub(crate) fn at_this_point(&self, act: Act) {
        self.publish_in_turn(Waiting::Point(act));
    }

    /// Publishes in the order of the calls.
    pub(super) fn publish_in_turn(&self, next: Waiting) {
        let subscriptions = &mut self.subscriptions.lock();
        if subscriptions.holds_up(&next) || !subscriptions.line.is_empty() {
            subscriptions.line.push_back(next);
        } else {
            self.carry_out(subscriptions, next);
        }
    }

    /// Continues with the waiting entries, up to the next point that has to wait.
    pub(super) fn advance_line(&self, subscriptions: &mut Subscriptions) {
        while let Some(next) = subscriptions.line.pop_front() {
            if subscriptions.holds_up(&next) {
                return subscriptions.line.push_front(next);
            }
            self.carry_out(subscriptions, next);
        }
    }

    fn carry_out(&self, subscriptions: &mut Subscriptions, next: Waiting) {
        match next {
            Waiting::Point(act) => act(subscriptions),
            Waiting::Change(publish) => self.publish_in(subscriptions, publish),
            Waiting::Queued(queued) => self.publish_queued_in(subscriptions, queued),
            Waiting::Row(row) => subscriptions.publish_row(&row),
            Waiting::LinksChanged => {
                subscriptions.families.links_changed();
                subscriptions.groups.links_changed();
            }
        }
        self.read_members(subscriptions);
    }
}

impl Subscriptions {
    /// Returns whether this is a point that has to wait for look-ups.
    fn holds_up(&self, next: &Waiting) -> bool {
        matches!(next, Waiting::Point(_)) && (self.families.has_waiting() || self.groups.has_waiting())
    }
}
