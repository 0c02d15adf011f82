//! The operations of the API as its reference describes them. The reference (`/openapi.json`) is compiled into this
//! program. The flags of commands are made from parameters and bodies, so a new parameter of the API needs no code
//! here.

use std::sync::LazyLock;

use serde_json::Value;

/// The reference, parsed on first use.
static REFERENCE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(&platform_content::reference())
        .expect("the build has assembled the reference as JSON")
});

/// An operation of the API.
#[derive(Debug)]
pub(super) struct Operation {
    /// The method in upper case.
    pub(super) method: String,
    /// The path, with variables in braces.
    pub(super) path: &'static str,
    /// The summary in a few words.
    pub(super) summary: &'static str,
    /// The full description.
    pub(super) description: &'static str,
    /// The query parameters, without those for paging.
    pub(super) filters: Vec<Field>,
    /// The members of the body that a flag can set: those with scalar values, and lists of texts.
    pub(super) members: Vec<Field>,
    /// Whether the body is JSON; otherwise it is a text or a file.
    pub(super) takes_json: bool,
    /// The way in which a file is sent; `None` if the body is not a file.
    pub(super) file: Option<FileBody>,
    /// The names of the required members of the body.
    pub(super) required: Vec<&'static str>,
    /// The member of a page that contains the list.
    pub(super) list: Option<&'static str>,
}

/// The way in which a file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileBody {
    /// The file is the body.
    Raw,
    /// The file is a part of a form.
    Form,
    /// The file is a part of a form that also has the managed object.
    FormWithObject,
}

/// A query parameter, or a member of a body.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// The name in the API.
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) kind: Kind,
    /// The allowed values; empty if any value is allowed.
    pub(super) allowed: Vec<&'static str>,
    /// Whether it is a time.
    pub(super) is_time: bool,
    /// Whether requests without it are refused.
    pub(super) is_required: bool,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Boolean,
    /// A number, or a text for anything else.
    NumberOrText,
    /// A list of texts.
    Texts,
}

/// The parameters of paging, which have no flags, because commands read all pages.
const PAGING: [&str; 3] = ["pageSize", "currentPage", "withTotalPages"];

impl Operation {
    /// Returns the operation with this `operationId`.
    ///
    /// # Panics
    /// The reference has no such operation. A test looks up every operation of the commands.
    pub(super) fn named(id: &str) -> Self {
        let paths = REFERENCE["paths"].as_object().into_iter().flatten();
        let mut operations = paths
            .flat_map(|(path, methods)| methods.as_object().into_iter().flatten().map(move |of| (path, of)));
        let (path, (method, described)) =
            operations.find(|(_, (_, described))| described["operationId"] == id).unwrap_or_else(|| {
                panic!("the reference has no operation {id}");
            });
        let parameters = described["parameters"].as_array().into_iter().flatten().map(resolved);
        let filters = parameters
            .filter(|parameter| parameter["in"] == "query" && !PAGING.contains(&text(&parameter["name"])))
            .map(|parameter| {
                let name = text(&parameter["name"]);
                let mut field = Field::of(name, &parameter["schema"], text(&parameter["description"]));
                field.is_required = parameter["required"] == true;
                field
            })
            .collect();
        let (members, required) =
            members_of(&described["requestBody"]["content"]["application/json"]["schema"]);
        let page = resolved(&described["responses"]["200"]["content"]["application/json"]["schema"]);
        let mut of_page = page["properties"].as_object().into_iter().flatten();
        Self {
            method: method.to_uppercase(),
            path,
            summary: text(&described["summary"]),
            description: text(&described["description"]),
            filters,
            takes_json: described["requestBody"]["content"].get("application/json").is_some(),
            file: file_body(&described["requestBody"]["content"]),
            members,
            required,
            list: of_page.find(|(_, schema)| schema["type"] == "array").map(|(name, _)| name.as_str()),
        }
    }

    /// Returns the names of the variables of the path.
    pub(super) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}

fn file_body(content: &'static Value) -> Option<FileBody> {
    if content.get("*/*").is_some() {
        return Some(FileBody::Raw);
    }
    let form = resolved(&content.get("multipart/form-data")?["schema"]);
    Some(if form["properties"].get("object").is_some() { FileBody::FormWithObject } else { FileBody::Form })
}

impl Field {
    fn of(name: &'static str, schema: &'static Value, described: &'static str) -> Self {
        let schema = valued(schema);
        let is = |kind: &str| match &schema["type"] {
            Value::Array(kinds) => kinds.iter().all(|one| one == kind || one == "null"),
            one => one == kind,
        };
        let has_number = |one: &Value| one["type"] == "integer";
        let kind = if is("boolean") {
            Kind::Boolean
        } else if is("integer") || is("number") {
            Kind::Number
        } else if is_list_of_texts(schema) {
            Kind::Texts
        } else if schema["anyOf"].as_array().is_some_and(|all| all.iter().any(has_number)) {
            Kind::NumberOrText
        } else {
            Kind::Text
        };
        let described = if described.is_empty() { text(&schema["description"]) } else { described };
        let allowed = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let is_time = schema["format"] == "date-time" || ["dateFrom", "dateTo"].contains(&name);
        Self { name, description: described, kind, allowed, is_time, is_required: false }
    }
}

/// Returns whether the values of a schema are lists of texts, or `null`, which removes one.
fn is_list_of_texts(schema: &Value) -> bool {
    let kinds = &schema["type"];
    let is_list = *kinds == "array" || *kinds == serde_json::json!(["array", "null"]);
    is_list && schema["items"]["type"] == "string"
}

/// Returns the members of a body that a flag can set, and the names of all required members.
fn members_of(schema: &'static Value) -> (Vec<Field>, Vec<&'static str>) {
    let (mut members, mut required) = (Vec::new(), Vec::new());
    collect(schema, &mut members, &mut required);
    for member in &mut members {
        member.is_required = required.contains(&member.name);
    }
    (members, required)
}

/// Collects the members of a body. Of alternative schemas the first is used, which is the single object.
fn collect(schema: &'static Value, members: &mut Vec<Field>, required: &mut Vec<&'static str>) {
    let schema = resolved(schema);
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(part, members, required);
    }
    for alternatives in ["anyOf", "oneOf"] {
        if let Some(first) = schema[alternatives].get(0) {
            collect(first, members, required);
        }
    }
    required.extend(schema["required"].as_array().into_iter().flatten().map(text));
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let is_source = name == "source" && required.contains(&"source");
        let kinds = &valued(member)["type"];
        let is =
            |kind: &str| *kinds == kind || kinds.as_array().is_some_and(|kinds| kinds.contains(&kind.into()));
        let is_structured = ["object", "array"].into_iter().any(is);
        if is_source || !is_structured || is_list_of_texts(valued(member)) {
            members.push(Field::of(name, member, text(&member["description"])));
        }
    }
}

/// Resolves a reference within the document.
fn resolved(value: &'static Value) -> &'static Value {
    match value["$ref"].as_str().and_then(|reference| REFERENCE.pointer(reference.strip_prefix('#')?)) {
        Some(referred) => resolved(referred),
        None => value,
    }
}

/// Resolves a reference, and the one alternative to `null` of a value that may be removed.
fn valued(value: &'static Value) -> &'static Value {
    let value = resolved(value);
    let alternatives = value["anyOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    match alternatives {
        [one, none] if none["type"] == "null" => resolved(one),
        _ => value,
    }
}

fn text(value: &'static Value) -> &'static str {
    value.as_str().unwrap_or_default()
}
