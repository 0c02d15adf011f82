//! How long a microservice is waited for.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;

use crate::connection::{FOR_A_SILENT_PEER, Line};
use crate::http::edge;
use crate::stop::Stop;

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
            true => self.usual.min(FOR_A_SILENT_PEER),
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
        match &self.line {
            Some(line) => line.peer_ends().await,
            None => pending().await,
        }
    }

    fn client_is_silent(&self) -> bool {
        self.line.as_ref().is_some_and(Line::peer_has_ended)
    }
}
