//! The connections of WebSockets to which a session of the same thread writes directly.
//!
//! A session usually runs on the thread of its connection. A notification then needs no message to the actor of the
//! socket and does not wake the connection's task: the session writes the frame that all subscribers share. When the
//! connection cannot take the frame at once, the session sends it to the actor, as it does to a socket of another
//! thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::server_key_hasher::ServerKeyHasher;
use crate::tables::shrink_if_sparse;

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OF_THREAD: RefCell<HashMap<u64, Rc<dyn FrameWriter>, ServerKeyHasher>> = RefCell::default();
}

/// Writes frames to the connection of a WebSocket.
pub trait FrameWriter {
    /// Writes a whole frame and returns `true`, or writes nothing and returns `false`, because earlier bytes are not
    /// written yet or the connection is ending.
    fn write(&self, frame: &[u8]) -> bool;
}

/// The registration of a connection with its thread. Sessions no longer find the connection after it is dropped.
#[derive(Debug)]
pub struct FrameWriterRegistration(FrameWriterKey);

/// The key of a registered connection. Only the thread of the connection finds it by this key. Keys are not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameWriterKey(u64);

impl FrameWriterRegistration {
    /// Registers a connection with the calling thread.
    pub fn new(writer: Rc<dyn FrameWriter>) -> Self {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        OF_THREAD.with_borrow_mut(|writers| writers.insert(number, writer));
        Self(FrameWriterKey(number))
    }

    /// Returns the key with which sessions find the connection.
    pub fn key(&self) -> FrameWriterKey {
        self.0
    }
}

impl Drop for FrameWriterRegistration {
    fn drop(&mut self) {
        // The table is gone when the thread is ending.
        let removed = OF_THREAD.try_with(|writers| {
            let mut writers = writers.borrow_mut();
            let removed = writers.remove(&self.0.0);
            shrink_if_sparse(&mut writers);
            removed
        });
        drop(removed);
    }
}

impl FrameWriterKey {
    /// Writes a frame to the connection if the connection belongs to this thread. See [`FrameWriter::write`].
    pub(super) fn write(self, frame: &[u8]) -> bool {
        OF_THREAD.with_borrow(|writers| writers.get(&self.0).is_some_and(|writer| writer.write(frame)))
    }
}
