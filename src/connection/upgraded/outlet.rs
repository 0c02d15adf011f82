//! The stream of an upgraded connection and the bytes that it has not accepted yet. The task of the connection owns
//! both; other tasks of its thread may write past the response body.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, BytesMut};
use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::unconstrained;

pub(super) struct Outlet<T> {
    io: T,
    /// The bytes that the connection has not accepted yet.
    pub(super) unwritten: BytesMut,
    /// The waker of the task of the connection; `None` until it waits for the first time.
    task: Option<Waker>,
}

/// Writes to an upgraded connection at once. The route finds it in the extensions of its request.
pub(crate) struct DirectWriter(Rc<dyn WriteAtOnce>);

trait WriteAtOnce {
    fn write(&self, bytes: &[u8]) -> bool;
}

impl<T: AsyncRead + AsyncWrite + Unpin> Outlet<T> {
    pub(super) fn new(io: T) -> Self {
        Self { io, unwritten: BytesMut::new(), task: None }
    }

    /// Remembers the task of the connection, which a direct write wakes when it leaves bytes behind.
    pub(super) fn belongs_to(&mut self, cx: &Context<'_>) {
        if !self.task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            self.task = Some(cx.waker().clone());
        }
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, into)
    }

    /// Ready when the connection has accepted all bytes.
    pub(super) fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unwritten.is_empty() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.unwritten))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.unwritten.advance(written),
            }
        }
        self.unwritten = BytesMut::new();
        Pin::new(&mut self.io).poll_flush(cx)
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    /// Writes in the name of the connection's task, which is woken as if it had written itself.
    fn write(&mut self, bytes: &[u8]) -> bool {
        let Self { io, unwritten, task: Some(task) } = self else { return false };
        if !unwritten.is_empty() {
            return false;
        }
        let cx = &mut Context::from_waker(task);
        match Pin::new(&mut *io).poll_write(cx, bytes) {
            Poll::Ready(Ok(written)) if written == bytes.len() => {
                // If the stream cannot flush yet, it wakes the task, which flushes before everything else.
                if let Poll::Ready(Err(_)) = Pin::new(io).poll_flush(cx) {
                    task.wake_by_ref();
                }
                true
            }
            Poll::Ready(Ok(written @ 1..)) => {
                unwritten.extend_from_slice(&bytes[written..]);
                task.wake_by_ref();
                true
            }
            Poll::Pending => false,
            // The task finds the error when it writes.
            Poll::Ready(_) => {
                task.wake_by_ref();
                false
            }
        }
    }
}

impl DirectWriter {
    pub(super) fn new<T: AsyncRead + AsyncWrite + Unpin + 'static>(outlet: Rc<RefCell<Outlet<T>>>) -> Self {
        Self(outlet)
    }

    /// Writes all bytes and returns `true`, or none and returns `false`, because earlier bytes are still to be written
    /// or the connection accepts nothing. The task of the connection writes what the connection does not accept of them
    /// at once.
    pub(crate) fn write(&self, bytes: &[u8]) -> bool {
        self.0.write(bytes)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> WriteAtOnce for RefCell<Outlet<T>> {
    fn write(&self, bytes: &[u8]) -> bool {
        let Ok(mut outlet) = self.try_borrow_mut() else { return false };
        // One task may write to ten thousand connections in its turn, so the writes do not count towards its budget.
        let written = unconstrained(poll_fn(|_| Poll::Ready(outlet.write(bytes)))).now_or_never();
        written.unwrap_or(false)
    }
}
