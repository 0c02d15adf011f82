//! The template sets that turn notifications into rows for a CSV client (docs/rules.md#notifications-as-rows; S-53,
//! S-55).
//!
//! The session stores only their names. The HTTP layer looks the sets up and evaluates them when there are
//! notifications.

use std::sync::Arc;

use actix::prelude::*;

use super::SessionActor;

/// The most template sets that one session may name. A client needs a few, and each costs an evaluation per
/// notification.
const MOST: usize = 64;

/// The template sets of a session, by X-Id, in the order in which they are evaluated.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SessionTemplates {
    /// The sets that the header of the handshake and of later subscriptions named.
    pub header: Vec<Box<str>>,
    /// The sets that subscriptions named besides the header.
    pub extra: Vec<Box<str>>,
}

/// Makes a new session the session of a CSV client. Sent by the HTTP layer directly after the handshake.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct UseTemplates(pub SessionTemplates);

impl SessionTemplates {
    /// Returns these sets and others, without duplicates in each list; `None` when they are too many.
    fn with(&self, others: SessionTemplates) -> Option<Self> {
        let mut all = self.clone();
        for (list, added) in [(&mut all.header, others.header), (&mut all.extra, others.extra)] {
            for x_id in added {
                if !list.contains(&x_id) {
                    list.push(x_id);
                }
            }
        }
        (all.header.len() + all.extra.len() <= MOST).then_some(all)
    }
}

impl SessionActor {
    /// Adds template sets. Returns `false` and changes nothing when they would be too many.
    pub(super) fn add_templates(&mut self, others: SessionTemplates) -> bool {
        let known = self.templates.as_deref().cloned().unwrap_or_default();
        let all = known.with(others);
        all.map(|all| self.templates = Some(Arc::new(all))).is_some()
    }
}

impl Handler<UseTemplates> for SessionActor {
    type Result = ();

    fn handle(&mut self, UseTemplates(templates): UseTemplates, _: &mut Self::Context) {
        self.add_templates(templates);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(header: &[&str], extra: &[&str]) -> SessionTemplates {
        let boxed = |x_ids: &[&str]| x_ids.iter().map(|x_id| Box::from(*x_id)).collect();
        SessionTemplates { header: boxed(header), extra: boxed(extra) }
    }

    #[test]
    fn template_sets_keep_their_order_without_duplicates() {
        let first = templates(&["a"], &[]);
        let second = first.with(templates(&["a"], &["c", "b", "c"])).expect("few");
        let third = second.with(templates(&["d"], &["b", "a"])).expect("few");
        assert_eq!(third, templates(&["a", "d"], &["c", "b", "a"]));
    }

    #[test]
    fn number_of_sets_is_bounded() {
        let many: Vec<String> = (0..MOST).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let full = SessionTemplates::default().with(templates(&[], &many)).expect("as many as fit");
        assert_eq!(full.with(templates(&["another"], &[])), None);
        assert!(full.with(templates(&[], &["7"])).is_some(), "one it has takes no place");
    }
}
