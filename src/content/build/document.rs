//! Assembles the OpenAPI document. The files in docs/openapi describe what is particular to an operation; this adds
//! the common parts. docs/openapi/README.md explains the notation.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::values::members;

/// The prefix of every media type.
const MEDIA: &str = "application/vnd.example.platform.";

/// The common definitions of the files, and the parts of the document that are assembled so far.
#[derive(Default)]
struct Assembly {
    common: Value,
    /// Lists of parameters that operations include under one name.
    groups: Map<String, Value>,
    parameters: Map<String, Value>,
    schemas: Map<String, Value>,
    paths: Map<String, Value>,
    tags: Vec<Value>,
}

/// A file while its paths are assembled.
struct Noun<'f> {
    tag: &'f Value,
    /// The variables in its paths.
    variables: &'f Value,
}

/// Returns the document that the files of a folder describe. A mistake in them ends the build with a message.
pub(crate) fn assemble(folder: &Path, version: &str) -> Value {
    let common = read(folder, "common");
    let files: Vec<Value> = list(&common["files"]).map(|name| read(folder, text(name))).collect();
    let mut assembly = Assembly { common: common.clone(), ..Assembly::default() };
    for file in std::iter::once(&common).chain(&files) {
        assembly.define(file);
    }
    for file in &files {
        assembly.tags.push(file["tag"].clone());
        let noun = Noun { tag: &file["tag"]["name"], variables: &file["path"] };
        for (path, item) in members(&file["paths"]) {
            assembly.add_path(&noun, path, item);
        }
    }
    assembly.add_links();
    let mut info = common["info"].clone();
    info["version"] = version.into();
    let mut document = json!({
        "openapi": common["openapi"],
        "info": info,
        "servers": common["servers"],
        "security": [{"basic": []}, {"bearer": []}],
        "tags": assembly.tags,
        "paths": assembly.paths,
        "x-roles": role_names(&read(folder, "roles")),
        "components": {
            "schemas": assembly.schemas,
            "parameters": assembly.parameters,
            "headers": common["headers"],
            "responses": assembly.error_responses(),
            "securitySchemes": common["securitySchemes"],
        },
    });
    resolve(&mut document);
    document
}

pub(crate) fn read(folder: &Path, name: &str) -> Value {
    let path = folder.join(format!("{name}.yaml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the meaning of each role by its full name.
fn role_names(file: &Value) -> Map<String, Value> {
    members(&file["roles"]).map(|(name, meaning)| (format!("ROLE_{name}"), meaning.clone())).collect()
}

pub(crate) fn list(value: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    value.as_array().map(|items| items.iter()).unwrap_or_default()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

/// Turns `$ref: Name` into the reference to the schema of this name.
pub(crate) fn resolve(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(schema) if name == "$ref" && !schema.contains('/') => {
                        *schema = format!("#/components/schemas/{schema}");
                    }
                    value => resolve(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(resolve),
        _ => {}
    }
}

impl Assembly {
    fn define(&mut self, file: &Value) {
        let targets = [
            ("groups", &mut self.groups),
            ("parameters", &mut self.parameters),
            ("schemas", &mut self.schemas),
        ];
        for (kind, target) in targets {
            for (name, value) in members(&file[kind]) {
                let before = target.insert(name.to_owned(), value.clone());
                assert!(before.is_none(), "{kind} has {name} twice");
            }
        }
        for (name, of) in members(&file["collections"]) {
            let [array, member] = [0, 1].map(|n| text(&of[n]));
            let schema = json!({
                "type": "object",
                "description": "A page. A last page has no `next`.",
                "required": ["self", array, "statistics"],
                "properties": {
                    "self": {"$ref": "Link"},
                    array: {"type": "array", "items": {"$ref": member}, "description": "The members of the page."},
                    "statistics": {"$ref": "Statistics"},
                    "prev": {"$ref": "Link", "description": "The previous page; absent on the first."},
                    "next": {"$ref": "Link", "description": "The next page; absent on the last."},
                },
                "additionalProperties": false,
            });
            self.schemas.insert(name.to_owned(), schema);
        }
    }

    fn add_path(&mut self, noun: &Noun<'_>, path: &str, item: &Value) {
        let also = list(&item["also"]).map(text);
        for (number, path) in std::iter::once(path).chain(also).enumerate() {
            let mut operations = Map::new();
            for method in list(&item["each"]).map(text) {
                let mut operation = item["operation"].clone();
                operation["id"] = format!("{}With{}", text(&operation["id"]), capitalized(method)).into();
                operations.insert(method.into(), self.operation(noun, method, path, &operation));
            }
            for method in ["get", "post", "put", "delete"] {
                let Some(given) = item.get(method) else { continue };
                let mut given = given.clone();
                if number > 0 {
                    given["id"] = format!("{}{}", text(&given["id"]), number + 1).into();
                }
                operations.insert(method.into(), self.operation(noun, method, path, &given));
                if given["head"] == true {
                    given["id"] = format!("{}Head", text(&given["id"])).into();
                    operations.insert("head".into(), self.operation(noun, "head", path, &given));
                }
            }
            let before = self.paths.insert(path.to_owned(), operations.into());
            assert!(before.is_none(), "{path} is there twice");
        }
    }

    /// Adds links, which declare that a resource created by a POST can be read, changed and deleted by its id.
    fn add_links(&mut self) {
        let places: Vec<String> = self.paths.keys().cloned().collect();
        for path in &places {
            let is_item = |place: &&String| {
                let rest = place.strip_prefix(path.as_str()).and_then(|rest| rest.strip_prefix("/{"));
                rest.and_then(|rest| rest.strip_suffix('}'))
                    .is_some_and(|name| ["id", "user", "group"].contains(&name))
            };
            let Some(item) = places.iter().find(is_item) else { continue };
            let schema = &self.paths[path]["post"]["responses"]["201"]["content"]["application/json"]["schema"]
                ["$ref"];
            let schema = schema.as_str().and_then(|name| self.schemas.get(name));
            if schema.is_none_or(|schema| schema["properties"].get("id").is_none()) {
                continue;
            }
            let own = item[path.len()..].trim_matches(['/', '{', '}']);
            let mut parameters = json!({own: "$response.body#/id"});
            for name in path.split('{').skip(1).filter_map(|part| part.split('}').next()) {
                parameters[name] = format!("$request.path.{name}").into();
            }
            let mut links = Map::new();
            for (_, operation) in members(&self.paths[item]) {
                let id = text(&operation["operationId"]);
                links.insert(id.to_owned(), json!({"operationId": id, "parameters": parameters}));
            }
            self.paths[path]["post"]["responses"]["201"]["links"] = links.into();
        }
    }

    fn operation(&self, noun: &Noun<'_>, method: &str, path: &str, given: &Value) -> Value {
        let mut operation = Map::new();
        let mut set = |name: &str, value: Value| operation.insert(name.into(), value);
        set("operationId", given["id"].clone());
        set("tags", json!([noun.tag]));
        set("summary", given["summary"].clone());
        set("description", description(given).into());
        let roles: Vec<String> = roles(given).collect();
        if !roles.is_empty() {
            set("x-required-roles", roles.into());
        }
        if let Some(scheme) = given.get("security") {
            set("security", json!([{text(scheme): []}]));
        } else if given["open"] == true {
            set("security", json!([]));
        }
        let parameters = self.parameters(noun, path, given);
        if !parameters.is_empty() {
            set("parameters", parameters.into());
        }
        if let Some(body) = given.get("body") {
            let content = content(body, given.get("example"));
            set("requestBody", json!({"required": true, "content": content}));
        }
        set("responses", self.responses(method, path, given));
        operation.into()
    }

    fn parameters(&self, noun: &Noun<'_>, path: &str, given: &Value) -> Vec<Value> {
        let of_path = path.split('{').skip(1).filter_map(|part| part.split('}').next()).map(|name| {
            let known = noun.variables.get(name).or_else(|| self.common["pathParameters"].get(name));
            let known = known.unwrap_or_else(|| panic!("{path}: no variable {name}"));
            let mut parameter = json!({"in": "path", "name": name, "required": true});
            members(known).for_each(|(name, value)| parameter[name] = value.clone());
            parameter
        });
        let mut parameters: Vec<Value> = of_path.collect();
        let mut names: Vec<&str> = list(&given["parameters"]).map(text).rev().collect();
        while let Some(name) = names.pop() {
            if let Some(group) = self.groups.get(name) {
                names.extend(list(group).map(text).collect::<Vec<_>>().into_iter().rev());
            } else {
                assert!(self.parameters.contains_key(name), "{path}: no parameter {name}");
                parameters.push(json!({"$ref": format!("#/components/parameters/{name}")}));
            }
        }
        parameters
    }

    fn responses(&self, method: &str, path: &str, given: &Value) -> Value {
        let mut responses = Map::new();
        for (status, returned) in members(&given["returns"]) {
            let mut response = match returned.as_str() {
                Some(text) => json!({"description": text}),
                None => json!({"description": described(status), "content": content(returned, None)}),
            };
            response["headers"] = json!({"X-Request-Id": {"$ref": REQUEST_ID}});
            if status == "201" {
                response["headers"]["Location"] = json!({"schema": {"$ref": "Link"}});
            }
            if matches!(status, "200" | "201") && given["tagged"] == true {
                response["headers"]["ETag"] = json!({"$ref": E_TAG});
            }
            if method == "head" {
                response.as_object_mut().expect("it was made above").remove("content");
            }
            responses.insert(status.to_owned(), response);
        }
        for (status, text) in self.errors_of(path, given) {
            let foreign = given["foreign"] == true;
            let own = text.is_some() || given.get("errorSchema").is_some() || foreign || method == "head";
            let known = &self.common["errors"][&status];
            let response = if own || known.is_null() {
                let text = text.unwrap_or_else(|| known["description"].clone());
                let mut response = error_response(&status, &text, given.get("errorSchema"));
                if foreign {
                    response["content"] = json!({"*/*": {"schema": {"anyOf": [{"$ref": "Error"}, {}]}}});
                }
                if method == "head" {
                    response.as_object_mut().expect("it was made above").remove("content");
                }
                response
            } else {
                json!({"$ref": format!("#/components/responses/{}", self::text(&known["name"]))})
            };
            responses.insert(status, response);
        }
        responses.into()
    }

    /// Returns the errors of an operation in the order of their statuses, with the descriptions of its own.
    fn errors_of(&self, path: &str, given: &Value) -> Vec<(String, Option<Value>)> {
        let mut errors: Vec<(String, Option<Value>)> = Vec::new();
        errors
            .extend(members(&given["errors"]).map(|(status, text)| (status.to_owned(), Some(text.clone()))));
        let mut add = |status: String| {
            if errors.iter().all(|(known, _)| *known != status) {
                errors.push((status, None));
            }
        };
        let shared = |name: &str| list(&self.common[name]).map(Value::to_string).collect::<Vec<_>>();
        shared("ofEverything").into_iter().for_each(&mut add);
        if given["open"] != true {
            shared("ofCallers").into_iter().for_each(&mut add);
            if path.contains('{') {
                add("404".into());
            }
        }
        if given.get("body").is_some() {
            shared("ofBodies").into_iter().for_each(&mut add);
        }
        if list(&given["parameters"]).any(|name| name == "ifMatch") {
            add("412".into());
        }
        let typed = |returned: &Value| returned.is_array() || returned.get("application/json").is_some();
        if members(&given["returns"]).any(|(_, returned)| typed(returned)) {
            add("406".into());
        }
        errors.sort_by(|(one, _), (other, _)| one.cmp(other));
        errors
    }

    fn error_responses(&self) -> Value {
        let of = |(status, error): (&str, &Value)| {
            let mut response = error_response(status, &error["description"], None);
            response["x-status"] = status.into();
            (text(&error["name"]).to_owned(), response)
        };
        members(&self.common["errors"]).map(of).collect::<Map<_, _>>().into()
    }
}

/// The header of every response.
const REQUEST_ID: &str = "#/components/headers/RequestId";
/// The header of a response with an object that has a revision.
const E_TAG: &str = "#/components/headers/ETag";

fn error_response(status: &str, description: &Value, schema: Option<&Value>) -> Value {
    let content = match schema {
        Some(schema) => json!({"application/json": {"schema": {"$ref": schema}}}),
        None => {
            let error = json!({"schema": {"$ref": "Error"}});
            let mut content = json!({"application/json": error});
            content[format!("{MEDIA}error+json")] = error;
            if status == "401" {
                content["application/json"] =
                    json!({"schema": {"anyOf": [{"$ref": "Error"}, {"$ref": "GatewayError"}]}});
            }
            content
        }
    };
    let headers = json!({"X-Request-Id": {"$ref": REQUEST_ID}});
    json!({"description": description, "headers": headers, "content": content})
}

fn roles(given: &Value) -> impl Iterator<Item = String> + '_ {
    list(&given["roles"]).map(|role| format!("ROLE_{}", text(role)))
}

/// Returns the description of an operation, with the roles it needs.
fn description(given: &Value) -> String {
    let own = given.get("description").map(text).unwrap_or_default().trim();
    let roles: Vec<String> = roles(given).map(|role| format!("`{role}`")).collect();
    let needed = match (given["open"] == true, roles.is_empty(), given.get("or").map(text)) {
        (true, ..) => "No credentials are needed.".to_owned(),
        (false, true, None) => "No role is needed.".to_owned(),
        (false, true, Some(other)) => format!("Requires {other}."),
        (false, false, None) => format!("Requires {}.", roles.join(" or ")),
        (false, false, Some(or)) => format!("Requires {}, or {or}.", roles.join(" or ")),
    };
    format!("{own}\n\n{needed}").trim().to_owned()
}

/// Returns the media types of a body. `[type, Schema, others…]` stands for the media type of a resource, for plain
/// JSON, and for the media types of other resources or of other schemas.
fn content(given: &Value, example: Option<&Value>) -> Value {
    let Some(items) = given.as_array() else { return given.clone() };
    let mut described = json!({"schema": {"$ref": items[1]}});
    if let Some(example) = example {
        described["example"] = example.clone();
    }
    let mut content = Map::new();
    content.insert("application/json".into(), described.clone());
    for item in items.iter().take(1).chain(items.iter().skip(2)) {
        match item.as_str() {
            Some(name) => drop(content.insert(format!("{MEDIA}{name}+json"), described.clone())),
            None => content.extend(members(item).map(|(name, value)| (name.to_owned(), value.clone()))),
        }
    }
    content.into()
}

fn described(status: &str) -> &'static str {
    match status {
        "200" => "Done.",
        "201" => "Created. `Location` is the address of the object.",
        "206" => "A part.",
        _ => "The response.",
    }
}

pub(crate) fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
