//! The body of a held row 83: it stays empty until the templates of the session turn notifications into lines
//! (S-53). Notifications that are not written go back to the session (B-22).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::web;
use futures_util::future::LocalBoxFuture;
use platform_actors::session::{ConnectResponse, Delivery};
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::Advice;
use platform_model::realtime::consumer::JournalPosition;
use tokio::time::Instant;

use super::replies;
use super::results::{self, Evaluated};
use crate::csv::Csv;
use crate::csv::line::Lines;
use crate::http::error::Result;
use crate::realtime::Held;

/// The data that a held row still needs of its request.
pub(super) struct HeldRow {
    /// The parts of the server that the protocol uses.
    pub(super) csv: web::Data<Csv>,
    /// The tenant whose template sets are used.
    pub(super) tenant: TenantId,
    /// The line of the row.
    pub(super) line: usize,
    /// The time between two spaces (B-21b).
    pub(super) keep_alive: Duration,
}

/// A held row 83; see the module.
pub(crate) struct HeldPoll {
    state: State,
    row: HeldRow,
    begun: Instant,
    /// The end of the hold time, known after the first reply of the session.
    until: Option<Instant>,
    /// The poll whose notifications are being written, until they are.
    answered: Option<Held>,
}

enum State {
    Waiting(Held),
    Evaluating(Box<Evaluation>),
    Over,
}

/// Notifications that are being evaluated. If this is dropped before they are taken, they return to their
/// session.
pub(super) struct Evaluation {
    held: Option<Held>,
    answer: ConnectResponse,
    evaluated: LocalBoxFuture<'static, Result<Evaluated>>,
}

impl HeldPoll {
    pub(super) fn new(held: Held, row: HeldRow) -> Self {
        Self { state: State::Waiting(held), row, begun: Instant::now(), until: None, answered: None }
    }

    /// Returns the lines when there are some. For a disconnected peer it returns the lines of an expired
    /// poll.
    pub(crate) fn poll_text(
        &mut self,
        cx: &mut Context<'_>,
        mut peer_is_gone: impl FnMut(&Context<'_>) -> bool,
    ) -> Poll<String> {
        loop {
            let next = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return Poll::Ready(String::new()),
                State::Waiting(mut held) => match held.poll_answer(cx) {
                    Poll::Ready(answer) => self.answered(held, answer),
                    Poll::Pending => {
                        self.state = State::Waiting(held);
                        return Poll::Pending;
                    }
                },
                State::Evaluating(mut evaluation) => match Pin::new(&mut *evaluation).poll(cx) {
                    Poll::Ready(evaluated) => self.evaluated(evaluation, evaluated, || peer_is_gone(cx)),
                    Poll::Pending => {
                        self.state = State::Evaluating(evaluation);
                        return Poll::Pending;
                    }
                },
            };
            match next {
                Ok(state) => self.state = state,
                Err(text) => return Poll::Ready(text),
            }
        }
    }

    /// Returns the time between two spaces (B-21b).
    pub(crate) fn keep_alive(&self) -> Duration {
        self.row.keep_alive
    }

    /// Announces that writing the lines takes long: the session does not expire before this is dropped
    /// (B-10a).
    pub(crate) fn writing_takes_a_while(&mut self) {
        self.answered.iter_mut().for_each(Held::writing_takes_a_while);
    }

    /// Returns the lines of a poll that ends early, as if its time had expired. Notifications that arrived go
    /// back (B-22).
    pub(crate) fn end_empty(&mut self) -> String {
        self.state = State::Over;
        let advice = Advice::retry(Duration::ZERO, self.row.csv.platform.limits().connect_timeout);
        self.end(&ConnectResponse { advice: Some(advice), ..ConnectResponse::default() })
    }

    /// Returns the next state after a reply of the session, or the end of the body.
    fn answered(&mut self, held: Held, answer: ConnectResponse) -> Result<State, String> {
        if !answer.delivery.notifications.is_empty() {
            let (csv, tenant) = (self.row.csv.clone(), self.row.tenant.clone());
            return Ok(State::Evaluating(Box::new(Evaluation::new(held, answer, csv, tenant))));
        }
        Err(self.end(&answer))
    }

    /// Returns the next state after an evaluation, or the end of the body.
    fn evaluated(
        &mut self,
        evaluation: Box<Evaluation>,
        evaluated: Result<Evaluated>,
        peer_is_gone: impl FnOnce() -> bool,
    ) -> Result<State, String> {
        match evaluated {
            // The next connect receives the notifications.
            Err(error) => {
                tracing::warn!(%error, "notifications wait because templates cannot be looked up");
                Err(String::new())
            }
            Ok(evaluated) if evaluated.text.is_empty() => self.go_on(*evaluation, &evaluated),
            Ok(_) if peer_is_gone() => Err(self.end_empty()),
            Ok(Evaluated { mut text, count, position }) => {
                let (answer, held) = evaluation.taken(count);
                self.answered = held;
                text.push_str(&position_line(position));
                if answer.restores_interval {
                    text.push_str(&self.end(&answer));
                }
                Err(text)
            }
        }
    }

    /// Drops notifications that match no template, which do not end the connect (S-53). Those of a consumer are
    /// acknowledged, by the client if the time of the connect is over (B-34).
    fn go_on(&mut self, mut evaluation: Evaluation, evaluated: &Evaluated) -> Result<State, String> {
        let (begun, answer) = (self.begun, &evaluation.answer);
        // A row 83 requests no hold time, so this connect is held as long as the advice says for the next
        // one.
        let advised = answer.advice.and_then(|advice| advice.timeout).unwrap_or_default();
        let rest = self.until.get_or_insert(begun + advised).saturating_duration_since(Instant::now());
        let connect = answer.connect;
        match evaluation.held.take() {
            Some(mut held) if !rest.is_zero() => {
                held.go_on(connect, evaluated.position, (rest, advised));
                Ok(State::Waiting(held))
            }
            _ => {
                let advice = self.end(&evaluation.taken(evaluated.count).0);
                Err(position_line(evaluated.position) + &advice)
            }
        }
    }

    fn end(&self, answer: &ConnectResponse) -> String {
        let mut lines = Lines::default();
        replies::write_connected(answer, self.row.line, &self.row.csv, &mut lines);
        lines.into_text()
    }
}

/// Returns the line with the position of a consumer, if there is one.
fn position_line(position: Option<JournalPosition>) -> String {
    let mut lines = Lines::default();
    position.into_iter().for_each(|position| replies::write_position(position, None, &mut lines));
    lines.into_text()
}

impl Evaluation {
    /// Starts to evaluate a reply with notifications.
    pub(super) fn new(held: Held, answer: ConnectResponse, csv: web::Data<Csv>, tenant: TenantId) -> Self {
        let notifications = answer.delivery.notifications.clone();
        let templates = answer.templates.as_ref().map(Arc::clone).unwrap_or_default();
        let evaluated = Box::pin(results::evaluate(csv, tenant, templates, notifications));
        Self { held: Some(held), answer, evaluated }
    }

    /// Consumes the first `count` notifications, which reached the client or matched no template. The others
    /// go back to the session.
    pub(super) fn taken(mut self, count: usize) -> (ConnectResponse, Option<Held>) {
        let (mut answer, held) = (std::mem::take(&mut self.answer), self.held.take());
        let notifications = answer.delivery.notifications.split_off(count);
        if let Some(held) = held.as_ref().filter(|_| !notifications.is_empty()) {
            let delivery = Delivery { notifications, batch: answer.delivery.batch };
            held.give_back(ConnectResponse { delivery, ..ConnectResponse::default() });
        }
        (answer, held)
    }
}

impl Future for Evaluation {
    type Output = Result<Evaluated>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Evaluated>> {
        Poll::Ready(ready!(self.evaluated.as_mut().poll(cx)))
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            held.give_back(std::mem::take(&mut self.answer));
        }
    }
}
