//! The file that contains an archive. The `zip` crate reports failures of the disk and errors of the archive in the
//! same way. A failure of the disk is not the client's fault, so it is recorded here.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom};

use platform_model::error::Error;

/// A file that records read errors. Like [`std::fs::File`], it is read through a shared reference.
#[derive(Debug)]
pub(super) struct Disk<R> {
    file: RefCell<R>,
    failure: Cell<Option<ErrorKind>>,
}

impl<R> Disk<R> {
    pub(super) fn new(file: R) -> Self {
        Self { file: RefCell::new(file), failure: Cell::new(None) }
    }

    /// Returns the result of an operation that read the file, unless a read failed.
    ///
    /// # Errors
    /// `Unavailable` when a read failed; else the error of the result.
    pub(super) fn check_reads<T>(
        &self,
        result: platform_model::error::Result<T>,
    ) -> platform_model::error::Result<T> {
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
    /// A seek fails only for an invalid position, which is an error of the archive.
    fn seek(&mut self, position: SeekFrom) -> Result<u64> {
        self.file.borrow_mut().seek(position)
    }
}
