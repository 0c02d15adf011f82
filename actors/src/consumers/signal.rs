//! The signal by which others interrupt a reader.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

const CHANGED: u8 = 1;
const RIGHTS: u8 = 2;
const SUPERSEDED: u8 = 4;

/// The reasons to interrupt a reader that it has not seen yet.
#[derive(Debug, Default)]
pub(super) struct Signal {
    state: AtomicU8,
    raised: Notify,
}

/// A reason to interrupt a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Its consumer may have been changed, or may be read at another server.
    Changed,
    /// The rights of its user may have changed, or publications may have been missed.
    Rights,
    /// Another reader of this server took over.
    Superseded,
}

impl Signal {
    /// Notes that the consumer may have been changed.
    pub(super) fn change(&self) {
        self.raise(CHANGED);
    }

    /// Notes that rights may have changed.
    pub(super) fn change_rights(&self) {
        self.raise(RIGHTS);
    }

    /// Notes that another reader took over.
    pub(super) fn supersede(&self) {
        self.raise(SUPERSEDED);
    }

    fn raise(&self, bit: u8) {
        self.state.fetch_or(bit, Ordering::AcqRel);
        self.wake();
    }

    /// Wakes the reader, because the journal may have new entries.
    pub(super) fn wake(&self) {
        self.raised.notify_waiters();
    }

    /// Takes the most important reason, if there is one. A reader that was superseded stays so.
    pub(super) fn take(&self) -> Option<Reason> {
        match self.state.fetch_and(SUPERSEDED, Ordering::AcqRel) {
            0 => None,
            state if state & SUPERSEDED > 0 => Some(Reason::Superseded),
            state if state & RIGHTS > 0 => Some(Reason::Rights),
            _ => Some(Reason::Changed),
        }
    }

    /// Returns whether rights may have changed since the reader looked last.
    pub(super) fn rights_changed(&self) -> bool {
        self.state.load(Ordering::Acquire) & RIGHTS > 0
    }

    /// Notes the change again when the result is dropped, unless it was seen by then.
    pub(super) fn unless_seen(&self) -> Unseen<'_> {
        Unseen(Some(self))
    }

    /// Waits until the reader is woken after this is polled for the first time.
    pub(super) fn raised(&self) -> tokio::sync::futures::Notified<'_> {
        self.raised.notified()
    }
}

/// A change that a reader is about to look at. The look may be given up.
pub(super) struct Unseen<'a>(Option<&'a Signal>);

impl Unseen<'_> {
    /// Notes that the reader has seen it.
    pub(super) fn seen(mut self) {
        self.0 = None;
    }
}

impl Drop for Unseen<'_> {
    fn drop(&mut self) {
        if let Some(signal) = self.0 {
            signal.state.fetch_or(CHANGED, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superseded_reader_stays_so_and_a_change_is_seen_once() {
        let signal = Signal::default();
        assert_eq!(signal.take(), None);
        signal.change();
        assert_eq!(signal.take(), Some(Reason::Changed));
        assert_eq!(signal.take(), None);
        signal.change();
        signal.change_rights();
        assert_eq!(signal.take(), Some(Reason::Rights));
        signal.supersede();
        assert_eq!(signal.take(), Some(Reason::Superseded));
        assert_eq!(signal.take(), Some(Reason::Superseded));
    }

    #[test]
    fn change_is_taken_again_if_the_reader_gave_up_to_look_at_it() {
        let signal = Signal::default();
        drop(signal.unless_seen());
        assert_eq!(signal.take(), Some(Reason::Changed));
        signal.unless_seen().seen();
        assert_eq!(signal.take(), None);
    }
}
