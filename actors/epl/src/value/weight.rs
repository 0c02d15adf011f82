//! Estimates the memory that values and events occupy, and how deep they are nested.
//!
//! Both are limited, so that a module that feeds its output back into its input ends with a fault instead of
//! exhausting memory.

use std::sync::Arc;

use platform_model::devices::reference::LinkKind;
use platform_model::fragments::Fragments;
use platform_model::id::ManagedObjectId;
use platform_model::origin::Depth;
use platform_model::origin::ProcessingMode;
use platform_model::realtime::change::PublishedChange;

use super::{Columns, Fault, ObjectSeen, Row, StreamEvent, Value};
use crate::stream::{Deletion, Input, Occurrence, Response};

/// The maximum nesting depth of lists, maps and events.
pub(crate) const MAX_NESTING: u8 = 64;
/// The maximum size of a value in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// The bytes that an allocation occupies in addition to its content.
const SHARED: usize = 32;
/// The bytes of a platform object without texts and fragments.
const OBJECT: usize = 300;

/// A size in bytes with a nesting depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size {
    pub bytes: usize,
    pub nesting: u8,
}

impl Size {
    /// Combines the sizes of siblings.
    fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), nesting: self.nesting.max(other.nesting) }
    }

    /// Returns the size of a container of this content.
    fn inside(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_add(bytes), nesting: self.nesting.saturating_add(1) }
    }

    /// Checks the limits that apply to every value.
    ///
    /// # Errors
    /// Returns a fault that names the exceeded limit.
    pub(crate) fn within_limits(self) -> Result<Self, Fault> {
        if self.nesting > MAX_NESTING {
            return Err(Fault::new(format!("a value is nested deeper than {MAX_NESTING} levels")));
        }
        if self.bytes > MAX_BYTES {
            return Err(Fault::new(format!("a value is larger than {MAX_BYTES} bytes")));
        }
        Ok(self)
    }
}

impl Value {
    pub(crate) fn size(&self) -> Size {
        let own = size_of::<Self>();
        let of_bytes = |bytes| Size { bytes: own + bytes, nesting: 0 };
        let all = |sizes: &mut dyn Iterator<Item = Size>| sizes.fold(Size::default(), Size::and);
        match self {
            Self::Null | Self::Boolean(_) | Self::Integer(_) | Self::Double(_) | Self::Time(_) => of_bytes(0),
            Self::Text(text) => of_bytes(SHARED + text.len()),
            Self::Id(id) => {
                let texts = [Some(&id.value), id.type_.as_ref(), id.name.as_ref()];
                of_bytes(SHARED + texts.into_iter().flatten().map(|text| SHARED + text.len()).sum::<usize>())
            }
            Self::List(values) => all(&mut values.iter().map(Self::size)).inside(own + SHARED),
            Self::Map(map) => {
                let member = |(name, value): &(Arc<str>, Self)| {
                    value.size().and(Size { bytes: SHARED + name.len(), nesting: 0 })
                };
                all(&mut map.0.iter().map(member)).inside(own + SHARED)
            }
            Self::Object(object) => of_bytes(ObjectSeen::of(object).bytes()),
            Self::Event(event) => {
                Size { bytes: own.saturating_add(event.weight()), nesting: event.nesting() }
            }
        }
    }
}

impl StreamEvent {
    /// Returns the approximate size in bytes, which counts against the memory limit of a module that retains
    /// the value.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Input(input) => input.weight as usize,
            Self::Row(row) => row.weight as usize,
            Self::Match(tags) => {
                let events = tags.0.iter().map(|tag| {
                    size_of::<Option<Self>>().saturating_add(tag.as_ref().map_or(0, Self::weight))
                });
                events.fold(2 * SHARED, usize::saturating_add)
            }
        }
    }

    fn nesting(&self) -> u8 {
        match self {
            Self::Input(_) => 1,
            Self::Row(row) => row.nesting,
            Self::Match(tags) => tags.events().map(Self::nesting).max().unwrap_or(0).saturating_add(1),
        }
    }

    /// Returns the event if it may become part of a value.
    ///
    /// # Errors
    /// Returns a fault if the event is too large or nested too deep.
    pub(crate) fn within_limits(&self) -> Result<&Self, Fault> {
        Size { bytes: self.weight(), nesting: self.nesting() }.within_limits().map(|_| self)
    }
}

impl Row {
    /// Creates a row and measures its size.
    pub fn new(columns: Arc<Columns>, values: Box<[Value]>, depth: Depth) -> Self {
        let size = values.iter().map(Value::size).fold(Size::default(), Size::and);
        let Size { bytes, nesting } = size.inside(SHARED + size_of::<Self>());
        Self { columns, values, depth, weight: u32::try_from(bytes).unwrap_or(u32::MAX), nesting }
    }
}

impl Input {
    /// Creates the input. `source` is the managed object that it concerns.
    pub fn new(occurrence: Occurrence, source: ManagedObjectId, mode: ProcessingMode, depth: Depth) -> Self {
        let occurrence = match occurrence {
            Occurrence::Changed(event) if ObjectSeen::of_change(&event).is_none() => {
                Occurrence::Deleted(Box::new(Deletion { event, source }))
            }
            occurrence => occurrence,
        };
        let bytes = SHARED
            + size_of::<Self>()
            + match &occurrence {
                Occurrence::Changed(event) => ObjectSeen::of_change(event).map_or(0, ObjectSeen::bytes),
                Occurrence::Deleted(_) => SHARED + size_of::<Deletion>(),
                Occurrence::Response(response) => size_of::<Response>() + 2 * SHARED + response.body.len(),
            };
        Self { occurrence, mode, depth, weight: u32::try_from(bytes).unwrap_or(u32::MAX) }
    }
}

impl<'a> ObjectSeen<'a> {
    /// Returns the object that an event of the hub carries; `None` for a deletion, which carries only an id.
    pub(crate) fn of_change(event: &'a PublishedChange) -> Option<Self> {
        use PublishedChange::{
            AlarmCreated, AlarmDeleted, AlarmUpdated, EventCreated, EventDeleted, EventUpdated,
            ManagedObjectCreated, ManagedObjectDeleted, ManagedObjectUpdated, MeasurementCreated,
            MeasurementDeleted, OperationCreated, OperationDeleted, OperationUpdated,
        };
        Some(match event {
            AlarmCreated(alarm) | AlarmUpdated(alarm) => Self::Alarm(alarm),
            MeasurementCreated(measurement) => Self::Measurement(measurement),
            ManagedObjectCreated(object) | ManagedObjectUpdated(object) => Self::ManagedObject(object),
            EventCreated(event) | EventUpdated(event) => Self::Event(event),
            OperationCreated(operation) | OperationUpdated(operation) => Self::Operation(operation),
            AlarmDeleted(_)
            | MeasurementDeleted(_)
            | ManagedObjectDeleted(_)
            | EventDeleted(_)
            | OperationDeleted(_) => return None,
        })
    }

    fn bytes(self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        OBJECT
            + match self {
                Self::ManagedObject(object) => {
                    let references = LinkKind::ALL.into_iter().map(|kind| {
                        object.references.children(kind).len() + object.references.parents(kind).len()
                    });
                    let texts = text(&object.type_) + text(&object.name) + object.owner.len();
                    texts + references.sum::<usize>() * 2 * SHARED + of(&object.fragments)
                }
                Self::Event(event) => {
                    let shown = text(&event.source_name) + text(&event.source_type);
                    shown + event.type_.len() + event.text.len() + of(&event.fragments)
                }
                Self::Measurement(measurement) => {
                    let shape = &measurement.shape;
                    let names = shape.series().map(|(fragment, series)| {
                        fragment.len()
                            + series.name.len()
                            + series.unit.as_ref().map_or(0, |unit| unit.len())
                            + 40
                    });
                    let readings = size_of_val(&*measurement.readings);
                    let verbatim = measurement.verbatim.as_ref().map_or(0, of);
                    // Most measurements share their shape with others of their kind, so only an unshared shape counts.
                    let names = match Arc::strong_count(shape) {
                        1 => shape.type_.len() + names.sum::<usize>(),
                        _ => 0,
                    };
                    names + readings + verbatim
                }
                Self::Operation(operation) => {
                    text(&operation.device_name) + text(&operation.failure_reason) + of(&operation.fragments)
                }
                Self::Alarm(alarm) => {
                    text(&alarm.source_name) + alarm.type_.len() + alarm.text.len() + of(&alarm.fragments)
                }
            }
    }
}

fn of(fragments: &Fragments) -> usize {
    fragments.iter().map(|(name, raw)| 2 * SHARED + name.len() + raw.get().len()).sum()
}
