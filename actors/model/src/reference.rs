//! References between managed objects. Each object has six blocks of them, and three can be changed through child
//! endpoints (docs/rules.md#inventory; I-02 to I-04).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, text};
use crate::error::{Error, Result};
use crate::id::ManagedObjectId;
use crate::links::{Linked, Links};
use crate::managed_object::{ManagedObject, NewManagedObject};

/// The kind of a link from a parent to a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// A device behind a gateway; its operations go to the agent of the gateway, and ownership is inherited.
    ChildDevices,
    /// A member of a group or of another asset.
    ChildAssets,
    /// Anything else that belongs to an object.
    ChildAdditions,
}

impl LinkKind {
    /// All kinds, in the order in which their blocks are shown.
    pub const ALL: [Self; 3] = [Self::ChildDevices, Self::ChildAssets, Self::ChildAdditions];

    /// Returns the name of the block of children, which is also the last segment of the child endpoints.
    pub fn children(self) -> &'static str {
        match self {
            Self::ChildDevices => "childDevices",
            Self::ChildAssets => "childAssets",
            Self::ChildAdditions => "childAdditions",
        }
    }

    /// Returns the name of the block of parents.
    pub fn parents(self) -> &'static str {
        match self {
            Self::ChildDevices => "deviceParents",
            Self::ChildAssets => "assetParents",
            Self::ChildAdditions => "additionParents",
        }
    }

    /// Returns the kind whose block of children has this name.
    pub fn of_children(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.children() == name)
    }

    /// Returns whether cycles are rejected, because rights are inherited along these links (I-04).
    pub fn is_hierarchy(self) -> bool {
        self != Self::ChildAdditions
    }
}

/// One end of a link as the other end shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The id of the other object.
    pub id: ManagedObjectId,
    /// The name of the other object, if it has one and the request asks for it.
    pub name: Option<String>,
}

/// The references of an object. Empty blocks are shown too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct References {
    children: [Vec<Reference>; 3],
    parents: [Vec<Reference>; 3],
}

/// The blocks of references that a read fills (I-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedReferences {
    /// Whether direct children are filled: yes, unless `withChildren=false`.
    pub children: bool,
    /// The form of parents and their ancestors.
    pub parents: WantedParents,
}

/// The form in which parents and their ancestors are shown (I-01a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedParents {
    /// They are not read, because nobody will see the object.
    None,
    /// They are shown without their names, which is the default.
    Unnamed,
    /// They are shown with their names (`withParents=true`).
    Named,
}

impl WantedReferences {
    /// No references, for reads that need only the object.
    pub const NONE: Self = Self { children: false, parents: WantedParents::None };
}

impl Default for WantedReferences {
    fn default() -> Self {
        Self { children: true, parents: WantedParents::Unnamed }
    }
}

impl References {
    /// Adds a child at the end of its block.
    pub fn add_child(&mut self, kind: LinkKind, child: Reference) {
        self.children[kind as usize].push(child);
    }

    /// Adds a parent, or an ancestor, at the end of its block.
    pub fn add_parent(&mut self, kind: LinkKind, parent: Reference) {
        self.parents[kind as usize].push(parent);
    }

    /// Returns the children of a kind.
    pub fn children(&self, kind: LinkKind) -> &[Reference] {
        &self.children[kind as usize]
    }

    /// Returns the parents of a kind, and their ancestors.
    pub fn parents(&self, kind: LinkKind) -> &[Reference] {
        &self.parents[kind as usize]
    }

    /// Writes the six blocks as entries of the object at `link`.
    pub fn serialize_entries<M: SerializeMap>(
        &self,
        map: &mut M,
        link: &str,
        links: &Links,
    ) -> Result<(), M::Error> {
        for kind in LinkKind::ALL {
            let (name, references) = (kind.children(), &*self.children[kind as usize]);
            map.serialize_entry(name, &Block { references, link: format!("{link}/{name}"), links })?;
        }
        for kind in LinkKind::ALL {
            let (name, references) = (kind.parents(), &*self.parents[kind as usize]);
            map.serialize_entry(name, &Block { references, link: format!("{link}/{name}"), links })?;
        }
        Ok(())
    }
}

/// `{references: [{managedObject: {id, name, self}, self}], self}`.
struct Block<'a> {
    references: &'a [Reference],
    link: String,
    links: &'a Links,
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Item<'a> {
            managed_object: Object<'a>,
            #[serde(rename = "self")]
            link: String,
        }
        #[derive(Serialize)]
        struct Object<'a> {
            id: ManagedObjectId,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
            #[serde(rename = "self")]
            link: String,
        }
        let items = self.references.iter().map(|Reference { id, name }| {
            let link = self.links.managed_object(Some(id));
            let managed_object = Object { id: *id, name: name.as_deref(), link };
            Item { managed_object, link: format!("{}/{id}", self.link) }
        });
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("references", &items.collect::<Vec<_>>())?;
        map.serialize_entry("self", &self.link)?;
        map.end()
    }
}

/// A link as a resource of its own: its address and the whole child (I-03).
#[derive(Debug, Clone)]
pub struct ManagedObjectReference {
    /// The kind of the link.
    pub kind: LinkKind,
    /// The id of the parent.
    pub parent: ManagedObjectId,
    /// The child.
    pub child: ManagedObject,
}

impl Serialize for Linked<'_, ManagedObjectReference> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: reference, links } = *self;
        let mut map = serializer.serialize_map(Some(2))?;
        let child = Linked { value: &reference.child, links };
        map.serialize_entry("managedObject", &child)?;
        map.serialize_entry("self", &reference.link(links))?;
        map.end()
    }
}

impl ManagedObjectReference {
    /// Returns the address of the link.
    pub fn link(&self, links: &Links) -> String {
        links.child(self.parent, self.kind, self.child.id)
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
