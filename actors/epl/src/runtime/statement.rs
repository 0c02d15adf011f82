//! A `select` with all its partitions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::instance::Instance;
use super::join_conditions::JoinKeys;
use super::named_windows::{NamedWindow, WindowChange};
use super::partitions::Partitions;
use super::step::Step;
use super::timers::{Owner, Timers};
use crate::plan::{From, ModulePlan, SelectPlan, Stream};
use crate::value::StreamEvent;

/// The approximate size, in bytes, of the state of a statement in one partition.
const INSTANCE: usize = 512;

/// The parts of the module that a statement can see.
pub(super) struct Surroundings<'a> {
    pub(super) module: &'a ModulePlan,
    /// The position of the statement in the module.
    pub(super) statement: usize,
    pub(super) contexts: &'a [Partitions],
    pub(super) windows: &'a [NamedWindow],
    pub(super) timers: &'a mut Timers,
}

/// The state of a `select`.
#[derive(Debug)]
pub(super) struct Select {
    join_keys: JoinKeys,
    /// The states by the number of the partition; a single one without a context. A state is created by the first
    /// event that reaches it, that of a pattern with the partition.
    instances: Vec<Option<Box<Instance>>>,
    /// The partition of each row of a named window: by the stream of the window and the number of the row, since each
    /// window numbers its own rows.
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

    /// Creates the state together with its partition: timers of a pattern run from then on.
    pub(super) fn begin(
        &mut self,
        plan: &SelectPlan,
        partition: usize,
        around: &mut Surroundings<'_>,
        step: &mut Step<'_>,
    ) {
        self.with(plan, partition, around, step, |_, _, _| {});
    }

    /// Passes an event of a stream to its partition.
    pub(super) fn take_event(
        &mut self,
        plan: &SelectPlan,
        stream: usize,
        event: &StreamEvent,
        partition: usize,
        around: &mut Surroundings<'_>,
        step: &mut Step<'_>,
    ) {
        self.with(plan, partition, around, step, |instance, keys, step| {
            instance.take_event(plan, keys, stream, event, step);
        });
    }

    /// Passes on a change of a named window; `located` holds the partitions of the new rows, in their order. Without
    /// it, the window concerns every existing partition.
    pub(super) fn take_change(
        &mut self,
        plan: &SelectPlan,
        stream: usize,
        change: &WindowChange,
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

    /// Divides a change among the partitions it concerns.
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

    /// Handles a deadline of a partition.
    pub(super) fn advance(
        &mut self,
        plan: &SelectPlan,
        partition: usize,
        deadline: i64,
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

    /// Calls `act` with the state of a partition, which is created if there is none, and arms its next deadline.
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

    /// Returns a new state for a partition: where it reads a window that is shared by all partitions, it starts with
    /// the window's contents.
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
        let mut instance = Instance::new(plan, streams, keys, step.world);
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
