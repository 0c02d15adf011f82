//! A connect that waits, whatever writes its answer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix::Addr;
use platform_actors::session::{Abandoned, Answer, ClientId, GoOn, SessionActor};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Replies;

/// A connect that waits for notifications. Dropping it unanswered tells the session that its client went away; what
/// it had received but not written goes back.
pub struct Held {
    pub(super) answer: oneshot::Receiver<Answer>,
    pub(super) session: Addr<SessionActor>,
    pub(super) client: ClientId,
    pub(super) id: Option<Box<RawValue>>,
    pub(super) answered: bool,
}

impl Held {
    /// Waits for the answer; the session may have ended meanwhile.
    pub async fn answer(&mut self) -> Answer {
        let answer = (&mut self.answer).await.unwrap_or_else(|_| Answer::unknown_client());
        self.answered = true;
        answer
    }

    /// Polls for the answer, for transports that are polled themselves.
    pub fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        Pin::new(&mut self.answer).poll(cx).map(|answer| {
            self.answered = true;
            answer.unwrap_or_else(|_| Answer::unknown_client())
        })
    }

    /// Waits further for an answer, after one that held nothing for the client (S-53).
    pub fn go_on(&mut self, connect: u64, hold: Duration) {
        let (reply_to, answer) = oneshot::channel();
        (self.answer, self.answered) = (answer, false);
        self.session.do_send(GoOn { connect, hold, reply_to });
    }

    /// Returns an answer that could not be written: its notifications stay for the next connect (B-22).
    pub fn give_back(self, answer: Answer) {
        self.session.do_send(Abandoned { unwritten: Some(answer.delivery) });
    }

    /// The whole answer of a long poll: notifications first, the connect reply last (B-07).
    pub fn encode(&self, replies: Vec<u8>, answer: &Answer) -> Vec<u8> {
        let mut replies = Replies(replies);
        replies.connected(self, answer);
        replies.finish()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        self.answer.close();
        let unwritten = self.answer.try_recv().ok().map(|answer| answer.delivery);
        self.session.do_send(Abandoned { unwritten });
    }
}
