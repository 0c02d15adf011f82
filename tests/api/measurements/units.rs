//! Unit conversion on reads (G-10).

use super::*;

const HEADER: &str = "X-Platform-System-Of-Units";

async fn read_in(caller: &Caller, path: &str, system: &str) -> Response {
    caller.request("GET", path).header(HEADER, system).send().await
}

async fn populated() -> (TestServer, Caller, String, Value) {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let members = json!({"env": {
        "t": {"value": 100, "unit": "C"},
        "p": {"value": 3, "unit": "%"},
        "n": {"value": 0, "unit": "K", "note": "kept"},
    }});
    let body = measurement_with(&device, "t", "2024-03-10T00:00:00Z", &members);
    let created = admin.create(MEASUREMENTS, &body).await;
    (server, admin, device, created)
}

#[tokio::test]
async fn list_and_one_are_shown_in_the_system_that_is_asked_for() {
    let (_server, admin, _, created) = populated().await;
    let expected = json!({
        "t": {"value": 212, "unit": "°F"},
        "p": {"value": 3, "unit": "%"},
        "n": {"value": 0, "unit": "°R", "note": "kept"},
    });

    let one = read_in(&admin, created["self"].as_str().unwrap(), "imperial").await.json();
    let list = read_in(&admin, MEASUREMENTS, "IMPERIAL").await.json();

    assert_eq!(one["env"], expected);
    assert_eq!(list["measurements"][0], one);
    assert_eq!(read_in(&admin, created["self"].as_str().unwrap(), "metric").await.json(), created);
    assert_eq!(admin.read(created["self"].as_str().unwrap()).await, created);
}

#[tokio::test]
async fn series_are_converted_with_their_unit() {
    let (_server, admin, device, _) = populated().await;

    for more in ["&series=env.t", "&series=env.t&aggregationType=DAILY"] {
        let result = read_in(&admin, &series_of(&device, more), "imperial").await.json();
        assert_eq!(
            result["values"],
            json!({"2024-03-10T00:00:00.000Z": [{"min": 212, "max": 212}]}),
            "{more}"
        );
        assert_eq!(result["series"], json!([{"unit": "°F", "name": "t", "type": "env"}]));
    }
}

#[tokio::test]
async fn each_number_is_converted_from_the_unit_it_was_sent_with() {
    let (_server, admin, device, _) = populated().await;
    let members = json!({"env": {"t": {"value": 32, "unit": "°F"}}});
    admin.create(MEASUREMENTS, &measurement_with(&device, "t", "2024-03-10T00:00:01Z", &members)).await;

    let result =
        read_in(&admin, &series_of(&device, "&series=env.t&aggregationType=DAILY"), "imperial").await.json();

    assert_eq!(result["values"], json!({"2024-03-10T00:00:00.000Z": [{"min": 32, "max": 212}]}));
}

#[tokio::test]
async fn unknown_system_is_refused_by_name() {
    let (_server, admin, device, created) = populated().await;

    for path in [MEASUREMENTS.to_owned(), created["self"].as_str().unwrap().into(), series_of(&device, "")] {
        read_in(&admin, &path, "nautical").await.expect_message(422, "nautical");
    }
}
