//! Handshakes of sessions that deliver the notifications of a named consumer (docs/rules.md#consumers).

use platform_actors::consumers::{ConsumerReader, NewReader};
use platform_model::error::Error;
use platform_model::realtime::bayeux::{RequestMessage, channel::Endpoint};
use platform_model::realtime::consumer::ReaderWay;

use super::Exchange;
use crate::auth::Caller;
use crate::auth::channels::ensure_readable;
use crate::http::error::{ApiError, Result};

impl Exchange<'_> {
    /// Begins to read the consumer that a handshake names. Returns `None` if it names none.
    ///
    /// # Errors
    /// The Bayeux error of the handshake, if the consumer cannot be read by this client; `Unavailable` or `Database`
    /// otherwise.
    pub(super) async fn consumer(
        &self,
        caller: &Caller,
        message: &RequestMessage<'_>,
    ) -> Result<std::result::Result<Option<ConsumerReader>, String>> {
        let Some(name) = message.consumer() else { return Ok(Ok(None)) };
        if self.endpoint != Endpoint::Realtime {
            return Ok(Err("400::A consumer is read at /notification/realtime".to_owned()));
        }
        if !message.acknowledges() {
            return Ok(Err("400::A consumer requires the acknowledgement extension (ext.ack)".to_owned()));
        }
        let new = NewReader {
            consumer: name.into(),
            user: caller.user.clone(),
            way: ReaderWay::Bayeux,
            address: Some(self.source.address()),
            acknowledged: None,
        };
        let reader = match self.realtime.platform.read_consumer(&caller.tenant, new).await {
            Ok(reader) => reader,
            Err(error @ Error::NotFound { .. }) => return Ok(Err(format!("404::{error}"))),
            Err(error) => return Err(error.into()),
        };
        match ensure_readable(caller, &self.realtime.platform, reader.channels()).await {
            Ok(()) => Ok(Ok(Some(reader))),
            Err(error @ ApiError::Forbidden(_)) => Ok(Err(format!("403::{error}"))),
            Err(error) => Err(error),
        }
    }
}
