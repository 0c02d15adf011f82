//! Looks up the statements that an event concerns by its stream, so that a module does not examine all of its
//! statements.

use std::collections::HashMap;
use std::sync::Arc;

use platform_model::realtime::input_stream::InputStream;

use crate::plan::{From, ModulePlan, StatementKind, Stream, Target};
use crate::stream::OutputStream;

/// The routes from streams to statements. Streams are identified by their positions in the plan.
#[derive(Debug)]
pub(super) struct Routes {
    inputs: [Option<usize>; InputStream::ALL.len()],
    names: HashMap<Arc<str>, usize>,
    /// The output streams that the module inserts into and reads itself.
    outputs: HashMap<OutputStream, usize>,
    windows: Vec<Option<usize>>,
    /// For each stream, the statements that read it, in their order.
    readers: Vec<Vec<usize>>,
    /// For each stream, the contexts that partition it.
    contexts: Vec<Vec<usize>>,
    /// For each context, the patterns that begin with a partition of it, and the first statement that has it.
    patterns: Vec<Vec<usize>>,
    first_of_context: Vec<usize>,
}

impl Routes {
    pub(super) fn new(plan: &ModulePlan) -> Self {
        let mut routes = Self {
            inputs: [None; InputStream::ALL.len()],
            names: HashMap::new(),
            outputs: HashMap::new(),
            windows: vec![None; plan.windows.len()],
            readers: vec![Vec::new(); plan.streams.len()],
            contexts: vec![Vec::new(); plan.streams.len()],
            patterns: vec![Vec::new(); plan.contexts.len()],
            first_of_context: vec![usize::MAX; plan.contexts.len()],
        };
        for (place, stream) in plan.streams.iter().enumerate() {
            match stream {
                Stream::Input(input) => routes.inputs[*input as usize] = Some(place),
                Stream::Named(name, _) => {
                    routes.names.insert(name.clone(), place);
                }
                Stream::Window(window) => routes.windows[*window] = Some(place),
            }
        }
        for (number, context) in plan.contexts.iter().enumerate() {
            for part in &context.partitions {
                push_once(&mut routes.contexts[part.stream], number);
            }
        }
        for (number, statement) in plan.statements.iter().enumerate() {
            routes.add(number, &statement.kind);
        }
        routes
    }

    pub(super) fn of_input(&self, stream: InputStream) -> Option<usize> {
        self.inputs[stream as usize]
    }

    pub(super) fn of_name(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    pub(super) fn of_output(&self, stream: OutputStream) -> Option<usize> {
        self.outputs.get(&stream).copied()
    }

    pub(super) fn of_window(&self, window: usize) -> Option<usize> {
        self.windows[window]
    }

    pub(super) fn readers(&self, stream: usize) -> &[usize] {
        &self.readers[stream]
    }

    pub(super) fn contexts(&self, stream: usize) -> &[usize] {
        &self.contexts[stream]
    }

    pub(super) fn patterns(&self, context: usize) -> &[usize] {
        &self.patterns[context]
    }

    /// Returns the statement to which a fault in the keys of a context is attributed.
    pub(super) fn first_of_context(&self, context: usize) -> usize {
        match self.first_of_context[context] {
            usize::MAX => 0,
            statement => statement,
        }
    }

    fn add(&mut self, number: usize, kind: &StatementKind) {
        match kind {
            StatementKind::Declaration => {}
            StatementKind::Set { trigger, .. } | StatementKind::Delete { trigger, .. } => {
                push_once(&mut self.readers[trigger.stream], number);
            }
            StatementKind::Select(select) => {
                if let Some(Target::Output(stream)) = select.into
                    && let Some(place) = self.of_name(stream.name())
                {
                    self.outputs.insert(stream, place);
                }
                if let Some(context) = select.context {
                    let first = &mut self.first_of_context[context];
                    *first = number.min(*first);
                }
                match &select.from {
                    From::One(source) => push_once(&mut self.readers[source.stream], number),
                    From::Join(sources) => {
                        for source in sources.iter() {
                            push_once(&mut self.readers[source.stream], number);
                        }
                    }
                    From::Pattern { pattern, .. } => {
                        for stream in pattern.streams() {
                            push_once(&mut self.readers[stream], number);
                        }
                        if let Some(context) = select.context {
                            self.patterns[context].push(number);
                        }
                    }
                }
            }
        }
    }
}

fn push_once(list: &mut Vec<usize>, number: usize) {
    if !list.contains(&number) {
        list.push(number);
    }
}
