//! The file under an archive. The crate reports what a disk does not give and what an archive gets wrong by the same errors;
//! the first is not the client's fault, so it is noted here.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom};

use platform_actors::Error;

/// See the module. As [`std::fs::File`], it is read through a shared reference.
#[derive(Debug)]
pub(super) struct Disk<R> {
    file: RefCell<R>,
    failure: Cell<Option<ErrorKind>>,
}

impl<R> Disk<R> {
    pub(super) fn new(file: R) -> Self {
        Self { file: RefCell::new(file), failure: Cell::new(None) }
    }

    /// Gives the result of something that read the file, unless it could not be read.
    ///
    /// # Errors
    /// `Unavailable` when the file could not be read; else those of the result.
    pub(super) fn judge<T>(&self, result: platform_actors::Result<T>) -> platform_actors::Result<T> {
        match self.failure.get() {
            Some(kind) => Err(Error::unavailable(format!("an archive cannot be read: {kind}"))),
            None => result,
        }
    }
}

impl<R: Read> Read for &Disk<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.file.borrow_mut().read(buffer);
        read.inspect_err(|error| self.failure.set(Some(error.kind())))
    }
}

impl<R: Seek> Seek for &Disk<R> {
    /// One that fails is for a place that no file has, and says so in the archive.
    fn seek(&mut self, position: SeekFrom) -> Result<u64> {
        self.file.borrow_mut().seek(position)
    }
}
