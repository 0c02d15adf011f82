//! The fragments of a device to register (N-12, N-14).

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::fragments::Fragments;
use crate::naming::naming;

/// Nested objects that are being filled.
#[derive(Debug)]
pub(super) struct Properties(Map<String, Value>);

impl Properties {
    /// Returns the properties that every device has.
    pub(super) fn of_device() -> Self {
        Self(Map::from_iter([(naming().fragment("IsDevice"), json!({}))]))
    }

    /// Sets the number of the SIM card.
    pub(super) fn set_iccid(&mut self, iccid: &str) {
        self.set(&[naming().fragment("Mobile").into(), "iccid".into()], iccid);
    }

    /// Declares that the device supports shell commands.
    pub(super) fn set_shell(&mut self) {
        let supported = json!([naming().fragment("Command")]);
        self.0.insert(naming().fragment("SupportedOperations"), supported);
    }

    /// Sets a value and creates its enclosing objects. A column overrides a value that the server would set.
    pub(super) fn set(&mut self, path: &[Box<str>], value: &str) {
        let Some((name, around)) = path.split_last() else { return };
        let mut object = &mut self.0;
        for name in around {
            let member = object.entry(&**name).or_insert_with(|| json!({}));
            if !member.is_object() {
                *member = json!({});
            }
            object = member.as_object_mut().expect("any other value was replaced by an object");
        }
        object.insert(name.to_string(), value.into());
    }

    pub(super) fn into_fragments(self) -> Fragments {
        let raw = |value: &Value| -> Box<RawValue> {
            to_raw_value(value).expect("writing to memory does not fail and all keys are strings")
        };
        let mut fragments = Fragments::default();
        self.0.iter().for_each(|(name, value)| fragments.set(name, raw(value)));
        fragments
    }
}
