//! References of managed objects: the resource, and the bodies of the child endpoints (docs/rules.md#inventory; I-03 to
//! I-04).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, text};
use crate::devices::managed_object::{ManagedObject, NewManagedObject};
use crate::devices::reference::LinkKind;
use crate::error::{Error, Result};
use crate::id::ManagedObjectId;
use crate::links::{Linked, Links};

/// A reference as a resource of its own: its address and the whole object at its other end (I-03, I-03b).
#[derive(Debug, Clone)]
pub struct ManagedObjectReference {
    /// The name of the block that has the reference: [`LinkKind::children`] or [`LinkKind::parents`].
    pub block: &'static str,
    /// The object that has the block.
    pub of: ManagedObjectId,
    /// The child or the parent.
    pub object: ManagedObject,
}

impl Serialize for Linked<'_, ManagedObjectReference> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: reference, links } = *self;
        let mut map = serializer.serialize_map(Some(2))?;
        let object = Linked { value: &reference.object, links };
        map.serialize_entry("managedObject", &object)?;
        map.serialize_entry("self", &reference.link(links))?;
        map.end()
    }
}

impl ManagedObjectReference {
    /// Returns the reference of a parent to its child.
    pub fn to_child(kind: LinkKind, parent: ManagedObjectId, child: ManagedObject) -> Self {
        Self { block: kind.children(), of: parent, object: child }
    }

    /// Returns the address of the reference.
    pub fn link(&self, links: &Links) -> String {
        links.child(self.of, self.block, self.object.id)
    }
}

/// The body of a POST to a child endpoint.
#[derive(Debug, Clone)]
pub enum NewChildren {
    /// `{managedObject: {id}}` or `{managedObject: {self}}`.
    One(ManagedObjectId),
    /// `{references: [{managedObject: …}, …]}`.
    Several(Vec<ManagedObjectId>),
    /// A whole new object, to be created and linked.
    Created(Box<NewManagedObject>),
}

/// The maximum number of links in one request.
const MAX_CHILDREN: usize = 10_000;

impl NewChildren {
    /// Parses the body, whose members determine its form (C-08).
    ///
    /// # Errors
    /// `Invalid` names the invalid member; an invalid child id is also `Invalid` (I-04: unknown child is 422).
    pub fn parse(mut body: Body) -> Result<Self> {
        if let Some(raw) = body.take("references") {
            let items: Vec<Box<RawValue>> = serde_json::from_str(raw.get())
                .map_err(|_| Error::invalid_value("references", raw.get(), "a list of references"))?;
            if items.len() > MAX_CHILDREN {
                let given = format!("{} references", items.len());
                return Err(Error::invalid_value("references", given, &format!("at most {MAX_CHILDREN}")));
            }
            let child = |item: &RawValue| {
                let object = Body::of_member("references", item)?.take("managedObject");
                child_id(&object.ok_or_else(missing)?)
            };
            return Ok(Self::Several(items.iter().map(|item| child(item)).collect::<Result<_>>()?));
        }
        match body.take("managedObject") {
            Some(raw) => Ok(Self::One(child_id(&raw)?)),
            None => Ok(Self::Created(Box::new(NewManagedObject::parse(body)?))),
        }
    }
}

fn missing() -> Error {
    Error::Invalid("Following mandatory fields should be included: managedObject".into())
}

/// Returns the child's id, given as `id` or as the end of `self`.
fn child_id(raw: &RawValue) -> Result<ManagedObjectId> {
    let mut object = Body::of_member("managedObject", raw)?;
    let (name, given) = match (object.take("id"), object.take("self")) {
        (Some(id), _) => ("managedObject.id", id_text(&id)?),
        (None, Some(link)) => {
            let link = text("managedObject.self", &link, 4096)?;
            ("managedObject.self", link.trim_end_matches('/').rsplit('/').next().unwrap_or_default().into())
        }
        (None, None) => return Err(missing()),
    };
    ManagedObjectId::parse(&given)
        .map_err(|_| Error::invalid_value(name, given, "an existing managed object"))
}

/// Parses an id, which is a string or a number (C-13).
fn id_text(raw: &RawValue) -> Result<String> {
    if raw.get().bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(raw.get().to_owned())
    } else {
        text("managedObject.id", raw, 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<NewChildren> {
        NewChildren::parse(Body::parse(json.as_bytes()).expect("an object"))
    }

    #[test]
    fn child_is_identified_by_id_or_self() {
        for json in [
            r#"{"managedObject":{"id":"7"}}"#,
            r#"{"managedObject":{"id":7}}"#,
            r#"{"managedObject":{"self":"https://x/inventory/managedObjects/7"}}"#,
            r#"{"managedObject":{"self":"/inventory/managedObjects/7/"}}"#,
        ] {
            assert!(matches!(read(json), Ok(NewChildren::One(ManagedObjectId(7)))), "{json}");
        }
    }

    #[test]
    fn several_children_keep_their_order() {
        let json = r#"{"references":[{"managedObject":{"id":"9"}},{"managedObject":{"id":"8"}}]}"#;
        let Ok(NewChildren::Several(ids)) = read(json) else { panic!("{json}") };
        assert_eq!(ids, [ManagedObjectId(9), ManagedObjectId(8)]);
    }

    #[test]
    fn body_without_a_reference_is_a_new_object() {
        assert!(matches!(read(r#"{"name":"pump"}"#), Ok(NewChildren::Created(_))));
    }

    #[test]
    fn invalid_references_are_named_in_the_error() {
        for json in [
            r#"{"managedObject":7}"#,
            r#"{"managedObject":{}}"#,
            r#"{"managedObject":{"id":"x"}}"#,
            r#"{"managedObject":{"id":-1}}"#,
            r#"{"managedObject":{"self":"https://x/"}}"#,
            r#"{"references":{}}"#,
            r#"{"references":[7]}"#,
            r#"{"references":[{}]}"#,
        ] {
            let error = read(json).expect_err(json).to_string();
            assert!(error.contains("managedObject") || error.contains("references"), "{error}");
        }
    }
}
