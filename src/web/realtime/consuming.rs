//! Handshakes of sessions that deliver the notifications of a named consumer (docs/rules.md#named-consumers; B-33,
//! B-34).

use platform_actors::consumers::{ConsumerReader, NewReader};
use platform_actors::session::AcknowledgementExtension;
use platform_model::error::{Error, Noun};
use platform_model::realtime::bayeux::channel::Endpoint;
use platform_model::realtime::bayeux::reply::Acknowledgement;
use platform_model::realtime::bayeux::{Advice, RequestMessage};
use platform_model::realtime::consumer::{ReaderWay, parse_name};

use super::{Exchange, Replies};
use crate::auth::Caller;
use crate::auth::channels::ensure_readable;
use crate::http::error::{ApiError, Result};

impl Exchange<'_> {
    /// Begins to read the consumer that a handshake names. The inner value is `None` if it names none, the outer one if
    /// the consumer cannot be read by this client; the handshake is refused then.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn consumer(
        &self,
        caller: &Caller,
        message: &RequestMessage<'_>,
        replies: &mut Replies,
    ) -> Result<Option<Option<ConsumerReader>>> {
        let Some(name) = message.consumer() else { return Ok(Some(None)) };
        match self.begin(caller, message, &name).await? {
            Ok(reader) => Ok(Some(Some(reader))),
            Err(error) => {
                replies.refuse(message, Some("/meta/handshake"), &error, Some(Advice::NONE));
                Ok(None)
            }
        }
    }

    /// Begins to read a consumer.
    ///
    /// # Errors
    /// The Bayeux error of the handshake, if the consumer cannot be read by this client; `Unavailable` or `Database`
    /// otherwise.
    async fn begin(
        &self,
        caller: &Caller,
        message: &RequestMessage<'_>,
        name: &str,
    ) -> Result<std::result::Result<ConsumerReader, String>> {
        if self.endpoint != Endpoint::Realtime {
            return Ok(Err("400::A consumer is read at /notification/realtime".to_owned()));
        }
        if !message.acknowledges() {
            return Ok(Err("400::A consumer requires the acknowledgement extension (ext.ack)".to_owned()));
        }
        if parse_name(name).is_err() {
            // The database does not accept every text.
            return Ok(Err(format!("404::{}", Error::not_found(Noun::Consumer, name))));
        }
        let new = NewReader {
            consumer: name.into(),
            user: caller.user.clone(),
            way: ReaderWay::Bayeux,
            address: Some(self.source.address()),
            acknowledged: message.acknowledged_position(),
            continued: None,
        };
        let reader = match self.realtime.platform.read_consumer(&caller.tenant, new).await {
            Ok(reader) => reader,
            Err(error @ Error::NotFound { .. }) => return Ok(Err(format!("404::{error}"))),
            Err(error @ Error::Invalid { .. }) => return Ok(Err(format!("400::{error}"))),
            Err(error) => return Err(error.into()),
        };
        match ensure_readable(caller, &self.realtime.platform, reader.channels()).await {
            Ok(()) => Ok(Ok(reader)),
            Err(error @ ApiError::Forbidden(_)) => Ok(Err(format!("403::{error}"))),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether the session numbers its batches, and the extension of the reply to a handshake.
pub(super) fn acknowledgement(
    message: &RequestMessage<'_>,
    consumer: Option<&ConsumerReader>,
) -> (AcknowledgementExtension, Option<Acknowledgement>) {
    if !message.acknowledges() {
        return (AcknowledgementExtension::Absent, None);
    }
    let enabled = consumer.map_or(Acknowledgement::Enabled, |consumer| Acknowledgement::EnabledForConsumer {
        position: consumer.position(),
        missed: consumer.missed(),
    });
    (AcknowledgementExtension::Requested, Some(enabled))
}
