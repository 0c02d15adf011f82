//! The bytes that a client still sends after its last response are read and discarded (C-07b).
//!
//! A connection that is closed while its client is sending is reset, and a reset destroys a response that the client
//! has not read. Therefore the server closes its own half, which says that the response is complete, and reads on
//! until the request has ended, the client closes, or a bound is reached.

use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};

use super::clock::{Clock, Deadline};
use super::patience::Pace;
use super::stream::Stream;

/// The maximum number of bytes that are discarded at the end of a connection.
const MOST: usize = 128 << 20;
/// The longest time for which bytes are discarded.
const LONGEST: Duration = Duration::from_secs(300);
/// The maximum number of bytes that one read returns.
const AT_ONCE: usize = 8 << 10;

/// The bounds within which the bytes of a client are discarded.
#[derive(Debug)]
pub struct Discard {
    left: usize,
    pace: Pace,
    pause: Deadline,
    end: Deadline,
}

impl Discard {
    /// Starts to discard what arrives at this pace.
    pub fn new(clock: &Rc<Clock>, mut pace: Pace) -> Self {
        let pause = Deadline::take(clock, pace.wait());
        Self { left: MOST, pace, pause, end: Deadline::take(clock, LONGEST) }
    }

    /// Reads and discards. `goes_on` gets the discarded bytes and returns whether more of them will follow. Ready when
    /// none will, when the client has closed or broken the connection, or when a bound is reached.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
        mut goes_on: impl FnMut(&[u8]) -> bool,
    ) -> Poll<()> {
        loop {
            let mut room = [MaybeUninit::uninit(); AT_ONCE];
            let mut read = ReadBuf::uninit(&mut room);
            match Pin::new(&mut *stream).poll_read(cx, &mut read) {
                Poll::Pending => return self.poll_bounds(cx),
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(())) => {
                    let bytes = read.filled();
                    if bytes.is_empty() || !goes_on(bytes) || self.took(bytes.len()).is_ready() {
                        return Poll::Ready(());
                    }
                }
            }
        }
    }

    /// Records discarded bytes. Ready when they reach the bound.
    pub(super) fn took(&mut self, bytes: usize) -> Poll<()> {
        self.left = self.left.saturating_sub(bytes);
        self.pace.arrived(bytes);
        self.pause.set(self.pace.wait());
        if self.left == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready when the client has paused or sent for too long.
    pub(super) fn poll_bounds(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.pause.poll(cx).is_ready() { Poll::Ready(()) } else { self.end.poll(cx) }
    }
}

#[cfg(test)]
mod tests {
    use platform_model::limits::Limits;

    use super::*;

    #[tokio::test]
    async fn bytes_are_discarded_up_to_a_bound() {
        let mut discard = Discard::new(&Clock::new(), Pace::of_discarded(&Limits::default()));

        assert!(discard.took(MOST - 1).is_pending());
        assert!(discard.took(1).is_ready());
    }
}
