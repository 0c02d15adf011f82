//! One request and its response over a connection of its own. Redirects are not followed, and nothing is kept between
//! requests.

use std::pin::pin;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::client::conn::http1;
use platform_actors::event_processing::OutboundResponse;
use platform_front::tls::Roots;

use super::message::Message;

/// The most bytes of a response body.
pub(super) const RESPONSE_BYTES: usize = 1 << 20;

/// Sends a request and reads its whole response.
///
/// # Errors
/// The reason why there is no response, for the author of the module.
pub(super) async fn exchange(message: Message, roots: &Roots) -> Result<OutboundResponse, String> {
    let connection = roots.connect(message.security, &message.host, message.port).await;
    let stream = connection.map_err(|why| format!("not sent: {why}"))?;
    let broken = |error: hyper::Error| format!("the connection ended before a response: {error}");
    let (mut sender, connection) = http1::handshake(stream).await.map_err(broken)?;
    let mut exchange = pin!(async {
        let response = sender.send_request(message.request).await.map_err(broken)?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), RESPONSE_BYTES).collect().await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                format!("the response {status} is longer than {RESPONSE_BYTES} bytes")
            } else {
                format!("the response {status} ended early: {error}")
            }
        })?;
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Ok(OutboundResponse { status, body })
    });
    tokio::select! {
        exchanged = &mut exchange => exchanged,
        // A response that arrived before the other side closed the connection is valid.
        _ = connection => exchange.await,
    }
}
