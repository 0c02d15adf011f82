//! From what was committed to the modules that read it: bounded queues that nobody waits for.
//!
//! Whoever writes puts what it published here and goes on; what a module cannot keep up with makes it stop, not the writer. A
//! module is woken only while it rests: a busy one looks by itself. Where nothing is read nothing is made: one atomic load says
//! so.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use parking_lot::{Mutex, RwLock};

use super::stream::{Input, InputStream, InputStreams, Row};
use crate::model::id::ModuleId;

/// What may wait for one module, in bytes: many small ones are bounded by their number, few large ones by this.
const WAITING_BYTES: usize = 64 << 20;

/// The modules of a tenant that this process runs, as those see them who write. Shared; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Feeds(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// What modules read, here or elsewhere.
    wanted: AtomicU16,
    /// What modules read that another process runs.
    elsewhere: AtomicU16,
    missed: AtomicBool,
    fed: AtomicBool,
    modules: RwLock<Vec<Arc<Reader>>>,
}

/// The receiving end of one module. Dropped, it is fed no more.
pub(crate) struct Feed {
    feeds: Feeds,
    reader: Arc<Reader>,
}

/// One module, between those who write and itself.
struct Reader {
    module: ModuleId,
    appetite: Appetite,
    capacity: usize,
    wake: Box<dyn Fn() + Send + Sync>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    fed: VecDeque<Fed>,
    bytes: usize,
    module: Activity,
    overflowed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Activity {
    /// Waits to be woken.
    #[default]
    Resting,
    /// Will look for more by itself.
    Busy,
}

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

/// What a module does for which nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Without {
    /// It rests, and is woken when there is more.
    Rests,
    /// It looks again by itself.
    LooksAgain,
}

impl Feeds {
    /// Whether some module of the tenant reads this stream, here or elsewhere; so that nobody makes an [`Input`] for nothing.
    pub(crate) fn want(&self, stream: InputStream) -> bool {
        InputStreams::of_bits(self.0.wanted.load(Ordering::Acquire)).contains(stream)
    }

    /// Hands on to every module that reads its stream. Never waits.
    pub(crate) fn feed(&self, input: Input) {
        self.offer(input.stream(), || input);
    }

    /// As [`feed`](Self::feed), of what is made only when a module here reads the stream.
    pub(crate) fn offer(&self, stream: InputStream, make: impl FnOnce() -> Input) {
        let modules = self.0.modules.read();
        let mut readers = modules.iter().filter(|module| module.appetite.inputs.contains(stream)).peekable();
        if readers.peek().is_none() {
            let elsewhere = InputStreams::of_bits(self.0.elsewhere.load(Ordering::Acquire));
            if elsewhere.contains(stream) {
                note(&self.0.missed);
            }
            return;
        }
        note(&self.0.fed);
        let input = Arc::new(make());
        readers.for_each(|module| module.push(Fed::Input(input.clone())));
    }

    /// Hands a row that module `from` inserted to the other modules that read the stream.
    pub(crate) fn forward(&self, from: ModuleId, stream: &Arc<str>, row: &Arc<Row>) {
        for module in self.0.modules.read().iter() {
            if module.module != from && module.appetite.streams.contains(stream) {
                module.push(Fed::Row(stream.clone(), row.clone()));
            }
        }
    }

    /// Begins to feed a module. `wake` is called when something comes while it rests, by whoever wrote that: it must not wait.
    /// `capacity` is how much may wait.
    pub(crate) fn attach(
        &self,
        module: ModuleId,
        appetite: Appetite,
        capacity: usize,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Feed {
        let reader = Arc::new(Reader { module, appetite, capacity, wake, waiting: Mutex::default() });
        let mut modules = self.0.modules.write();
        modules.push(reader.clone());
        self.sum_up(&modules);
        Feed { feeds: self.clone(), reader }
    }

    /// What deployed modules of the tenant read that another process runs; empty when this process runs them, or there are none.
    /// What is wanted and nobody here is fed with counts as [missed](Self::take_missed).
    pub(crate) fn set_elsewhere(&self, inputs: InputStreams) {
        let modules = self.0.modules.write();
        self.0.elsewhere.store(inputs.bits(), Ordering::Release);
        self.sum_up(&modules);
    }

    /// Whether something came since it was last asked that modules elsewhere want.
    pub(crate) fn take_missed(&self) -> bool {
        self.0.missed.swap(false, Ordering::AcqRel)
    }

    /// Whether something came since it was last asked that modules here were fed with.
    pub(crate) fn take_fed(&self) -> bool {
        self.0.fed.swap(false, Ordering::AcqRel)
    }

    /// Works out what is wanted; the modules are locked meanwhile.
    fn sum_up(&self, modules: &[Arc<Reader>]) {
        let elsewhere = InputStreams::of_bits(self.0.elsewhere.load(Ordering::Acquire));
        let wanted = modules.iter().map(|module| module.appetite.inputs).fold(elsewhere, InputStreams::union);
        self.0.wanted.store(wanted.bits(), Ordering::Release);
    }
}

impl Feed {
    /// The next, at most so many and at least one. When there is none the module rests, if it says so.
    pub(crate) fn take(&self, most: usize, without: Without) -> Taken {
        let mut waiting = self.reader.waiting.lock();
        if waiting.overflowed {
            return Taken::Overflowed;
        }
        let count = waiting.fed.len().min(most.max(1));
        let taken: Vec<Fed> = waiting.fed.drain(..count).collect();
        waiting.bytes -= taken.iter().map(Fed::weight).sum::<usize>();
        if taken.is_empty() && without == Without::Rests {
            waiting.module = Activity::Resting;
        }
        Taken::Some(taken)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut modules = self.feeds.0.modules.write();
        modules.retain(|module| !Arc::ptr_eq(module, &self.reader));
        self.feeds.sum_up(&modules);
    }
}

impl Reader {
    /// Puts something at the end, and wakes the module if it rests.
    fn push(&self, fed: Fed) {
        let mut waiting = self.waiting.lock();
        if waiting.overflowed {
            return;
        }
        let bytes = waiting.bytes + fed.weight();
        if waiting.fed.len() >= self.capacity || bytes > WAITING_BYTES {
            // What waits is worth nothing without what is lost.
            *waiting = Waiting { module: waiting.module, overflowed: true, ..Waiting::default() };
        } else {
            waiting.fed.push_back(fed);
            waiting.bytes = bytes;
        }
        let was = std::mem::replace(&mut waiting.module, Activity::Busy);
        drop(waiting);
        if was == Activity::Resting {
            (self.wake)();
        }
    }
}

impl Fed {
    /// See [`Input::weight`].
    fn weight(&self) -> usize {
        match self {
            Self::Input(input) => input.weight as usize,
            Self::Row(_, row) => row.weight as usize,
        }
    }
}

/// Sets a flag that is mostly set already, without taking it from the other threads' caches then.
fn note(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Feeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules: Vec<ModuleId> = self.0.modules.read().iter().map(|module| module.module).collect();
        f.debug_struct("Feeds").field("modules", &modules).finish_non_exhaustive()
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("module", &self.reader.module).finish_non_exhaustive()
    }
}
