//! Feeds modules with committed changes through bounded queues that never block the writer.
//!
//! A writer appends what it published and continues. A module that cannot keep up is stopped; the writer is not
//! slowed down. A module is woken only while it is idle, because a busy one polls its queue itself. If no
//! module reads a stream, no input is created; checking this takes one atomic load.

#[cfg(test)]
mod tests;

use platform_epl::plan::{ModulePlan, Stream};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use parking_lot::{Mutex, RwLock};
use platform_model::id::ModuleId;

use platform_epl::stream::Input;
use platform_epl::value::Row;
use platform_model::realtime::input_stream::{InputStream, InputStreams};

/// The maximum number of bytes that may wait for one module. The number of inputs limits many small ones; this
/// limits few large ones.
const WAITING_BYTES: usize = 64 << 20;

/// The modules of a tenant that this process runs, from the writers' point of view. It is shared and cheap to
/// clone.
#[derive(Clone, Default)]
pub(crate) struct Feeds(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// The streams that modules read.
    wanted: AtomicU16,
    modules: RwLock<Vec<Arc<Reader>>>,
}

/// The receiving end of one module. When it is dropped, the module receives nothing more.
pub(crate) struct Feed {
    feeds: Feeds,
    reader: Arc<Reader>,
}

/// The queue between the writers and one module.
struct Reader {
    module: ModuleId,
    appetite: ReadStreams,
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
    /// The module is idle and must be woken.
    #[default]
    Resting,
    /// The module is running and will check the queue itself.
    Busy,
}

/// An element of a module's feed.
#[derive(Debug, Clone)]
pub(crate) enum Fed {
    Input(Arc<Input>),
    /// A row that another module inserted into a stream.
    Row(Arc<str>, Arc<Row>),
}

/// The streams that a module reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadStreams {
    pub(crate) inputs: InputStreams,
    pub(crate) streams: Vec<Arc<str>>,
}

impl ReadStreams {
    /// Returns what a module with this plan must be fed with.
    pub(crate) fn of(plan: &ModulePlan) -> Self {
        let named = plan.streams.iter().filter_map(|stream| match stream {
            Stream::Named(name, _) => Some(name.clone()),
            Stream::Input(_) | Stream::Window(_) => None,
        });
        Self { inputs: plan.inputs, streams: named.collect() }
    }
}

/// The result of taking elements from the queue.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The elements in order of arrival. If there are none, the module is idle and will be woken.
    Some(Vec<Fed>),
    /// The queue overflowed and elements were lost, so the module cannot continue.
    Overflowed,
}

/// The reaction of a module to an empty queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenEmpty {
    /// It becomes idle and is woken when an element arrives.
    Rest,
    /// It checks again by itself.
    CheckAgain,
}

impl Feeds {
    /// Returns whether any module in this process reads this stream. If not, the caller need not create an [`Input`].
    pub(crate) fn want(&self, stream: InputStream) -> bool {
        InputStreams::of_bits(self.0.wanted.load(Ordering::Acquire)).contains(stream)
    }

    /// Passes an input to every module that reads its stream. Never waits.
    pub(crate) fn feed(&self, input: Input) {
        self.offer(input.stream(), || input);
    }

    /// Does the same as [`feed`](Self::feed), but creates the input only if a module in this process reads the
    /// stream.
    pub(crate) fn offer(&self, stream: InputStream, make: impl FnOnce() -> Input) {
        let modules = self.0.modules.read();
        let mut readers = modules.iter().filter(|module| module.appetite.inputs.contains(stream)).peekable();
        if readers.peek().is_none() {
            return;
        }
        let input = Arc::new(make());
        readers.for_each(|module| module.push(Fed::Input(input.clone())));
    }

    /// Passes a row that module `from` inserted to the other modules that read the stream.
    pub(crate) fn forward(&self, from: ModuleId, stream: &Arc<str>, row: &Arc<Row>) {
        for module in self.0.modules.read().iter() {
            if module.module != from && module.appetite.streams.contains(stream) {
                module.push(Fed::Row(stream.clone(), row.clone()));
            }
        }
    }

    /// Starts feeding a module. The writer of an element calls `wake` if the module is idle, so `wake` must not
    /// block. `capacity` is the maximum number of waiting elements.
    pub(crate) fn attach(
        &self,
        module: ModuleId,
        appetite: ReadStreams,
        capacity: usize,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Feed {
        let reader = Arc::new(Reader { module, appetite, capacity, wake, waiting: Mutex::default() });
        let mut modules = self.0.modules.write();
        modules.push(reader.clone());
        self.sum_up(&modules);
        Feed { feeds: self.clone(), reader }
    }

    /// Recomputes the wanted streams; the caller holds the lock on the modules.
    fn sum_up(&self, modules: &[Arc<Reader>]) {
        let read = modules.iter().map(|module| module.appetite.inputs);
        let wanted = read.fold(InputStreams::default(), InputStreams::union);
        self.0.wanted.store(wanted.bits(), Ordering::Release);
    }
}

impl Feed {
    /// Takes the next elements: at least one, if any wait, and at most `most`. If there are none and `when_empty`
    /// requests it, the module becomes idle.
    pub(crate) fn take(&self, most: usize, when_empty: WhenEmpty) -> Taken {
        let mut waiting = self.reader.waiting.lock();
        if waiting.overflowed {
            return Taken::Overflowed;
        }
        let count = waiting.fed.len().min(most.max(1));
        let taken: Vec<Fed> = waiting.fed.drain(..count).collect();
        waiting.bytes -= taken.iter().map(Fed::weight).sum::<usize>();
        if taken.is_empty() && when_empty == WhenEmpty::Rest {
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
    /// Appends an element and wakes the module if it is idle.
    fn push(&self, fed: Fed) {
        let mut waiting = self.waiting.lock();
        if waiting.overflowed {
            return;
        }
        let bytes = waiting.bytes + fed.weight();
        if waiting.fed.len() >= self.capacity || bytes > WAITING_BYTES {
            // The waiting elements are useless once others are lost, so they are dropped.
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
    /// Returns the approximate size in bytes; see [`Input::weight`].
    fn weight(&self) -> usize {
        match self {
            Self::Input(input) => input.weight as usize,
            Self::Row(_, row) => row.weight as usize,
        }
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
