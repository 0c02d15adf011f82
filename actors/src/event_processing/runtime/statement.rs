//! A `select` with all its partitions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::instance::Instance;
use super::join_conditions::JoinKeys;
use super::named_windows::{NamedWindow, WindowChange};
use super::partitions::Partitions;
use super::step::Step;
use super::timers::{Owner, Timers};
use crate::event_processing::plan::{From, ModulePlan, SelectPlan, Stream};
use crate::event_processing::stream::StreamEvent;

/// About how many bytes the state of a statement takes in one partition.
const INSTANCE: usize = 512;

/// What a statement sees of its module.
pub(super) struct Surroundings<'a> {
    pub(super) module: &'a ModulePlan,
    /// Its place in the module.
    pub(super) statement: usize,
    pub(super) contexts: &'a [Partitions],
    pub(super) windows: &'a [NamedWindow],
    pub(super) timers: &'a mut Timers,
}

/// State of a `select`.
#[derive(Debug)]
pub(super) struct Select {
    join_keys: JoinKeys,
    /// By the number of the partition; a single one without a context. A state begins with the first event that reaches it, that of a
    /// pattern with the partition.
    instances: Vec<Option<Box<Instance>>>,
    /// In which partition a row of a named window is: by the stream of the window, for each numbers its own rows.
    owners: HashMap<(usize, u64), usize>,
}

impl Select {
    pub(super) fn new(plan: &SelectPlan) -> Self {
        let join_keys = match plan.from {
            From::Join(_) => JoinKeys::of(plan.condition.as_ref()),
            _ => JoinKeys::default(),
        };
        Self { join_keys, instances: Vec::new(), owners: HashMap::new() }
    }

    /// Begins with its partition: timers of a pattern run from then on.
    pub(super) fn begin(
        &mut self,
        plan: &SelectPlan,
        partition: usize,
        around: &mut Surroundings<'_>,
        step: &mut Step<'_>,
    ) {
        self.with(plan, partition, around, step, |_, _, _| {});
    }

    /// An event of a stream comes to its partition.
    pub(super) fn take_event(
        &mut self,
        plan: &SelectPlan,
        (stream, event): (usize, &StreamEvent),
        partition: usize,
        around: &mut Surroundings<'_>,
        step: &mut Step<'_>,
    ) {
        self.with(plan, partition, around, step, |instance, keys, step| {
            instance.take_event(plan, keys, stream, event, step);
        });
    }

    /// The contents of a named window changed; `located` tells where the new rows belong, in their order. Without, the window
    /// concerns every partition there is.
    pub(super) fn take_change(
        &mut self,
        plan: &SelectPlan,
        (stream, change): (usize, &WindowChange),
        located: Option<&[Option<usize>]>,
        around: &mut Surroundings<'_>,
        step: &mut Step<'_>,
    ) {
        let mut tell = |state: &mut Self, partition, change: &WindowChange| {
            state.with(plan, partition, around, step, |instance, keys, step| {
                instance.take_change(plan, keys, stream, change, step);
            });
        };
        match (plan.context, located) {
            (None, _) => tell(self, 0, change),
            (Some(_), None) => {
                for partition in 0..self.instances.len() {
                    if self.instances[partition].is_some() {
                        tell(self, partition, change);
                    }
                }
            }
            (Some(_), Some(located)) => {
                for (partition, part) in self.divide(stream, change, located) {
                    tell(self, partition, &part);
                }
            }
        }
    }

    /// What of a change concerns which partition.
    fn divide(
        &mut self,
        stream: usize,
        change: &WindowChange,
        located: &[Option<usize>],
    ) -> BTreeMap<usize, WindowChange> {
        let mut parts: BTreeMap<usize, WindowChange> = BTreeMap::new();
        for ((number, event), partition) in change.entered.iter().zip(located) {
            if let Some(partition) = partition {
                self.owners.insert((stream, *number), *partition);
                parts.entry(*partition).or_default().entered.push((*number, event.clone()));
            }
        }
        for number in &change.left {
            if let Some(partition) = self.owners.remove(&(stream, *number)) {
                parts.entry(partition).or_default().left.push(*number);
            }
        }
        parts
    }

    /// A deadline of a partition went off.
    pub(super) fn advance(
        &mut self,
        plan: &SelectPlan,
        (partition, deadline): (usize, i64),
        around: &mut Surroundings<'_>,
        step: &mut Step<'_>,
    ) {
        let Some(Some(instance)) = self.instances.get_mut(partition) else { return };
        if instance.armed.went_off(deadline) {
            self.with(plan, partition, around, step, |instance, keys, step| {
                instance.advance(plan, keys, step)
            });
        }
    }

    /// Lets the state of a partition act, which begins if there is none, and sees to its next deadline.
    fn with(
        &mut self,
        plan: &SelectPlan,
        partition: usize,
        around: &mut Surroundings<'_>,
        step: &mut Step<'_>,
        act: impl FnOnce(&mut Instance, &JoinKeys, &mut Step<'_>),
    ) {
        if self.instances.len() <= partition {
            self.instances.resize_with(partition + 1, || None);
        }
        if self.instances[partition].is_none() {
            self.instances[partition] = Some(Box::new(self.started(plan, partition, around, step)));
        }
        if let Some(instance) = &mut self.instances[partition] {
            act(instance, &self.join_keys, step);
            let deadline = instance.next_deadline();
            let owner = Owner::Statement { statement: around.statement, partition };
            around.timers.arm(owner, &mut instance.armed, deadline);
        }
    }

    /// The state of a partition at its beginning: where it reads a window that belongs to all partitions, it starts with its contents.
    fn started(
        &self,
        plan: &SelectPlan,
        partition: usize,
        around: &Surroundings<'_>,
        step: &mut Step<'_>,
    ) -> Instance {
        let keys =
            plan.context.map_or_else(|| Arc::from([]), |context| around.contexts[context].keys(partition));
        let streams = &around.module.streams;
        let mut instance = Instance::new(plan, streams, keys, step.world.now);
        step.retained.bytes += INSTANCE;
        if let (Some(context), From::Join(sources)) = (plan.context, &plan.from) {
            let parts = &around.module.contexts[context].partitions;
            for source in sources.iter().filter(|source| source.view.is_none()) {
                let is_shared = !parts.iter().any(|part| part.stream == source.stream);
                if let (Stream::Window(window), true) = (&streams[source.stream], is_shared) {
                    let contents = around.windows[*window].contents();
                    let entered = contents.map(|(number, event)| (number, event.clone())).collect();
                    let change = WindowChange { entered, left: Vec::new() };
                    instance.take_change(plan, &self.join_keys, source.stream, &change, step);
                }
            }
        }
        instance
    }
}
