//! The manifest in the archive of an application (W-03).

use super::*;

/// Manifests as microservices of other platforms have them: with all kinds of members, most of which no platform needs.
const SHAPES: [(&str, &str); 12] = [
    ("least", "{}"),
    (
        "classic",
        r#"{"apiVersion":"1","version":"1.0.0-SNAPSHOT","provider":{"name":"Acme"},
        "isolation":"MULTI_TENANT","requiredRoles":[],"roles":[]}"#,
    ),
    (
        "v2",
        r#"{"apiVersion":"v2","version":"2.3.1","provider":{"name":"Acme Ltd.","domain":"https://acme.example",
        "support":"support@acme.example"},"isolation":"MULTI_TENANT","scale":"AUTO","replicas":2,
        "resources":{"cpu":"0.5","memory":"512M"},"requestedResources":{"cpu":"100m","memory":"128Mi"}}"#,
    ),
    (
        "named",
        r#"{"apiVersion":"2","name":"named","key":"named-key","contextPath":"named","type":"MICROSERVICE",
        "version":"1.0.0","provider":{"name":"Acme"},"isolation":"PER_TENANT"}"#,
    ),
    ("provider-text", r#"{"apiVersion":"1","version":"0.1","provider":"Acme","isolation":"MULTI_TENANT"}"#),
    (
        "probes",
        r#"{"apiVersion":"1","version":"1","livenessProbe":{"httpGet":{"path":"/health","port":80},
        "initialDelaySeconds":60,"periodSeconds":10},"readinessProbe":{"httpGet":{"path":"/health/ready?deep=1"},
        "initialDelaySeconds":30,"periodSeconds":10,"timeoutSeconds":5,"failureThreshold":3,"successThreshold":1}}"#,
    ),
    (
        "other-probe",
        r#"{"version":"1","livenessProbe":{"exec":{"command":["ls"]}},"readinessProbe":{"tcpSocket":{}}}"#,
    ),
    (
        "settings",
        r#"{"version":"1","settingsCategory":"pumps","settings":[{"key":"rate","defaultValue":"5",
        "editable":true,"overwriteOnUpdate":true,"inheritFromOwner":false},
        {"key":"credentials.password","defaultValue":"x","editable":false}]}"#,
    ),
    (
        "roles",
        r#"{"version":"1","requiredRoles":["ROLE_INVENTORY_READ","ROLE_INVENTORY_CREATE","ROLE_ALARM_ADMIN",
        "ROLE_EVENT_READ","ROLE_MEASUREMENT_ADMIN","ROLE_DEVICE_CONTROL_READ","ROLE_IDENTITY_ADMIN",
        "ROLE_TENANT_MANAGEMENT_READ","ROLE_OPTION_MANAGEMENT_READ","ROLE_AUDIT_READ","ROLE_BULK_OPERATION_READ"],
        "roles":["ROLE_PUMPS_READ","ROLE_PUMPS_ADMIN"]}"#,
    ),
    ("billing", r#"{"version":"1","billingMode":"SUBSCRIPTION","legacyApi":true,"expose":false}"#),
    (
        "extensions",
        r#"{"version":"1","extensions":[{"type":"extensible-input","bundled":true},
        {"type":"DATABROKER"}],"tags":["a","b"],"_links":null}"#,
    ),
    (
        "marked",
        "\u{feff}{\r\n\t\"version\" : \"1.0\" ,\r\n\t\"provider\" : { \"name\" : \"Ac\\u006de\" }\r\n}\r\n",
    ),
];

/// Creates a microservice and uploads an archive of these files; returns its path, and status and text of the upload.
async fn install(admin: &Caller, name: &str, files: &[(&str, &str)]) -> (String, u16, String) {
    let body = json!({"name": name, "key": format!("{name}-key"), "type": "MICROSERVICE"});
    let application = admin.create("/application/applications", &body).await;
    let path = format!("/application/applications/{}", application["id"].as_str().unwrap());
    let entries: Vec<_> = files.iter().map(|(name, content)| Entry::deflated(name, content)).collect();
    let request = admin
        .request("POST", &format!("{path}/binaries"))
        .header("Content-Type", "multipart/form-data; boundary=b")
        .body(form("file", &archive(&entries)));
    let (status, text) = status_of(request).await;
    (path, status, text)
}

pub(super) async fn manifest_has_either_file_name(admin: &Caller) {
    let image = ("image.tar", "an image");
    for (name, files, version) in [
        ("vendor", &[("acme.json", r#"{"version":"2"}"#), image][..], "2"),
        ("ours", &[("platform.json", r#"{"version":"1"}"#), image], "1"),
        ("both", &[("acme.json", r#"{"version":"2"}"#), image, ("platform.json", r#"{"version":"1"}"#)], "1"),
    ] {
        let (path, status, text) = install(admin, name, files).await;
        assert_eq!((status, &*text), (204, ""), "{name}");
        assert_eq!(read(admin, &path).await["manifest"]["version"], version, "{name}");
    }
    for (name, files, part) in [
        ("neither", &[image][..], "missing at its root: platform.json or acme.json;"),
        ("capital", &[("Acme.json", "{}"), image], "missing at its root: platform.json or acme.json;"),
        ("no-image", &[("acme.json", "{}")], "missing at its root: image.tar;"),
        ("wrong", &[("acme.json", r#"{"isolation":"BOTH"}"#), image], "'acme.json: isolation'"),
    ] {
        let (_, status, text) = install(admin, name, files).await;
        assert_eq!(status, 422, "{name}: {text}");
        assert!(text.contains(part), "{name}: {text}");
    }
}

pub(super) async fn manifests_of_any_shape_are_taken(admin: &Caller) {
    for (name, manifest) in SHAPES {
        let (path, status, text) =
            install(admin, &format!("shape-{name}"), &[("acme.json", manifest), ("image.tar", "i")]).await;
        assert_eq!((status, &*text), (204, ""), "{name}");
        let expected: Value = serde_json::from_str(manifest.trim_start_matches('\u{feff}')).unwrap();
        assert_eq!(read(admin, &path).await["manifest"], expected, "{name}");
    }
}
