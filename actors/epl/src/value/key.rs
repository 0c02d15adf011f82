//! Values as keys of groups, partitions and distinct sets. As a key, every value equals itself, including null.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::arithmetic::{Number, whole};
use super::order::Plain;
use super::{Object, StreamEvent, Value};

/// The values of a key.
///
/// Numbers are equal by numeric value (1 and 1.0, -0 and 0, NaN and itself), ids and texts by their text, times
/// by their instant, lists and maps by their elements in order, platform objects by their id, and events by
/// identity.
#[derive(Debug, Clone)]
pub(crate) struct Key(pub Vec<Value>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        all_same(&self.0, &other.0)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_all(&self.0, state);
    }
}

fn all_same(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => Arc::ptr_eq(left, right) || all_same(left, right),
        (Value::Map(left), Value::Map(right)) => {
            let pairs = || left.0.iter().zip(&right.0);
            Arc::ptr_eq(left, right)
                || left.0.len() == right.0.len()
                    && pairs().all(|((name, value), (other, known))| name == other && same(value, known))
        }
        (Value::Object(left), Value::Object(right)) => left.identity() == right.identity(),
        (Value::Event(left), Value::Event(right)) => address(left) == address(right),
        (left, right) => match (left.plain(), right.plain()) {
            (Plain::Null, Plain::Null) => true,
            (Plain::Boolean(left), Plain::Boolean(right)) => left == right,
            (left, right) => left.compare(right).is_some_and(std::cmp::Ordering::is_eq),
        },
    }
}

fn hash_all<H: Hasher>(values: &[Value], state: &mut H) {
    state.write_usize(values.len());
    values.iter().for_each(|value| hash(value, state));
}

fn hash<H: Hasher>(value: &Value, state: &mut H) {
    match value {
        Value::List(values) => {
            state.write_u8(5);
            hash_all(values, state);
        }
        Value::Map(map) => {
            state.write_u8(6);
            state.write_usize(map.0.len());
            for (name, value) in &map.0 {
                name.hash(state);
                hash(value, state);
            }
        }
        Value::Object(object) => object.identity().hash(state),
        Value::Event(event) => state.write_usize(address(event)),
        plain => hash_plain(plain.plain(), state),
    }
}

fn hash_plain<H: Hasher>(plain: Plain<'_>, state: &mut H) {
    match plain {
        Plain::Null | Plain::Composite | Plain::Digits(_) => state.write_u8(0),
        Plain::Boolean(value) => state.write_u8(1 + u8::from(value)),
        Plain::Number(number) => {
            state.write_u8(3);
            hash_number(number, state);
        }
        Plain::Text(text) => text.hash(state),
        Plain::Time(time) => {
            state.write_u8(4);
            time.instant().unix_timestamp_nanos().hash(state);
        }
    }
}

/// Hashes a double that equals a 64-bit integer like that integer.
fn hash_number<H: Hasher>(number: Number, state: &mut H) {
    match number {
        Number::Integer(number) => number.hash(state),
        Number::Double(number) => match whole(number) {
            Some(number) => number.hash(state),
            None if number.is_nan() => state.write_u64(f64::NAN.to_bits()),
            None => state.write_u64(number.to_bits()),
        },
    }
}

impl Object {
    /// Returns the kind and id of an object. An object that is not stored has no id and is identified by its
    /// memory address.
    fn identity(&self) -> (u8, Result<i64, usize>) {
        fn place<T>(shared: &Arc<T>) -> usize {
            Arc::as_ptr(shared).cast::<()>() as usize
        }
        match self {
            Self::ManagedObject(object) => (10, object.id.map(|id| id.0).ok_or(place(object))),
            Self::Event(event) => (11, event.id.map(|id| id.0).ok_or(place(event))),
            Self::Measurement(measurement) => (12, measurement.id.map(|id| id.0).ok_or(place(measurement))),
            Self::Operation(operation) => (13, operation.id.map(|id| id.0).ok_or(place(operation))),
            Self::Alarm(alarm) => (14, alarm.id.map(|id| id.0).ok_or(place(alarm))),
        }
    }
}

/// Returns the memory address of an event, which is its identity.
fn address(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Input(input) => Arc::as_ptr(input).cast::<()>() as usize,
        StreamEvent::Row(row) => Arc::as_ptr(row).cast::<()>() as usize,
        StreamEvent::Match(tags) => Arc::as_ptr(tags).cast::<()>() as usize,
    }
}
