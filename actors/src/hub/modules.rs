//! Channels of modules: `/<module>/<statement>` receives each row of one statement, `/<module>/*` the rows of all
//! statements of the module (B-01, B-05, B-17).

use std::sync::Arc;

use platform_model::realtime::bayeux::Pattern;

use super::listeners::{Verdicts, each_once};
use super::points::Waiting;
use super::{Notification, NotificationHub, Subscriptions};

/// One row of a module's statement that is published to the subscriptions to the statement or to the module. The order
/// of their rows is the order of delivery; see [`Context::publish_row`].
///
/// [`Context::publish_row`]: crate::writes::WriteContext::publish_row
#[derive(Debug)]
pub(crate) struct PublishRow {
    pub(crate) module: Arc<str>,
    pub(crate) statement: Arc<str>,
    /// The row, a JSON object.
    pub(crate) json: String,
}

impl NotificationHub {
    /// Publishes one row of a module's statement.
    pub(crate) fn publish_row(&self, row: PublishRow) {
        self.publish_in_turn(Waiting::Row(row));
    }
}

impl Subscriptions {
    /// Delivers one row of a module's statement.
    pub(super) fn publish_row(&mut self, row: &PublishRow) {
        let of = |statement: Option<&str>| Pattern::Module {
            module: (*row.module).into(),
            statement: statement.map(Into::into),
        };
        let patterns = [of(Some(&row.statement)), of(None)];
        let listeners: Vec<_> = patterns.iter().filter_map(|pattern| self.listeners.of(pattern)).collect();
        if listeners.is_empty() {
            return;
        }
        self.last_id += 1;
        let notification = Arc::new(row.encode(self.last_id));
        let mut verdicts = Verdicts::default();
        verdicts.add(&listeners, |_| notification.clone());
        let recipients = each_once(&listeners, &verdicts);
        self.dispatchers.deliver(recipients.map(|(slot, _)| (slot, notification.clone())));
    }
}

impl PublishRow {
    fn encode(&self, id: u64) -> Notification {
        // The name of a statement may contain any character of a string literal.
        let channel = serde_json::Value::String(format!("/{}/{}", self.module, self.statement));
        let json = format!(r#"{{"channel":{channel},"id":"{id}","data":{}}}"#, self.json);
        Notification::new(json.as_bytes())
    }
}
