//! Tests of parsing manifests and of rejecting invalid ones.

use super::*;

fn refused(text: &str) -> String {
    match Manifest::parse(FILE, text.as_bytes()) {
        Err(Error::Invalid(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn every_member_is_read_and_unknown_ones_are_kept() {
    let text = r#"{"apiVersion":"1","name":"hello","contextPath":"/hello","version":"1.0.0","provider":{"name":"A"},
        "isolation":"PER_TENANT","scale":"AUTO","resources":{"cpu":"1","memory":"256M"},"requestedResources":{"cpu":"100m"},
        "requiredRoles":["ROLE_ALARM_READ","ROLE_ALARM_READ","ROLE_OTHER_ADMIN"],"roles":["ROLE_HELLO_READ"],
        "settings":[{"key":"a","defaultValue":"1","editable":true},{"key":"b","more":1}],"settingsCategory":"hi",
        "livenessProbe":{"httpGet":{"path":"/health?x=1","port":80},"initialDelaySeconds":60,"periodSeconds":5,
        "timeoutSeconds":2,"successThreshold":2,"failureThreshold":4},"readinessProbe":{"exec":{"command":["x"]}},
        "billingMode":"RESOURCES","extensions":[{"type":"menu"}]}"#;

    let manifest = Manifest::parse(FILE, text.as_bytes()).expect("a manifest");

    let setting = |key: &str, default: Option<&str>, editable| Setting {
        key: key.into(),
        default_value: default.map(Into::into),
        editable,
    };
    let probe = Probe {
        path: "/health?x=1".into(),
        initial_delay: Duration::from_secs(60),
        period: Duration::from_secs(5),
        timeout: Duration::from_secs(2),
        success_threshold: 2,
        failure_threshold: 4,
    };
    assert_eq!(manifest.context_path.as_deref(), Some("hello"));
    assert_eq!(manifest.isolation, Isolation::PerTenant);
    assert_eq!(
        manifest.required_roles.as_deref(),
        Some(&["ROLE_ALARM_READ", "ROLE_OTHER_ADMIN"].map(String::from)[..])
    );
    assert_eq!(manifest.roles.as_deref(), Some(&["ROLE_HELLO_READ".to_owned()][..]));
    assert_eq!(manifest.settings, [setting("a", Some("1"), true), setting("b", None, false)]);
    assert_eq!(manifest.liveness_probe, Some(probe));
    assert_eq!(manifest.readiness_probe, None);
    assert_eq!(manifest.text.get(), text);
}

#[test]
fn minimal_manifest_is_an_empty_object() {
    let manifest = Manifest::parse(FILE, b"\xef\xbb\xbf{}").expect("a manifest");

    assert_eq!(manifest.isolation, Isolation::MultiTenant);
    assert_eq!((manifest.required_roles.as_deref(), manifest.settings.len()), (None, 0));
    assert_eq!(manifest.served_at(ApplicationType::Microservice, "name"), Some("name"));
    assert_eq!(manifest.served_at(ApplicationType::Hosted, "name"), None);
}

#[test]
fn invalid_member_is_named_with_its_position_its_value_and_the_allowed_values() {
    for (text, member, allowed) in [
        ("", "platform.json", "null"),
        ("[]", "platform.json", "Malformed"),
        ("{", "platform.json", "Malformed"),
        (r#"{"name":1}"#, "platform.json: name", "a string"),
        (r#"{"name":"a\nb"}"#, "platform.json: name", "control"),
        (r#"{"contextPath":"../x"}"#, "platform.json: contextPath", "a-z"),
        (r#"{"contextPath":"//x"}"#, "platform.json: contextPath", "a-z"),
        (r#"{"contextPath":"/"}"#, "platform.json: contextPath", "a-z"),
        (r#"{"isolation":"BOTH"}"#, "platform.json: isolation", "MULTI_TENANT, PER_TENANT"),
        (r#"{"provider":[]}"#, "platform.json: provider", "a string or an object"),
        (r#"{"resources":"1"}"#, "platform.json: resources", "an object"),
        (r#"{"requiredRoles":"ROLE_A"}"#, "platform.json: requiredRoles", "array"),
        (r#"{"requiredRoles":["ROLE_A",1]}"#, "platform.json: requiredRoles", "array"),
        (r#"{"requiredRoles":["ROLE_SYSTEM"]}"#, "platform.json: requiredRoles", "ROLE_"),
        (r#"{"roles":["admin"]}"#, "platform.json: roles", "ROLE_"),
        (r#"{"settings":{}}"#, "platform.json: settings", "an array"),
        (r#"{"settings":[{}]}"#, "platform.json: settings[0].key", "1 to"),
        (r#"{"settings":[{"key":"a"},{"key":"a"}]}"#, "platform.json: settings[1].key", "once"),
        (
            r#"{"settings":[{"key":"a","defaultValue":1}]}"#,
            "platform.json: settings[0].defaultValue",
            "a string",
        ),
        (
            r#"{"settings":[{"key":"a","editable":"yes"}]}"#,
            "platform.json: settings[0].editable",
            "true, false",
        ),
        (r#"{"livenessProbe":1}"#, "platform.json: livenessProbe", "an object"),
        (
            r#"{"livenessProbe":{"httpGet":{"port":"x"}}}"#,
            "platform.json: livenessProbe.httpGet.port",
            "65535",
        ),
        (
            r#"{"livenessProbe":{"httpGet":{},"periodSeconds":0}}"#,
            "platform.json: livenessProbe.periodSeconds",
            "1 to",
        ),
        (
            r#"{"livenessProbe":{"httpGet":{},"periodSeconds":1.5}}"#,
            "platform.json: livenessProbe.periodSeconds",
            "1 to",
        ),
    ] {
        let message = refused(text);
        assert!(message.contains(member) && message.contains(allowed), "{text}: {message}");
    }
}

#[test]
fn probe_paths_stay_below_the_address_of_the_service() {
    for path in ["/", "/health", "/a/b.c?d=e..f", "/..a"] {
        let text = format!(r#"{{"readinessProbe":{{"httpGet":{{"path":"{path}"}}}}}}"#);
        assert!(Manifest::parse(FILE, text.as_bytes()).expect(path).readiness_probe.is_some(), "{path}");
    }
    for path in [
        "",
        "health",
        "http://10.0.0.1/",
        "//10.0.0.1/",
        "/%2f10.0.0.1/",
        "/a/../b",
        "/a/..",
        "/%2e%2E/b",
        "/a%2f../b",
        "/a\\\\..",
        "/a%5c..",
        "/a b",
        "/a\\tb",
        "/a\\r\\nHost: x",
        "/ä",
        "/a#b",
    ] {
        let message = refused(&format!(r#"{{"readinessProbe":{{"httpGet":{{"path":"{path}"}}}}}}"#));
        assert!(message.contains("platform.json: readinessProbe.httpGet.path"), "{path}: {message}");
    }
}
