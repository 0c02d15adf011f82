//! Rows 80 to 84 and 88, and the Bayeux messages they represent (docs/rules.md#notifications-as-rows).

use platform_model::realtime::bayeux::{CONSUMER_EXTENSION, FILTER_EXTENSION};
use platform_model::realtime::consumer::JournalPosition;
use serde_json::{Value, json};

use crate::csv::groups::message_id;
use crate::csv::kind::Kind;
use crate::csv::line::Record;
use crate::csv::refusal::Refusal;
use crate::csv::static_templates::Arguments;

/// The number of extra sets a subscription may name; a session has room for no more.
pub(super) const EXTRA_SETS: usize = 64;

/// The suffix of session names for CSV clients. It makes the names unusable in JSON messages and vice versa,
/// so that a session uses one format (S-59).
const SUFFIX: char = 'c';
/// The same for sessions of a consumer, whose rows 83 acknowledge (B-34).
const CONSUMER_SUFFIX: char = 'n';

/// The beginning of the value of a subscription that is its filter (B-35) and not an X-Id.
const FILTER: &str = "$filter=";

/// The id of a row that waits for notifications.
pub(super) const CONNECT: &str = "83";

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// Row 80.
    Handshake,
    /// Row 81.
    Subscribe,
    /// Row 82.
    Unsubscribe,
    /// Row 83.
    Connect,
    /// Row 84.
    Disconnect,
    /// Row 88: a handshake for a consumer.
    Consume,
}

/// A parsed row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) message: Message,
    /// The name of the session for CSV clients, or that of a consumer.
    name: String,
    channel: String,
    /// The filter of a subscription.
    filter: Option<String>,
    /// The extra template sets of a subscription (S-55).
    pub(super) x_ids: Vec<Box<str>>,
    /// The position up to which the client has handled the notifications of a consumer.
    acknowledged: Option<JournalPosition>,
}

impl Message {
    fn of(id: u32) -> Option<Self> {
        Some(match id {
            80 => Self::Handshake,
            81 => Self::Subscribe,
            82 => Self::Unsubscribe,
            83 => Self::Connect,
            84 => Self::Disconnect,
            88 => Self::Consume,
            _ => return None,
        })
    }

    /// Returns whether the message is a handshake.
    pub(super) fn begins_session(self) -> bool {
        matches!(self, Self::Handshake | Self::Consume)
    }

    /// Returns the Bayeux channel of the message.
    pub(super) fn channel(self) -> &'static str {
        match self {
            Self::Handshake | Self::Consume => "/meta/handshake",
            Self::Subscribe => "/meta/subscribe",
            Self::Unsubscribe => "/meta/unsubscribe",
            Self::Connect => "/meta/connect",
            Self::Disconnect => "/meta/disconnect",
        }
    }
}

impl Row {
    /// Parses a row. Further arguments of 80 and 83 are ignored (S-51), except in the session of a consumer.
    ///
    /// # Errors
    /// `Malformed`; `InvalidMessageId` for any other message; `WrongNumber`; `Kind` for a position that is not one.
    pub(super) fn of(record: Record<'_>) -> Result<Self, Refusal> {
        let id = message_id(&record).ok_or(Refusal::Malformed)?;
        let message = Message::of(id).ok_or(Refusal::InvalidMessageId)?;
        let values = record.values.map_err(|_| Refusal::Malformed)?;
        let arguments = Arguments(values.get(1..).unwrap_or_default());
        let (name, channel) = match message {
            Message::Handshake => ("", ""),
            Message::Connect | Message::Disconnect | Message::Consume => (arguments.mandatory(0)?, ""),
            Message::Subscribe | Message::Unsubscribe => (arguments.mandatory(0)?, arguments.mandatory(1)?),
        };
        let acknowledges = match message {
            Message::Connect => name.ends_with(CONSUMER_SUFFIX),
            message => message == Message::Consume,
        };
        match message {
            Message::Unsubscribe => arguments.at_most(2)?,
            _ if acknowledges => arguments.at_most(2)?,
            Message::Disconnect => arguments.at_most(1)?,
            _ => {}
        }
        let further = if message == Message::Subscribe { arguments.from(2) } else { Default::default() };
        let is_filter = |value: &&_| AsRef::<str>::as_ref(*value).starts_with(FILTER);
        let mut filters = further.iter().filter(is_filter);
        let filter = filters.next().map(|filter| AsRef::<str>::as_ref(filter).to_owned());
        if filters.next().is_some() {
            return Err(Refusal::WrongNumber);
        }
        let x_ids = distinct(further.iter().filter(|value| !is_filter(value)));
        let acknowledged = if acknowledges { position(arguments, 1)? } else { None };
        let (name, channel) = (name.to_owned(), channel.to_owned());
        Ok(Self { message, name, channel, filter, x_ids, acknowledged })
    }

    /// Returns the row as a Bayeux message. A connect among other rows does not wait (B-15). Every connect
    /// requests advice, so that its reply shows whether its time expired (S-56).
    pub(super) fn bayeux(&self, alone: bool) -> String {
        let mut message = json!({"channel": self.message.channel()});
        let more = match self.message {
            Message::Handshake => json!({"supportedConnectionTypes": ["long-polling"]}),
            Message::Subscribe if self.filter.is_some() => {
                json!({"subscription": self.channel, "ext": {FILTER_EXTENSION: self.filter}})
            }
            Message::Subscribe | Message::Unsubscribe => json!({"subscription": self.channel}),
            Message::Connect if alone => json!({"advice": {}}),
            Message::Connect => json!({"advice": {"timeout": 0}}),
            Message::Disconnect => json!({}),
            Message::Consume => json!({
                "supportedConnectionTypes": ["long-polling"],
                "ext": {"ack": true, CONSUMER_EXTENSION: {"name": self.name, "acknowledged": self.acknowledged}},
            }),
        };
        if let (Some(message), Value::Object(more)) = (message.as_object_mut(), more) {
            message.extend(more);
            if !self.message.begins_session() {
                let client = self.name.strip_suffix([SUFFIX, CONSUMER_SUFFIX]).unwrap_or_default();
                message.insert("clientId".into(), client.into());
            }
            if self.message == Message::Connect && self.name.ends_with(CONSUMER_SUFFIX) {
                // Everything else is sent again.
                let acknowledged = self.acknowledged.unwrap_or_default();
                message.insert("ext".into(), json!({CONSUMER_EXTENSION: {"acknowledged": acknowledged}}));
            }
        }
        message.to_string()
    }
}

/// Returns the name of a session for CSV clients.
pub(super) fn name_of(client: &str, consumes: bool) -> String {
    format!("{client}{}", if consumes { CONSUMER_SUFFIX } else { SUFFIX })
}

/// Returns an optional argument that is a position in the journal.
///
/// # Errors
/// `Kind` when it is not one.
fn position(arguments: Arguments<'_>, at: usize) -> Result<Option<JournalPosition>, Refusal> {
    let parse = |text: &str| {
        let position = Kind::Unsigned.accepts(text).then(|| text.parse().ok()).flatten();
        position.ok_or_else(|| Refusal::Kind(Kind::Unsigned, text.to_owned()))
    };
    arguments.text(at).map(parse).transpose()
}

/// Returns the distinct X-Ids in order, without empty ones.
fn distinct<'a, X: AsRef<str> + 'a>(x_ids: impl Iterator<Item = &'a X>) -> Vec<Box<str>> {
    let mut distinct: Vec<Box<str>> = Vec::new();
    for x_id in x_ids.map(AsRef::as_ref).filter(|x_id| !x_id.is_empty()) {
        if !distinct.iter().any(|known| **known == *x_id) {
            distinct.push(x_id.into());
        }
        // A longer list is rejected whatever its length.
        if distinct.len() > EXTRA_SETS {
            break;
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line::Records;

    fn read(row: &str) -> Result<Row, Refusal> {
        Row::of(Records::parse(row.as_bytes()).iter().next().expect("a row"))
    }

    #[test]
    fn rows_are_the_messages_of_their_id() {
        for (row, alone, message) in [
            ("80", true, r#"{"channel":"/meta/handshake","supportedConnectionTypes":["long-polling"]}"#),
            ("80,a,b", true, r#"{"channel":"/meta/handshake","supportedConnectionTypes":["long-polling"]}"#),
            (
                "81,abc,/alarms/*,x",
                true,
                r#"{"channel":"/meta/subscribe","subscription":"/alarms/*","clientId":"ab"}"#,
            ),
            (
                "81,abc,/alarms/*,x,\"$filter=type eq 'a, b'\"",
                true,
                r#"{"channel":"/meta/subscribe","subscription":"/alarms/*","ext":{"com.platform.filter":"$filter=type eq 'a, b'"},"clientId":"ab"}"#,
            ),
            (
                "82,abc,/alarms/1,",
                true,
                r#"{"channel":"/meta/unsubscribe","subscription":"/alarms/1","clientId":"ab"}"#,
            ),
            ("83,abc,x", true, r#"{"channel":"/meta/connect","advice":{},"clientId":"ab"}"#),
            ("83,abc", false, r#"{"channel":"/meta/connect","advice":{"timeout":0},"clientId":"ab"}"#),
            ("84,abc", true, r#"{"channel":"/meta/disconnect","clientId":"ab"}"#),
            ("84,ab", true, r#"{"channel":"/meta/disconnect","clientId":""}"#),
            ("84,abn", true, r#"{"channel":"/meta/disconnect","clientId":"ab"}"#),
        ] {
            assert_eq!(read(row).map(|row| row.bayeux(alone)), Ok(message.to_owned()), "{row}");
        }
    }

    #[test]
    fn rows_of_a_consumer_name_it_and_acknowledge_positions() {
        let handshake = |acknowledged: Option<i64>| {
            let consumer = json!({"name": "pumps", "acknowledged": acknowledged});
            let ext = json!({"ack": true, "com.platform.consumer": consumer});
            json!({"channel": "/meta/handshake", "supportedConnectionTypes": ["long-polling"], "ext": ext})
        };
        let connect = |acknowledged: i64| {
            let ext = json!({"com.platform.consumer": {"acknowledged": acknowledged}});
            json!({"channel": "/meta/connect", "advice": {}, "clientId": "ab", "ext": ext})
        };
        for (row, message) in [
            ("88,pumps", handshake(None)),
            ("88,pumps,7", handshake(Some(7))),
            ("83,abn,7,", connect(7)),
            ("83,abn", connect(0)),
        ] {
            let text = read(row).map(|row| row.bayeux(true)).expect("a row");
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), message, "{row}");
        }
    }

    #[test]
    fn invalid_rows_are_rejected() {
        for (row, refusal) in [
            ("x", Refusal::Malformed),
            ("80,\"a", Refusal::Malformed),
            ("79", Refusal::InvalidMessageId),
            ("85,a", Refusal::InvalidMessageId),
            ("15,a", Refusal::InvalidMessageId),
            ("81", Refusal::WrongNumber),
            ("81,a", Refusal::WrongNumber),
            ("81,,/alarms/*", Refusal::WrongNumber),
            ("81,a,/alarms/*,$filter=a eq 1,$filter=b eq 1", Refusal::WrongNumber),
            ("82,a", Refusal::WrongNumber),
            ("82,a,/alarms/*,x", Refusal::WrongNumber),
            ("83", Refusal::WrongNumber),
            ("83,,a", Refusal::WrongNumber),
            ("83,an,7,7", Refusal::WrongNumber),
            ("83,an,x", Refusal::Kind(Kind::Unsigned, "x".into())),
            ("83,an,-1", Refusal::Kind(Kind::Unsigned, "-1".into())),
            ("83,an,99999999999999999999", Refusal::Kind(Kind::Unsigned, "99999999999999999999".into())),
            ("88", Refusal::WrongNumber),
            ("88,,7", Refusal::WrongNumber),
            ("88,pumps,7,7", Refusal::WrongNumber),
            ("88,pumps,1.5", Refusal::Kind(Kind::Unsigned, "1.5".into())),
            ("84", Refusal::WrongNumber),
            ("84,a,b", Refusal::WrongNumber),
        ] {
            assert_eq!(read(row), Err(refusal), "{row}");
        }
    }

    #[test]
    fn further_sets_come_once_and_are_bounded() {
        let sets = |row: &str| read(row).expect("a row").x_ids;
        assert_eq!(sets("81,c,/alarms/*,b,a,,b,"), ["b".into(), "a".into()]);
        assert_eq!(sets("81,c,/alarms/*,b,$filter=has(a),a"), ["b".into(), "a".into()]);
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        assert_eq!(sets(&format!("81,c,/alarms/*,{}", many.join(","))).len(), EXTRA_SETS + 1);
    }
}
