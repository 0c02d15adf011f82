//! The write side of an upgraded connection: the stream, and the bytes that the stream has not accepted yet. The task
//! of the connection owns both; other tasks of its thread may write directly, without the response body.

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

/// A handle that writes to an upgraded connection directly. The route finds it in the extensions of its request.
pub struct DirectWriter(Rc<dyn WriteAtOnce>);

trait WriteAtOnce {
    fn write(&self, bytes: &[u8]) -> bool;
}

impl<T: AsyncRead + AsyncWrite + Unpin> Outlet<T> {
    pub(super) fn new(io: T) -> Self {
        Self { io, unwritten: BytesMut::new(), task: None }
    }

    /// Stores the waker of the connection's task. A direct write wakes the task when bytes remain.
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

    /// Writes with the waker of the connection's task, so that the task is woken when the stream accepts more bytes.
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

    /// Writes all bytes and returns `true`; or writes nothing and returns `false`, because earlier bytes are still
    /// pending or the connection accepts nothing. If the stream accepts only some of the bytes, the task of the
    /// connection writes the rest.
    pub fn write(&self, bytes: &[u8]) -> bool {
        self.0.write(bytes)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> WriteAtOnce for RefCell<Outlet<T>> {
    fn write(&self, bytes: &[u8]) -> bool {
        let Ok(mut outlet) = self.try_borrow_mut() else { return false };
        // This write does not use up tokio's budget of the current task, because one task may write to ten thousand
        // connections before it yields.
        let written = unconstrained(poll_fn(|_| Poll::Ready(outlet.write(bytes)))).now_or_never();
        written.unwrap_or(false)
    }
}
