//! How long a microservice is waited for.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use actix_web::HttpRequest;

use crate::connection::Line;
use crate::http::edge;
use crate::stop::Stop;

/// How long a microservice is waited for once its client sends nothing more. The client may still read (B-24); more often it
/// went away, and then nothing tells so before something is written to it.
const FOR_A_SILENT_CLIENT: Duration = Duration::from_secs(3);
/// How long the next part of an answer is waited for while the server stops. Answers that never end (server-sent events) must
/// not hold it.
const AT_THE_STOP: Duration = Duration::from_secs(1);

/// The patience with the microservice that a request is for.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    usual: Duration,
    line: Option<Line>,
    stop: Arc<Stop>,
}

impl Patience {
    pub(super) fn of(request: &HttpRequest) -> Self {
        let edge = edge(request);
        let line = request.conn_data::<Line>().cloned();
        Self { usual: edge.limits().service_timeout, line, stop: edge.stop.clone() }
    }

    /// With the head of an answer.
    pub(super) fn with_head(&self) -> Duration {
        match self.client_is_silent() {
            true => self.usual.min(FOR_A_SILENT_CLIENT),
            false => self.usual,
        }
    }

    /// With the next part of an answer.
    pub(super) fn with_part(&self) -> Duration {
        match self.stop.has_begun() {
            true => self.with_head().min(AT_THE_STOP),
            false => self.with_head(),
        }
    }

    /// Resolves when the client sends nothing more. Awaited by the handler itself, whose task is woken by that.
    pub(super) async fn client_falls_silent(&self) {
        poll_fn(|_| if self.client_is_silent() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    pub(super) fn client_is_silent(&self) -> bool {
        self.line.as_ref().is_some_and(Line::peer_has_ended)
    }
}
