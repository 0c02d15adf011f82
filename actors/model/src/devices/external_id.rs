//! External ids: the names under which devices and other systems know a managed object (docs/rules.md#identity; D-01 to
//! D-04).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT, missing};
use crate::error::{Error, Result};
use crate::id::ManagedObjectId;
use crate::links::{Linked, Links};

/// An external id as it is stored and returned.
#[derive(Debug, Clone)]
pub struct ExternalId {
    /// The type and the value.
    pub pair: NewExternalId,
    /// The named object, which the server takes from the path. `None` for an external id that was not stored
    /// (M-02).
    pub object: Option<ManagedObjectId>,
}

/// The type and value that a POST or a path contains. The pair is unique within the tenant and compared exactly (D-02,
/// D-03).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NewExternalId {
    /// The kind of id, such as `plat_Serial`.
    pub type_: String,
    /// The id itself.
    pub value: String,
}

impl NewExternalId {
    /// Checks a pair.
    ///
    /// # Errors
    /// `Invalid` for a text that is empty, has a NUL or is longer than 1024 bytes, which no index can store.
    pub fn new(type_: String, value: String) -> Result<Self> {
        for (name, text) in [("type", &type_), ("externalId", &value)] {
            if text.is_empty() || text.len() > MAX_SHORT_TEXT || text.contains('\0') {
                return Err(Error::invalid_value(name, text, "1 to 1024 bytes without NUL"));
            }
        }
        Ok(Self { type_, value })
    }

    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` lists the missing members or names the invalid one.
    pub fn parse(mut body: Body) -> Result<Self> {
        let value = body.take_text("externalId", MAX_SHORT_TEXT)?;
        let type_ = body.take_text("type", MAX_SHORT_TEXT)?;
        match (type_, value) {
            (Some(type_), Some(value)) => Self::new(type_, value),
            (type_, value) => Err(missing(&[("externalId", value.is_none()), ("type", type_.is_none())])),
        }
    }

    /// Returns the pair in the form that errors contain (E-01).
    pub fn shown(&self) -> String {
        format!("ID [type={}, value={}]", self.type_, self.value)
    }
}

impl ExternalId {
    /// Returns the link of the external id; see [`Links::external_id`].
    pub fn link(&self, links: &Links) -> String {
        let pair = (&*self.pair.type_, &*self.pair.value);
        links.external_id(self.object.is_some().then_some(pair))
    }
}

impl Serialize for Linked<'_, ExternalId> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Object {
            id: ManagedObjectId,
            #[serde(rename = "self")]
            link: String,
        }
        let Linked { value: id @ ExternalId { pair, object }, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &id.link(links))?;
        map.serialize_entry("externalId", &pair.value)?;
        map.serialize_entry("type", &pair.type_)?;
        if let Some(id) = *object {
            map.serialize_entry("managedObject", &Object { id, link: links.managed_object(Some(id)) })?;
        }
        map.end()
    }
}

/// All external ids of one object, without pages (D-01).
#[derive(Debug, Clone)]
pub struct ExternalIds {
    /// The object.
    pub object: ManagedObjectId,
    /// The external ids, sorted by type and value.
    pub members: Vec<ExternalId>,
}

impl Serialize for Linked<'_, ExternalIds> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: ids, links } = *self;
        let members: Vec<_> = ids.members.iter().map(|value| Linked { value, links }).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.external_ids(ids.object))?;
        map.serialize_entry("externalIds", &members)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::encode;

    fn pair(type_: &str, value: &str) -> Result<NewExternalId> {
        NewExternalId::new(type_.into(), value.into())
    }

    #[test]
    fn empty_overlong_and_nul_are_named_in_the_error() {
        let long = "x".repeat(1025);
        for (type_, value, name) in
            [("", "a", "type"), ("a", "", "externalId"), (&*long, "a", "type"), ("a", "b\0", "externalId")]
        {
            let error = pair(type_, value).expect_err(name).to_string();
            assert!(error.contains(name), "{error}");
        }
        assert!(pair(&long[1..], &long[1..]).is_ok());
    }

    #[test]
    fn link_encodes_characters_that_are_invalid_in_a_path() {
        let pair = pair("a/b", "ü %2F+?#").expect("a pair");
        let id = ExternalId { pair, object: Some(ManagedObjectId(7)) };
        let json = encode(&id, &Links::new("http://h"));
        let json = String::from_utf8(json).expect("UTF-8");
        assert!(json.contains("\"http://h/identity/externalIds/a%2Fb/%C3%BC%20%252F%2B%3F%23\""), "{json}");
    }
}
