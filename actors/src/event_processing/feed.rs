//! From what was committed to the modules that read it: bounded queues that nobody waits for.

use std::sync::Arc;

use super::stream::{Input, InputStream, InputStreams, Row};
use crate::model::id::ModuleId;

/// The modules of a tenant that this process runs, as those see them who write. Shared; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feeds;

/// The receiving end of one module. Dropped, it is fed no more.
#[derive(Debug)]
pub(crate) struct Feed;

/// What a module is fed with.
#[derive(Debug, Clone)]
pub(crate) enum Fed {
    Input(Arc<Input>),
    /// A row that another module inserted into a stream.
    Row(Arc<str>, Arc<Row>),
}

/// What a module reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Appetite {
    pub(crate) inputs: InputStreams,
    pub(crate) streams: Vec<Arc<str>>,
}

/// What waits for a module.
#[derive(Debug)]
pub(crate) enum Taken {
    /// In the order it came; none: the module rests, and is woken when there is more.
    Some(Vec<Fed>),
    /// More came than may wait: something was lost, so the module cannot go on.
    Overflowed,
}

impl Feeds {
    /// Whether some module of the tenant reads this stream, here or elsewhere; so that nobody makes an [`Input`] for nothing.
    pub(crate) fn want(&self, stream: InputStream) -> bool {
        let _ = stream;
        false
    }

    /// Hands on to every module that reads its stream. Never waits.
    pub(crate) fn feed(&self, input: Input) {
        let _ = input;
    }

    /// Hands a row that module `from` inserted to the other modules that read the stream.
    pub(crate) fn forward(&self, from: ModuleId, stream: &Arc<str>, row: &Arc<Row>) {
        let _ = (from, stream, row);
    }

    /// Begins to feed a module. `wake` is called when something comes while it rests.
    pub(crate) fn attach(
        &self,
        module: ModuleId,
        appetite: Appetite,
        capacity: usize,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Feed {
        let _ = (module, appetite, capacity, wake);
        Feed
    }

    /// What deployed modules of the tenant read that another process runs; empty when this process runs them, or there are none.
    /// What is wanted and nobody here is fed with counts as [missed](Self::take_missed).
    pub(crate) fn set_elsewhere(&self, inputs: InputStreams) {
        let _ = inputs;
    }

    /// Whether something came since it was last asked that modules elsewhere want.
    pub(crate) fn take_missed(&self) -> bool {
        false
    }

    /// Whether something came since it was last asked that modules here were fed with.
    pub(crate) fn take_fed(&self) -> bool {
        false
    }
}

impl Feed {
    /// The next, at most so many.
    pub(crate) fn take(&self, most: usize) -> Taken {
        let _ = most;
        Taken::Some(Vec::new())
    }
}
