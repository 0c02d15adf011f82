//! A WebSocket between a client and a microservice. The platform forwards the bytes both ways without reading them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_web::body::{BodySize, MessageBody};
use actix_web::web;
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use platform_model::applications::application::{Application, ApplicationType};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf, split};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::calls::Call;
use super::services::Services;
use super::upload::Running;
use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::ApiError;

/// The most bytes read from the service at once.
const READ_BYTES: usize = 16 << 10;

type Connection = TokioIo<Upgraded>;

/// The bytes from the service, as the body of the 101 response. A task forwards the other direction, because a client
/// that does not read may still write.
pub(super) struct Tunnel {
    from_service: ReadHalf<Connection>,
    buffer: Box<[u8]>,
    /// Resolves when the tunnel has to end: its client closed it or lost the right to use it, or the server stops.
    over: oneshot::Receiver<()>,
    _to_service: Running,
    _watch: Running,
    _call: Call,
}

impl Tunnel {
    pub(super) fn open(
        upgraded: Upgraded,
        payload: web::Payload,
        services: Component<Services>,
        caller: Caller,
        application: Arc<Application>,
        call: Call,
    ) -> Self {
        let (from_service, to_service) = split(TokioIo::new(upgraded));
        let (end, over) = oneshot::channel();
        Self {
            from_service,
            buffer: vec![0; READ_BYTES].into(),
            over,
            _to_service: Running::start(forward(payload, to_service)),
            _watch: Running::start(async move {
                until_forbidden(&services, caller, &application).await;
                // The tunnel may have ended meanwhile.
                end.send(()).ok();
            }),
            _call: call,
        }
    }
}

/// Forwards the client's bytes until the client or the service ends the direction.
async fn forward(mut payload: web::Payload, mut to_service: WriteHalf<Connection>) {
    while let Some(Ok(part)) = payload.next().await {
        if to_service.write_all(&part).await.is_err() || to_service.flush().await.is_err() {
            return;
        }
    }
    // A service that is gone needs no end.
    to_service.shutdown().await.ok();
}

/// Returns when the caller may no longer use the service, or the server stops. While the database is unreachable
/// tunnels stay open.
async fn until_forbidden(services: &Services, mut caller: Caller, application: &Application) {
    let context_path = application.context_path.as_deref().unwrap_or_default();
    loop {
        let pause = services.platform.limits().socket_ping;
        let pause = caller.remaining().map_or(pause, |remaining| remaining.min(pause));
        tokio::select! {
            () = sleep(pause) => {}
            () = services.stop.begun() => return,
        }
        match services.authenticator.still(&caller).await {
            Ok(Some(current)) => caller = current,
            Ok(None) => return,
            Err(_) => {}
        }
        let database = services.platform.database();
        let used =
            services.applications.used(database, &caller.tenant, context_path, ApplicationType::Microservice);
        match used.await {
            Ok(used) if used.id == application.id && used.route == application.route => {}
            Err(ApiError::Platform(
                platform_model::error::Error::Unavailable(_) | platform_model::error::Error::Database(_),
            )) => {}
            _ => return,
        }
    }
}

impl MessageBody for Tunnel {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    /// Called only while the client takes the earlier bytes.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        if Pin::new(&mut self.over).poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        let tunnel = &mut *self;
        let mut buffer = ReadBuf::new(&mut tunnel.buffer);
        let read = ready!(Pin::new(&mut tunnel.from_service).poll_read(cx, &mut buffer));
        match (read, buffer.filled()) {
            (Ok(()), bytes @ [_, ..]) => Poll::Ready(Some(Ok(Bytes::copy_from_slice(bytes)))),
            _ => Poll::Ready(None),
        }
    }
}
