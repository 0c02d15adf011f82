//! Assembles the AsyncAPI document. docs/openapi/streams.yaml says which channels and streams there are and who may
//! receive them; schemas, and the requests with which consumers read, are those of the OpenAPI document.
//! docs/openapi/README.md explains the notation.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::document::{capitalized, list, read, resolve, text};
use super::examples::parameters;
use super::values::members;

/// The place of the schemas, in this document as in the other one.
const SCHEMAS: &str = "#/components/schemas/";

/// The endpoint of what both endpoints serve.
const BOTH: &str = "both";

/// The parts of the document that are assembled so far.
struct Assembly<'f> {
    file: &'f Value,
    /// The OpenAPI document.
    reference: &'f Value,
    servers: Map<String, Value>,
    channels: Map<String, Value>,
    operations: Map<String, Value>,
    messages: Map<String, Value>,
    schemas: Map<String, Value>,
}

/// Returns the document. A mistake in the files of the folder ends the build with a message.
pub(crate) fn assemble(folder: &Path, reference: &Value) -> Value {
    let file = read(folder, "streams");
    let new = Map::new;
    let (file, schemas) = (&file, file["schemas"].as_object().expect("there are schemas").clone());
    let mut assembly = Assembly {
        file,
        reference,
        servers: new(),
        channels: new(),
        operations: new(),
        messages: new(),
        schemas,
    };
    assembly.add_servers();
    members(&file["resources"]).for_each(|(word, resource)| assembly.add_resource(word, resource));
    members(&file["meta"]).for_each(|(word, meaning)| assembly.add_meta(word, meaning));
    members(&file["channels"]).for_each(|(name, channel)| assembly.add_channel(name, channel));
    assembly.finish()
}

fn named(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/{kind}/{name}")})
}

impl Assembly<'_> {
    fn add_servers(&mut self) {
        let host = json!({"default": "127.0.0.1:8080", "description": "The address of the server."});
        let mut add = |name: String, mut server: Value| {
            server["host"] = "{host}".into();
            server["variables"] = json!({"host": host});
            server["security"] = json!([
                named("components/securitySchemes", "basic"),
                named("components/securitySchemes", "bearer"),
            ]);
            self.servers.insert(name, server);
        };
        for (name, endpoint) in members(&self.file["endpoints"]) {
            let paths: Vec<&str> = list(&endpoint["paths"]).map(text).collect();
            let (first, others) = paths.split_first().expect("an endpoint has a path");
            for (transport, given) in members(&self.file["transports"]) {
                let description =
                    format!("{} {}", text(&endpoint["description"]), text(&given["description"]));
                let server = json!({
                    "protocol": given["protocol"],
                    "pathname": first,
                    "description": format!("{description} Deprecated paths: `{}`.", others.join("`, `")),
                    "x-deprecated-paths": others,
                });
                add(format!("{name}{transport}"), server);
            }
        }
        add("requests".to_owned(), self.file["requests"].clone());
    }

    /// Returns the references to the servers of an endpoint.
    fn servers_of(&self, endpoint: &str) -> Vec<Value> {
        let of_endpoint = |name: &&String| match endpoint {
            BOTH => *name != "requests",
            endpoint => name.starts_with(endpoint),
        };
        self.servers.keys().filter(of_endpoint).map(|name| named("servers", name)).collect()
    }

    /// Adds the channel of a kind of objects, that of the members of a group, and that of an object and all below it.
    fn add_resource(&mut self, word: &str, resource: &Value) {
        let [schema, noun] = [&resource["schema"], &resource["noun"]].map(text);
        let message = format!("{schema}Notification");
        let change = json!({
            "type": "object",
            "description": format!("What happened to {noun}, and how it is now."),
            "required": ["realtimeAction", "data"],
            "properties": {
                "realtimeAction": {"enum": resource["actions"], "description": "What happened."},
                "data": {"$ref": schema},
            },
            "additionalProperties": false,
        });
        let forms = [change, json!({"$ref": "Deletion"})].into_iter().chain(forms_of_list(resource));
        let data = json!({"anyOf": forms.collect::<Vec<_>>()});
        let of_channel = json!({"type": "object", "properties": {"data": data}});
        self.schemas.insert(message.clone(), json!({"allOf": [{"$ref": "Notification"}, of_channel]}));

        let address = format!("/{word}/{{id}}");
        let own = json!({
            "address": address,
            "endpoint": "realtime",
            "description": format!("Each time {noun} of a managed object is created, changed or deleted."),
            "parameters": {"id": "The id of the managed object, or `*` for all."},
            "role": resource["role"],
            "or": "ownership of the managed object, or a device permission; for `*` the role alone counts",
            "sends": {message.clone(): format!("What happened to {noun}.")},
        });
        self.add_channel(word, &own);
        self.add_group(word, own.clone());
        if let Some(family) = resource["family"].as_str() {
            let mut own = own;
            own["address"] = format!("/{family}/{{id}}").into();
            own["description"] = format!("The same as `{address}`, also of all objects below.").into();
            own["parameters"] = json!({"id": "The id of the managed object; `*` is not allowed."});
            own["or"] = "ownership of the managed object, or a device permission".into();
            self.add_channel(family, &own);
        }
    }

    /// Adds the channel of a kind of objects of the members of a group.
    fn add_group(&mut self, word: &str, mut own: Value) {
        own["address"] = format!("/{word}OfGroup/{{id}}").into();
        own["description"] = format!(
            "The same as `/{word}/{{id}}`, of the devices that are members of a group when it happens. On the channel \
             of managed objects, `ext` says whether the device is a member then. `/{word}/group:{{id}}` is the same, \
             with a character that not all clients accept in a channel."
        )
        .into();
        own["parameters"] = json!({"id": "The id of a static or dynamic group."});
        own["or"] = Value::Null;
        self.add_channel(&format!("{word}OfGroup"), &own);
    }

    /// Adds a meta channel, to which clients send and on which they get the reply.
    fn add_meta(&mut self, word: &str, meaning: &Value) {
        let channel = json!({
            "address": format!("/meta/{word}"),
            "endpoint": BOTH,
            "description": meaning,
            "takes": {"BayeuxMessage": "A message to a meta channel."},
            "replies": {"BayeuxResponse": "The reply to a message to a meta channel."},
        });
        self.add_channel(word, &channel);
    }

    fn add_channel(&mut self, name: &str, given: &Value) {
        let operation = given["request"].as_str().map(|id| self.request(id));
        let mut channel = json!({"description": text(&given["description"]).trim()});
        let mut parameters: Map<String, Value> = Map::new();
        for (name, meaning) in members(&given["parameters"]) {
            parameters.insert(name.to_owned(), json!({"description": meaning}));
        }
        channel["address"] = given["address"].clone();
        channel["servers"] = given["endpoint"].as_str().map(|endpoint| self.servers_of(endpoint)).into();
        if let Some(request) = &operation {
            channel["address"] = request["address"].clone();
            channel["servers"] = json!([named("servers", "requests")]);
            parameters.extend(
                members(&request["parameters"]).map(|(name, meaning)| (name.to_owned(), meaning.clone())),
            );
        }
        if !parameters.is_empty() {
            channel["parameters"] = parameters.into();
        }
        channel["messages"] = json!({});
        for way in ["takes", "sends", "replies"] {
            for (message, meaning) in members(&given[way]) {
                channel["messages"][message] = named("components/messages", message);
                self.add_message(message, meaning);
            }
        }
        for (way, action) in [("takes", "receive"), ("sends", "send")] {
            if given.get(way).is_some() {
                self.add_operation(name, way, action, given, operation.as_ref());
            }
        }
        let before = self.channels.insert(name.to_owned(), channel);
        assert!(before.is_none(), "the channel {name} is there twice");
    }

    fn add_operation(
        &mut self,
        channel: &str,
        way: &str,
        action: &str,
        given: &Value,
        request: Option<&Value>,
    ) {
        let messages = |way: &str| -> Vec<Value> {
            members(&given[way])
                .map(|(name, _)| named("channels", &format!("{channel}/messages/{name}")))
                .collect()
        };
        let mut description = text(&given["description"]).trim().to_owned();
        let mut operation = json!({
            "action": action,
            "channel": named("channels", channel),
            "messages": messages(way),
        });
        if let Some(role) = given["role"].as_str() {
            operation["x-required-roles"] = json!([format!("ROLE_{role}")]);
            let or = given["or"].as_str().map(|or| format!(", or {or}")).unwrap_or_default();
            description += &format!("\n\nRequires `ROLE_{role}`{or}.");
        }
        if let Some(request) = request {
            operation["bindings"] = json!({"http": request["binding"]});
            operation["x-operation-id"] = given["request"].clone();
        }
        if given.get("replies").is_some() {
            operation["reply"] =
                json!({"channel": named("channels", channel), "messages": messages("replies")});
        }
        operation["description"] = description.into();
        self.operations.insert(format!("{action}{}", capitalized(channel)), operation);
    }

    fn add_message(&mut self, name: &str, meaning: &Value) {
        let content_type = self.file["contentTypes"][name].as_str().unwrap_or("application/json");
        let mut message = json!({
            "name": name,
            "summary": meaning,
            "contentType": content_type,
            "payload": {"$ref": name},
        });
        if let Some(example) = self.file["examples"].get(name) {
            message["examples"] = json!([{"payload": example}]);
        }
        self.messages.insert(name.to_owned(), message);
    }

    /// Returns address, parameters and binding of the operation of the OpenAPI document that has this id.
    fn request(&self, id: &str) -> Value {
        let operations = members(&self.reference["paths"])
            .flat_map(|(path, item)| members(item).map(move |(method, operation)| (path, method, operation)));
        let mut with_id = operations.filter(|(.., operation)| operation["operationId"] == id);
        let (path, method, operation) =
            with_id.next().unwrap_or_else(|| panic!("streams.yaml: there is no operation {id}"));
        let (mut of_path, mut query) = (Map::new(), Map::new());
        for parameter in parameters(self.reference, operation) {
            let name = text(&parameter["name"]).to_owned();
            let mut schema = parameter["schema"].clone();
            schema["description"] = parameter["description"].clone();
            match text(&parameter["in"]) {
                "path" => drop(of_path.insert(name, json!({"description": parameter["description"]}))),
                "query" => drop(query.insert(name, schema)),
                _ => {}
            }
        }
        let mut binding = json!({"method": method.to_uppercase(), "bindingVersion": "0.3.0"});
        if !query.is_empty() {
            binding["query"] = json!({"type": "object", "properties": query});
        }
        json!({"address": path, "parameters": of_path, "binding": binding})
    }

    /// Adds the schemas of the OpenAPI document that others name, and returns the document.
    fn finish(mut self) -> Value {
        let mut own = Value::from(std::mem::take(&mut self.schemas));
        let mut messages = Value::from(std::mem::take(&mut self.messages));
        resolve(&mut own);
        resolve(&mut messages);
        let mut schemas = own.as_object().expect("it is an object").clone();
        for value in [&own, &messages] {
            self.include(value, &mut schemas);
        }
        let mut info = self.file["info"].clone();
        info["version"] = self.reference["info"]["version"].clone();
        json!({
            "asyncapi": self.file["asyncapi"],
            "info": info,
            "defaultContentType": "application/json",
            "servers": self.servers,
            "channels": self.channels,
            "operations": self.operations,
            "components": {
                "messages": messages,
                "schemas": schemas,
                "securitySchemes": {
                    "basic": self.reference["components"]["securitySchemes"]["basic"],
                    "bearer": self.reference["components"]["securitySchemes"]["bearer"],
                },
            },
        })
    }

    fn include(&self, value: &Value, schemas: &mut Map<String, Value>) {
        match value {
            Value::Object(members) => members.values().for_each(|value| self.include(value, schemas)),
            Value::Array(items) => items.iter().for_each(|value| self.include(value, schemas)),
            Value::String(place) => {
                let Some(name) = place.strip_prefix(SCHEMAS).filter(|name| !schemas.contains_key(*name))
                else {
                    return;
                };
                let schema = self.reference["components"]["schemas"].get(name);
                let schema = schema.unwrap_or_else(|| panic!("streams.yaml: there is no schema {name}"));
                schemas.insert(name.to_owned(), schema.clone());
                self.include(schema, schemas);
            }
            _ => {}
        }
    }
}

/// Returns the forms of the data about the list with which a subscription to a kind of objects may begin.
fn forms_of_list(resource: &Value) -> Vec<Value> {
    let Some(list) = resource["list"].as_str() else { return Vec::new() };
    let piece = json!({
        "type": "object",
        "description": format!("A part of the list `{list}` with which the subscription begins."),
        "required": ["realtimeAction", "data"],
        "properties": {
            "realtimeAction": {"const": "SNAPSHOT", "description": "Always SNAPSHOT."},
            "data": {"type": "array", "items": {"$ref": resource["schema"]}, "description": "Objects of the list."},
        },
        "additionalProperties": false,
    });
    vec![piece, json!({"$ref": "SnapshotEnd"})]
}
