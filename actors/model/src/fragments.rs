//! Fragments: the free-form top-level members of an object, kept byte for byte in their original order.

use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The maximum number of names that are compared with each other; more are looked up in a table.
const FEW: usize = 16;

/// Named JSON values in insertion order; each name occurs once.
#[derive(Debug, Clone, Default)]
pub struct Fragments(Vec<(Box<str>, Box<RawValue>)>);

impl Fragments {
    /// Returns whether there are no fragments.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of fragments.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the length of all names and values in bytes.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, raw)| name.len() + raw.get().len()).sum()
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Returns names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, raw)| (&**name, &**raw))
    }

    /// Returns the value of a fragment.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, raw)| raw)
    }

    /// Removes a fragment and returns it; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.0.iter().position(|(known, _)| &**known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Sets a fragment: in its place when it exists, else at the end.
    pub fn set(&mut self, name: &str, raw: Box<RawValue>) {
        match self.0.iter_mut().find(|(known, _)| &**known == name) {
            Some((_, old)) => *old = raw,
            None => self.0.push((name.into(), raw)),
        }
    }

    /// Replaces each value for which `value` returns another one.
    pub fn replace_each(&mut self, value: impl Fn(&str, &RawValue) -> Option<Box<RawValue>>) {
        for (name, raw) in &mut self.0 {
            if let Some(new) = value(name, raw) {
                *raw = new;
            }
        }
    }

    /// Removes fragments that are `null`, because in a POST they count as absent (C-10).
    pub fn drop_nulls(&mut self) {
        self.0.retain(|(_, raw)| raw.get() != "null");
    }

    /// Applies a PUT: a value replaces the whole fragment, and `null` removes it (C-10). Returns the fragments that
    /// changed.
    pub fn merge(&mut self, patch: &Fragments) -> Vec<FragmentChange> {
        let mut changes = Vec::new();
        for (name, new) in patch.iter() {
            let previous = self.get(name).map(ToOwned::to_owned);
            let removes = new.get() == "null";
            match &previous {
                None if removes => continue,
                Some(old) if !removes && same_json(old, new) => continue,
                _ => {}
            }
            if removes {
                self.remove(name);
            } else {
                self.set(name, new.to_owned());
            }
            changes.push(FragmentChange {
                name: name.into(),
                previous,
                new: (!removes).then(|| new.to_owned()),
            });
        }
        changes
    }

    /// Returns the fragments as one JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("writing to memory does not fail and all keys are strings")
    }

    /// Splits a PUT into the fragments to set, as a JSON object, and the names to remove.
    pub fn split_removals(&self) -> (String, Vec<&str>) {
        let is_null = |(_, raw): &(&str, &RawValue)| raw.get() == "null";
        let removed = self.iter().filter(is_null).map(|(name, _)| name).collect();
        let set = Self(self.0.iter().filter(|(_, raw)| raw.get() != "null").cloned().collect());
        (set.to_json(), removed)
    }

    /// Writes the fragments as entries of an object that is being serialized.
    pub fn serialize_entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.iter().try_for_each(|(name, raw)| map.serialize_entry(name, raw))
    }
}

/// A fragment that a PUT changed; `None` means absent.
#[derive(Debug, Clone)]
pub struct FragmentChange {
    /// The name of the fragment.
    pub name: String,
    /// The value before.
    pub previous: Option<Box<RawValue>>,
    /// The value afterwards.
    pub new: Option<Box<RawValue>>,
}

/// Returns whether two JSON texts mean the same value.
fn same_json(a: &RawValue, b: &RawValue) -> bool {
    a.get() == b.get()
        || matches!(
            (serde_json::from_str::<Value>(a.get()), serde_json::from_str::<Value>(b.get())),
            (Ok(a), Ok(b)) if a == b
        )
}

impl Serialize for Fragments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.serialize_entries(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fragments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fragments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fragments, M::Error> {
                let mut members: Vec<(Box<str>, Box<RawValue>)> = Vec::new();
                // Bodies are small; the index is for a hostile body with a million members.
                let mut index = HashMap::new();
                while let Some((name, raw)) = map.next_entry::<Box<str>, Box<RawValue>>()? {
                    if members.len() == FEW {
                        let names = members.iter().enumerate();
                        index = names.map(|(at, (name, _))| (name.clone(), at)).collect();
                    }
                    let known = if members.len() < FEW {
                        members.iter().position(|(known, _)| *known == name)
                    } else {
                        index.get(&name).copied()
                    };
                    if let Some(at) = known {
                        members[at].1 = raw;
                        continue;
                    }
                    if members.len() >= FEW {
                        index.insert(name.clone(), members.len());
                    }
                    members.push((name, raw));
                }
                Ok(Fragments(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragments(json: &str) -> Fragments {
        serde_json::from_str(json).expect(json)
    }

    #[test]
    fn merge_replaces_whole_values_removes_on_null_and_returns_the_changes() {
        let mut stored = fragments(r#"{"a":{"x":1},"b":2,"c":3}"#);

        let changes = stored.merge(&fragments(r#"{"a":{"y":1},"b":2.0,"c":null,"d":null,"e":[]}"#));

        assert_eq!(stored.to_json(), r#"{"a":{"y":1},"b":2.0,"e":[]}"#);
        let names: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
        assert_eq!(names, ["a", "b", "c", "e"]);
    }

    #[test]
    fn merge_of_the_same_values_changes_nothing() {
        let mut stored = fragments(r#"{"a":{"x":1,"y":"é"}}"#);
        assert!(stored.merge(&fragments(r#"{"a":{ "y":"\u00e9", "x":1 }}"#)).is_empty());
    }

    #[test]
    fn last_of_several_members_with_one_name_wins_among_few_and_many() {
        for count in [2, FEW, FEW + 1, 3 * FEW] {
            let members: Vec<String> =
                (0..count).chain([0, count - 1]).map(|n| format!("\"m{n}\":{n}")).collect();
            let json = format!("{{{},\"m1\":\"last\"}}", members.join(","));
            let read = fragments(&json);
            assert_eq!(read.names().count(), count);
            assert_eq!(read.get("m1").map(RawValue::get), Some("\"last\""));
        }
    }

    #[test]
    fn values_pass_through_byte_for_byte() {
        let json = r#"{"n":1.10,"big":123456789012345678901234567890}"#;
        assert_eq!(fragments(json).to_json(), json);
    }
}
