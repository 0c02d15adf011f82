//! References between managed objects. Each object has six blocks of them, and three can be changed through child
//! endpoints (docs/rules.md#inventory; I-02 to I-04).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::id::ManagedObjectId;
use crate::links::Links;

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

    /// Returns the kind whose block of parents has this name.
    pub fn of_parents(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.parents() == name)
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
