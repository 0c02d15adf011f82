//! The operations of an interface. Operations that differ only in path or method are twins, which a page shows as one.

use serde_json::Value;

use super::values::members;

/// An operation with its twins.
pub(crate) struct Operation<'d> {
    pub(crate) id: &'d str,
    /// The method in upper case.
    pub(crate) method: String,
    pub(crate) path: &'d str,
    pub(crate) described: &'d Value,
    /// Id, method and path of each twin.
    pub(crate) twins: Vec<(&'d str, String, &'d str)>,
}

/// Returns the operations of a tag in the order of the document.
pub(crate) fn of_tag<'d>(document: &'d Value, tag: &Value) -> Vec<Operation<'d>> {
    let mut operations: Vec<(&str, Operation<'d>)> = Vec::new();
    for (path, item) in members(&document["paths"]) {
        for (method, described) in members(item) {
            if described["tags"][0] != tag["name"] {
                continue;
            }
            let id = described["operationId"].as_str().expect("every operation has an id");
            let (family, method) = (family(id, method), method.to_uppercase());
            match operations.iter_mut().find(|(known, _)| *known == family) {
                Some((_, first)) => first.twins.push((id, method, path)),
                None => {
                    operations.push((family, Operation { id, method, path, described, twins: Vec::new() }))
                }
            }
        }
    }
    operations.into_iter().map(|(_, operation)| operation).collect()
}

/// Returns the part of an id that twins have in common: document.rs adds `Head`, `WithGet`, or a number.
fn family<'i>(id: &'i str, method: &str) -> &'i str {
    let with = id.rsplit_once("With").filter(|(_, word)| word.eq_ignore_ascii_case(method));
    let id = with.map_or(id, |(family, _)| family);
    let id = if method == "head" { id.strip_suffix("Head").unwrap_or(id) } else { id };
    id.trim_end_matches(|c: char| c.is_ascii_digit())
}
