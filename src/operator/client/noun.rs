//! A noun of the command line: its operations, and the columns of its list. Its flags come from the
//! [reference](super::reference).

/// A resource of the API and its commands.
pub(super) struct Noun {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The verbs of the noun and the `operationId` of each.
    pub(super) verbs: &'static [(Verb, &'static str)],
    /// The members that identify an object in its path.
    pub(super) id: &'static [&'static str],
    /// The members that are the columns of a table and of CSV.
    pub(super) columns: &'static [&'static str],
    /// The query parameter and value of a list without any filter.
    pub(super) unfiltered: Option<(&'static str, &'static str)>,
    /// Members that every new object gets, with their values in JSON.
    pub(super) fixed: &'static [(&'static str, &'static str)],
    /// Flags that add a member with a fixed value: flag, explanation, member, JSON.
    pub(super) shortcuts: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// The prefix of the channel that `watch` subscribes to.
    pub(super) channel: Option<&'static str>,
    /// The order of a list in the API.
    pub(super) order: Order,
    /// The filters of which `update-many` needs at least one; empty if any filter will do.
    pub(super) changes_need: &'static [&'static str],
    /// The data that a deletion takes along, as the end of a sentence.
    pub(super) loss: &'static str,
    pub(super) examples: &'static str,
}

/// The order of a list in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Commands leave it as it is.
    Own,
    /// Commands reverse it (P-08).
    OldestFirst,
}

/// The action of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    List,
    Get,
    Create,
    Update,
    Delete,
    UpdateMany,
    DeleteMany,
    Upload,
    Replace,
    Download,
    Register,
    Seek,
    Tail,
    /// Follows a trace of this subject.
    Follow(&'static str),
    Explain,
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Get => "get",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::UpdateMany => "update-many",
            Self::DeleteMany => "delete-many",
            Self::Upload => "upload",
            Self::Replace => "replace",
            Self::Download => "download",
            Self::Register => "register",
            Self::Seek => "seek",
            Self::Tail => "tail",
            Self::Follow(subject) => subject,
            Self::Explain => "explain",
        }
    }
}

/// The defaults that most nouns share.
pub(super) const PLAIN: Noun = Noun {
    name: "",
    about: "",
    verbs: &[],
    id: &["id"],
    columns: &[],
    unfiltered: None,
    fixed: &[],
    shortcuts: &[],
    channel: None,
    order: Order::Own,
    changes_need: &[],
    loss: "",
    examples: "",
};

/// Returns the name of a flag in kebab case: `dateFrom` becomes `date-from`.
pub(super) fn kebab(name: &str) -> String {
    let mut flag = String::new();
    for character in name.chars() {
        if (character.is_ascii_uppercase() || character == '_') && !flag.ends_with('-') {
            flag.push('-');
        }
        flag.extend(Some(character.to_ascii_lowercase()).filter(|character| *character != '_'));
    }
    flag
}
