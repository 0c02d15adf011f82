//! Named consumers of notifications: the resource, and its reading by long polls or server-sent events.

pub(crate) mod batch;
pub(crate) mod events;
pub(crate) mod reader;

use serde::Deserialize;
use serde_json::json;

use crate::error::Error;
use crate::target::Target;
use crate::target::connection::Connection;

/// The path of the collection.
pub(crate) const PATH: &str = "/notification/consumers";
/// The beginning of the names of all consumers that runs create.
pub(crate) const NAMES: &str = "loadtest-";
/// The channels that see every change of a tenant.
pub(crate) const ALL_CHANNELS: [&str; 5] =
    ["/alarms/*", "/events/*", "/measurements/*", "/managedobjects/*", "/operations/*"];

/// A consumer to be created.
#[derive(Debug, Clone)]
pub(crate) struct NewConsumer {
    pub(crate) name: String,
    pub(crate) channels: Vec<String>,
    /// The bound of its backlog in seconds; the server has a default.
    pub(crate) max_age: Option<u64>,
    /// The bound of its backlog in bytes; the server has a default.
    pub(crate) max_bytes: Option<u64>,
}

impl NewConsumer {
    /// Creates the description of a consumer of all changes, with the bounds of the server.
    pub(crate) fn of_everything(name: &str) -> Self {
        let channels = ALL_CHANNELS.map(str::to_owned).into();
        Self { name: name.to_owned(), channels, max_age: None, max_bytes: None }
    }

    fn body(&self) -> String {
        let Self { name, channels, max_age, max_bytes } = self;
        let mut body = json!({"name": name, "channels": channels});
        for (key, value) in [("maxAge", max_age), ("maxBytes", max_bytes)] {
            if let Some(value) = value {
                body[key] = json!(value);
            }
        }
        body.to_string()
    }

    /// Creates the consumer for the user of the target.
    ///
    /// # Errors
    /// The server rejects it.
    pub(crate) async fn create(
        &self,
        target: &Target,
        connection: &mut Connection,
    ) -> Result<Consumer, Error> {
        connection.json(201, "creating a consumer", &target.post(PATH, &self.body())).await
    }
}

/// A consumer as the server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Consumer {
    pub(crate) name: String,
    /// The position up to which it has acknowledged.
    pub(crate) position: u64,
    /// The newest position of its tenant.
    pub(crate) newest: u64,
    pub(crate) state: State,
    #[serde(default)]
    pub(crate) backlog: Backlog,
}

/// Whether the server keeps the notifications that a consumer has not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum State {
    /// The server keeps them.
    Active,
    /// Its backlog was larger than its bound, so its next read reports a gap.
    Lapsed,
}

/// The changes behind the position of a consumer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Backlog {
    pub(crate) notifications: u64,
    pub(crate) bytes: u64,
}

impl Consumer {
    /// Reads a consumer.
    ///
    /// # Errors
    /// The server does not return it.
    pub(crate) async fn get(target: &Target, connection: &mut Connection, name: &str) -> Result<Self, Error> {
        connection.json(200, "reading a consumer", &target.get(&path_of(name))).await
    }
}

/// Returns the path of a consumer.
pub(crate) fn path_of(name: &str) -> String {
    format!("{PATH}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_has_only_the_bounds_that_are_set() {
        let mut new = NewConsumer::of_everything("loadtest-x");
        let body: serde_json::Value = serde_json::from_str(&new.body()).unwrap();
        assert_eq!((&body["name"], body["channels"].as_array().unwrap().len()), (&"loadtest-x".into(), 5));
        assert_eq!(body.as_object().unwrap().len(), 2);
        new.max_bytes = Some(65_536);
        let body: serde_json::Value = serde_json::from_str(&new.body()).unwrap();
        assert_eq!((&body["maxBytes"], &body["maxAge"]), (&65_536.into(), &serde_json::Value::Null));
    }

    #[test]
    fn consumer_is_read_with_and_without_a_backlog() {
        let text = r#"{"self":"…","name":"billing","owner":"alice","channels":["/alarms/*"],"state":"LAPSED",
            "position":41,"newest":57,"backlog":{"notifications":16,"bytes":5321,"oldestTime":"…"}}"#;
        let consumer: Consumer = serde_json::from_str(text).unwrap();
        assert_eq!((consumer.position, consumer.newest, consumer.state), (41, 57, State::Lapsed));
        assert_eq!(consumer.backlog, Backlog { notifications: 16, bytes: 5321 });
        let text = r#"{"name":"billing","state":"ACTIVE","position":0,"newest":0}"#;
        let consumer: Consumer = serde_json::from_str(text).unwrap();
        assert_eq!((consumer.state, consumer.backlog), (State::Active, Backlog::default()));
    }
}
