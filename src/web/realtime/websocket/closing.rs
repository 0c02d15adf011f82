//! The closing of a WebSocket by the server, with a code that says why.

use actix::prelude::*;
use actix_web_actors::ws::{CloseCode, WebsocketContext};
use platform_model::error::Error;

use super::WebSocket;
use super::frames::close_reason;
use crate::http::error::ApiError;

/// Closes the socket with a code that says whether the client may try again.
pub(super) fn close_because(ctx: &mut WebsocketContext<WebSocket>, error: &ApiError) {
    match error {
        ApiError::Unauthorized => end(ctx),
        ApiError::Platform(Error::Unavailable(why)) => close(ctx, CloseCode::Again, why),
        ApiError::Moved | ApiError::Platform(Error::Contended | Error::DiskFull | Error::Moving(_)) => {
            close(ctx, CloseCode::Again, &error.to_string());
        }
        error => close(ctx, CloseCode::Invalid, &error.to_string()),
    }
}

pub(super) fn end(ctx: &mut WebsocketContext<WebSocket>) {
    close(ctx, CloseCode::Policy, "credentials are no longer valid");
}

pub(super) fn close(ctx: &mut WebsocketContext<WebSocket>, code: CloseCode, why: &str) {
    ctx.close(Some(close_reason(code, why)));
    ctx.stop();
}
