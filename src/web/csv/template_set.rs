//! A template set as it is stored (S-15) and as it is used.

use std::collections::{HashMap, HashSet};

use actix_web::http::StatusCode;
use serde_json::{Value, json};

use super::groups::id_of;
use super::line::Lines;
use super::refusal::Refusal;
use super::request_template::{RequestDefinition, RequestTemplate};
use super::response_template::{Allowance, ResponseDefinition, ResponseTemplate, TooMuch};

const REQUESTS: &str = "requestTemplates";
const RESPONSES: &str = "responseTemplates";

/// The templates of one X-Id, compiled.
#[derive(Debug, Default)]
pub(crate) struct TemplateSet {
    requests: HashMap<u32, RequestTemplate>,
    responses: Vec<ResponseTemplate>,
}

/// Returns whether templates may have this id: those of built-in messages are reserved (S-27).
pub(crate) fn is_template_id(id: u32) -> bool {
    !matches!(id, 10 | 11 | 15 | 20 | 40..=43 | 45 | 50 | 61 | 70 | 80..=84 | 86..=88)
}

/// Returns the fragment that stores a set (S-15).
pub(crate) fn fragment_of(requests: Vec<Value>, responses: Vec<Value>) -> Value {
    json!({ REQUESTS: requests, RESPONSES: responses })
}

impl TemplateSet {
    /// Compiles the fragment of a managed object. It may have been changed through the inventory, so it is
    /// validated like a registration. Invalid templates are skipped, and their message ids are unknown:
    ///
    /// - anything that is not an object, lacks a mandatory member or has one of another type; `msgId` may be
    ///   a string or a number;
    /// - reserved ids, and any template a registration would reject;
    /// - of templates with the same id all but the first, requests before responses.
    pub(crate) fn compile(fragment: &Value) -> Self {
        let mut set = Self::default();
        let mut ids = HashSet::new();
        for (id, stored) in templates(fragment, REQUESTS) {
            let template = RequestDefinition::of_json(stored).and_then(|template| template.compile().ok());
            if let Some(template) = template
                && ids.insert(id)
            {
                set.requests.insert(id, template);
            }
        }
        for (id, stored) in templates(fragment, RESPONSES) {
            let template = ResponseDefinition::of_json(stored).and_then(|template| template.compile(id).ok());
            if let Some(template) = template
                && ids.insert(id)
            {
                set.responses.push(template);
            }
        }
        set
    }

    /// Returns the request template of a message id.
    pub(crate) fn request(&self, id: u32) -> Option<&RequestTemplate> {
        self.requests.get(&id)
    }

    /// Returns whether the set has response templates.
    pub(crate) fn has_responses(&self) -> bool {
        !self.responses.is_empty()
    }

    /// Adds the lines that the response templates produce for an object, in the order of their registration
    /// (S-03). If they exceed the budget, a single line `50,<line>,413` replaces them.
    pub(crate) fn evaluate(&self, object: &Value, line: usize, lines: &mut Lines) {
        let mut evaluated = Lines::default();
        let mut allowance = Allowance::default();
        let request_line = line.to_string();
        let mut templates = self.responses.iter();
        match templates.try_for_each(|t| t.evaluate(object, &request_line, &mut allowance, &mut evaluated)) {
            Ok(()) => lines.append(&evaluated),
            Err(TooMuch) => Refusal::Rest(StatusCode::PAYLOAD_TOO_LARGE).write(line, lines),
        }
    }
}

/// Returns the entries of one of the two lists that have a valid template id.
fn templates<'f>(fragment: &'f Value, list: &str) -> impl Iterator<Item = (u32, &'f Value)> {
    let stored = fragment.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    stored.iter().filter_map(|template| {
        let id = match template.get("msgId")? {
            Value::String(text) => id_of(text)?,
            Value::Number(number) => id_of(&number.to_string())?,
            _ => return None,
        };
        is_template_id(id).then_some((id, template))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(id: Value, uri: &str) -> Value {
        json!({"msgId": id, "method": "GET", "resourceUri": uri})
    }

    #[test]
    fn invalid_templates_are_skipped() {
        let fragment = json!({
            "requestTemplates": [
                get("100".into(), "/first"),
                get("100".into(), "/second"),
                get(101.into(), "/number"),
                get("x".into(), "/x"),
                get("20".into(), "/reserved"),
                get("1234567890".into(), "/long"),
                get(1.5.into(), "/x"),
                get((-1).into(), "/x"),
                get(102.into(), "no-slash"),
                get(102.into(), "/usable"),
                {"msgId": 103, "method": "GET", "resourceUri": 7},
                {"msgId": 104, "method": "GET", "resourceUri": "/x", "values": "STRING"},
                {"msgId": 105, "method": "GET", "resourceUri": "/x", "values": null, "accept": null},
                {"method": "GET", "resourceUri": "/x"},
                null, 7, "x", [],
            ],
            "responseTemplates": [
                {"msgId": "200", "base": "$", "condition": "", "pattern": ["$.id"]},
                {"msgId": "200", "pattern": ["$.name"]},
                {"msgId": 201, "pattern": ["name"]},
                {"msgId": "100", "pattern": ["$.id"]},
                {"msgId": 202, "pattern": []},
                {"msgId": 203, "pattern": "$.id"},
                {"msgId": 204, "pattern": ["$.id", 7]},
                {"msgId": 205, "pattern": ["$..id"]},
                {"msgId": 206, "base": 7, "pattern": ["$.id"]},
                {"msgId": 86, "pattern": ["$.id"]},
                {"pattern": ["$.id"]},
                null,
            ],
        });

        let set = TemplateSet::compile(&fragment);

        let uri =
            |id: u32| set.request(id).map(|template| template.call(&[]).expect("a call").uri.into_owned());
        let usable: Vec<_> = (0..300).filter_map(|id| Some((id, uri(id)?))).collect();
        let expected = [(100, "/first"), (101, "/number"), (102, "/usable"), (105, "/x")];
        assert_eq!(usable, expected.map(|(id, uri)| (id, uri.to_owned())));
        let mut lines = Lines::default();
        set.evaluate(&json!({"id": "1", "name": "n"}), 3, &mut lines);
        assert_eq!(lines.into_text(), "200,3,1\n201,3,n\n");
    }

    #[test]
    fn any_fragment_compiles_to_a_set() {
        for fragment in
            [json!(null), json!([]), json!("x"), json!({"requestTemplates": {}, "responseTemplates": 7})]
        {
            let set = TemplateSet::compile(&fragment);
            assert!(!set.has_responses() && set.request(100).is_none());
        }
    }

    #[test]
    fn more_lines_than_can_be_sent_are_one_line() {
        let set = TemplateSet::compile(&json!({"responseTemplates": [
            {"msgId": 200, "pattern": ["a"]},
            {"msgId": 201, "pattern": vec!["$"; 20]},
        ]}));
        let mut lines = Lines::default();
        set.evaluate(&json!({"a": "x".repeat(1 << 20)}), 3, &mut lines);
        assert_eq!(lines.into_text(), "50,3,413\n");
    }
}
