//! The condition under which a device is a member of a group (I-11, K-03).

use super::comparison;
use super::content::Content;
use crate::devices::inventory_query::{Condition, InventoryQuery};
use crate::error::Result;
use crate::naming::naming;

/// The condition under which a device is a member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// The links of a static group, which only the database knows.
    Links,
    /// The query of a dynamic group that names other groups, which only the database can evaluate.
    LinksAndMembers,
    /// The query of a dynamic group: the device has these members, whatever other objects there are.
    Members(Condition),
}

impl Membership {
    /// Parses the query of a dynamic group.
    ///
    /// # Errors
    /// `Invalid` names the position, the expected syntax and the text at that position.
    pub fn of_query(text: &str) -> Result<Self> {
        let condition = InventoryQuery::parse_members(text)?;
        Ok(if condition.has_groups() { Self::LinksAndMembers } else { Self::Members(condition) })
    }

    /// Returns whether a managed object is a member, or `None` if only the database knows. It agrees with the SQL of
    /// the inventory. An object with too many values is a member, so that nothing is lost.
    pub fn includes(&self, object: &Content<'_>) -> Option<bool> {
        let Self::Members(condition) = self else { return None };
        object.begin();
        let is_device = object.any_at(&[naming().fragment("IsDevice")], &|_| true);
        Some(is_device && (comparison::holds(condition, object) || object.is_exhausted()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_query_without_groups_is_compared_in_memory() {
        let members = |text: &str| matches!(Membership::of_query(text), Ok(Membership::Members(_)));
        assert!(members("type eq 'pump'") && members("$filter=has(a.b) $orderby=name"));
        for text in ["bygroupid(7)", "not (type eq 'a' or bygroupid(7))"] {
            assert_eq!(Membership::of_query(text).ok(), Some(Membership::LinksAndMembers), "{text}");
        }
        for text in ["", " ", "$orderby=name", "type = 'a'"] {
            assert!(Membership::of_query(text).is_err(), "{text}");
        }
    }
}
