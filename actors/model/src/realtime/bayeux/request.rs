//! Requests of clients: an array of messages, or one message (B-15). Members of a wrong type count as absent.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::snapshot::SNAPSHOT_EXTENSION;
use super::{CONSUMER_EXTENSION, FILTER_EXTENSION};
use crate::error::{Error, Result};
use crate::limits::MAX_ADVICE;
use crate::realtime::consumer::JournalPosition;
use crate::realtime::filter::NotificationFilter;
use crate::units::SystemOfUnits;

/// The messages of one request, borrowed from its text.
#[derive(Debug)]
pub struct Batch<'a>(pub Vec<RequestMessage<'a>>);

impl<'a> Batch<'a> {
    /// Parses a request body or a WebSocket text message.
    ///
    /// # Errors
    /// `Malformed` when it is neither an array of objects nor an object.
    pub fn parse(text: &'a [u8]) -> Result<Self> {
        let malformed = |e: serde_json::Error| Error::Malformed(format!("Malformed JSON: {e}"));
        // Editors and shells of Windows write a byte order mark (G-03a).
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        match text.trim_ascii_start().first() {
            Some(b'{') => Ok(Self(vec![serde_json::from_slice(text).map_err(malformed)?])),
            _ => Ok(Self(serde_json::from_slice(text).map_err(malformed)?)),
        }
    }

    /// Returns the number of messages in a text, as the rate of a tenant counts them (Z-20): at least one.
    pub fn count(text: &[u8]) -> u64 {
        Batch::parse(text).map_or(1, |batch| batch.0.len().max(1) as u64)
    }
}

/// A message. Members are kept as text, because the channel determines which ones matter.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a message, which is a JSON object")]
pub struct RequestMessage<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    channel: Option<&'a RawValue>,
    client_id: Option<&'a RawValue>,
    subscription: Option<&'a RawValue>,
    supported_connection_types: Option<&'a RawValue>,
    advice: Option<&'a RawValue>,
    ext: Option<&'a RawValue>,
}

/// The advice of a client (B-10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientAdvice {
    /// The time for which this connect may be held; with zero, the response is sent at once.
    pub timeout: Option<Duration>,
    /// The time that the session outlives a connect; if absent, zero or negative, the server's default.
    pub interval: Option<Duration>,
}

impl<'a> RequestMessage<'a> {
    /// Returns the id for the reply: a number or a string, in its original JSON type (X-16, B-09).
    pub fn id(&self) -> Option<&'a RawValue> {
        self.id.filter(|raw| matches!(raw.get().as_bytes()[0], b'"' | b'-' | b'0'..=b'9'))
    }

    /// Returns the channel.
    pub fn channel(&self) -> Option<Cow<'a, str>> {
        text(self.channel?)
    }

    /// Returns the client id as text.
    pub fn client_id(&self) -> Option<Cow<'a, str>> {
        text(self.client_id?)
    }

    /// Returns the member `subscription` in its original form, for the reply.
    pub fn subscription(&self) -> Option<&'a RawValue> {
        self.subscription.filter(|raw| raw.get() != "null")
    }

    /// Returns the channels of `subscription`: one name or an array of names (B-16); `None` for other values.
    pub fn subscriptions(&self) -> Option<Vec<Cow<'a, str>>> {
        let raw = self.subscription?;
        if raw.get().starts_with('[') {
            serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok()?.into_iter().map(text).collect()
        } else {
            text(raw).map(|one| vec![one])
        }
    }

    /// Returns the connection types that the client offers; `None` if the member is absent (M-05a).
    pub fn connection_types(&self) -> Option<Vec<String>> {
        self.supported_connection_types.and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Returns the client's advice; `None` if it sent none.
    pub fn advice(&self) -> Option<ClientAdvice> {
        #[derive(Deserialize)]
        struct Wire {
            timeout: Option<f64>,
            interval: Option<f64>,
        }
        let wire: Wire = serde_json::from_str(self.advice?.get()).ok()?;
        let millis =
            |value: f64| Duration::from_millis(value.clamp(0.0, MAX_ADVICE.as_millis() as f64) as u64);
        Some(ClientAdvice {
            timeout: wire.timeout.filter(|t| *t >= 0.0).map(millis),
            interval: wire.interval.filter(|i| *i > 0.0).map(millis),
        })
    }

    /// Returns `ext.ack` of a handshake: whether the client acknowledges batches (B-22).
    pub fn acknowledges(&self) -> bool {
        self.ext_member("ack").is_some_and(|raw| raw.get() == "true")
    }

    /// Returns the name of the consumer whose notifications a handshake requests. A name that no consumer can have is
    /// returned as it is.
    pub fn consumer(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Consumer {
            name: Box<RawValue>,
        }
        let raw = self.ext_member(CONSUMER_EXTENSION)?;
        let name = serde_json::from_str(raw.get()).map(|consumer: Consumer| consumer.name);
        Some(match name {
            Ok(name) => serde_json::from_str(name.get()).unwrap_or_else(|_| name.get().to_owned()),
            Err(_) => raw.get().to_owned(),
        })
    }

    /// Returns the member of `ext` by which a subscription requests a list before the changes (B-36); `null` counts as
    /// absent.
    pub fn snapshot(&self) -> Option<&'a RawValue> {
        self.ext_member(SNAPSHOT_EXTENSION).filter(|raw| raw.get() != "null")
    }

    /// Returns `ext.ack` of a connect: the last batch that the client received (B-22).
    pub fn acknowledged_batch(&self) -> Option<i64> {
        self.ext_member("ack").and_then(|raw| raw.get().parse().ok())
    }

    /// Returns the position up to which the client has handled the notifications of a consumer, in a handshake that
    /// names it or in a connect (B-34).
    pub fn acknowledged_position(&self) -> Option<JournalPosition> {
        #[derive(Deserialize)]
        struct Consumer {
            acknowledged: JournalPosition,
        }
        let consumer: Consumer = serde_json::from_str(self.ext_member(CONSUMER_EXTENSION)?.get()).ok()?;
        Some(consumer.acknowledged).filter(|position| *position >= 0)
    }

    /// Returns `ext.systemOfUnits` of a handshake: the units of measurements in notifications (B-20); `null` counts as
    /// absent.
    ///
    /// # Errors
    /// `Invalid` when it is neither `metric` nor `imperial`.
    pub fn system_of_units(&self) -> Result<Option<SystemOfUnits>> {
        let Some(raw) = self.ext_member("systemOfUnits").filter(|raw| raw.get() != "null") else {
            return Ok(None);
        };
        SystemOfUnits::parse(&text(raw).unwrap_or(Cow::Borrowed(raw.get()))).map(Some)
    }

    /// Returns the filter of a subscription (B-35); `null` counts as absent.
    ///
    /// # Errors
    /// `Invalid` names the place of the fault and what is expected there.
    pub fn filter(&self) -> Result<Option<Arc<NotificationFilter>>> {
        let Some(raw) = self.ext_member(FILTER_EXTENSION).filter(|raw| raw.get() != "null") else {
            return Ok(None);
        };
        let text =
            text(raw).ok_or_else(|| Error::invalid_value("filter", raw.get(), "a condition as a text"))?;
        NotificationFilter::compile(&text).map(Some)
    }

    /// Returns the credentials in the authentication extension (B-19). An extension without a token counts as empty
    /// credentials, which are rejected, and not as absent credentials.
    pub fn credentials(&self, extension: &str) -> Option<HandshakeCredentials> {
        #[derive(Deserialize)]
        struct Extension<'r> {
            token: String,
            #[serde(borrow, default)]
            tfa: Option<&'r RawValue>,
        }
        let raw = self.ext_member(extension)?;
        let Ok(Extension { token, tfa }) = serde_json::from_str(raw.get()) else {
            return Some(HandshakeCredentials::default());
        };
        // Some clients send it although there is no second factor, as `null` or empty.
        let code = tfa.map(|raw| text(raw).unwrap_or(Cow::Borrowed(raw.get())).into_owned());
        let code = code.filter(|code| !code.is_empty() && code != "null");
        Some(HandshakeCredentials { token, code })
    }

    fn ext_member(&self, name: &str) -> Option<&'a RawValue> {
        let members: std::collections::HashMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(self.ext?.get()).ok()?;
        members.get(name).copied()
    }
}

/// The credentials of a handshake.
#[derive(Default)]
pub struct HandshakeCredentials {
    /// Base64 of `[tenant/]user:password`, or `Bearer` and a token.
    pub token: String,
    /// The code of the second factor (C-27).
    pub code: Option<String>,
}

/// Returns a JSON string, borrowed if it contains no escape sequences.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    match raw.get().strip_prefix('"')?.strip_suffix('"') {
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str(raw.get()).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_and_an_array_of_messages_are_read() {
        let one = "\u{feff} {\"id\":2}".as_bytes();
        assert_eq!(Batch::parse(one).expect("one message").0[0].id().map(RawValue::get), Some("2"));
        let one = br#" {"id":1,"channel":"/meta/connect","clientId":"a\u0062c"}"#;
        let batch = Batch::parse(one).expect("one message");
        assert_eq!(batch.0[0].client_id().as_deref(), Some("abc"));
        assert_eq!(batch.0[0].id().map(RawValue::get), Some("1"));
        assert_eq!(Batch::parse(b"[]").expect("an empty array").0.len(), 0);
    }

    #[test]
    fn anything_else_is_malformed() {
        for body in [&b""[..], b"1", b"\"x\"", b"null", b"[1]", b"[[]]", b"[{}", b"{}x", b"\xff"] {
            assert!(matches!(Batch::parse(body), Err(Error::Malformed(_))), "{body:?}");
        }
    }

    #[test]
    fn error_names_no_type_of_the_implementation() {
        for body in [&b"1"[..], b"[null]", b"[1]", b"[[]]", b"[[1]]", b"[\"x\"]", b"{\"channel\"}"] {
            let error = Batch::parse(body).expect_err("no message").to_string();
            assert!(!error.contains("struct") && !error.contains("RequestMessage"), "{error}");
        }
        let error = Batch::parse(b"[null]").expect_err("no message").to_string();
        assert!(error.contains("expected a message, which is a JSON object"), "{error}");
    }

    #[test]
    fn members_of_a_wrong_type_count_as_absent() {
        let batch =
            Batch::parse(br#"[{"id":{},"channel":5,"clientId":[],"advice":"x","ext":7,"subscription":8}]"#);
        let batch = batch.expect("an array of objects");
        let message = &batch.0[0];
        assert!(message.id().is_none() && message.channel().is_none() && message.client_id().is_none());
        assert!(message.advice().is_none() && message.subscriptions().is_none() && !message.acknowledges());
    }

    #[test]
    fn advice_is_bounded_and_interval_zero_means_the_default() {
        let batch = Batch::parse(
            br#"[{"advice":{"timeout":1e12,"interval":0}},{"advice":{"timeout":0,"interval":-5}}]"#,
        );
        let batch = batch.expect("an array of objects");
        assert_eq!(batch.0[0].advice(), Some(ClientAdvice { timeout: Some(MAX_ADVICE), interval: None }));
        assert_eq!(batch.0[1].advice(), Some(ClientAdvice { timeout: Some(Duration::ZERO), interval: None }));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected_without_a_panic(text in r#"[\{\}\[\]",:a-zA-Z\\/0-9]{0,80}"#) {
            if let Ok(batch) = Batch::parse(text.as_bytes()) {
                for message in &batch.0 {
                    let _ = (message.id(), message.channel(), message.subscriptions(), message.advice());
                    let _ = (message.connection_types(), message.acknowledges(), message.credentials("x"));
                }
            }
        }
    }
}
