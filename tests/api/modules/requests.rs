//! Requests to other servers, and their responses (`SendRequest` and `ResponseReceived`, Q-06, Q-07).

use super::*;

/// Returns a module that sends a request for each measurement and creates an event of each response.
fn asking(url: &str, authorization: &str) -> String {
    format!(
        "module asks;\n\
         insert into SendRequest\n\
         select '{url}' as url, 'POST' as method, '{{\"name\":\"asked for\"}}' as body,\n    \
             '{authorization}' as authorization, 'application/json' as contentType,\n    \
             m.measurement.source.value as source\n\
         from MeasurementCreated m;\n\
         insert into CreateEvent\n\
         select 'answer' as type, cast(r.status, string) || ' ' || r.body as text, r.creationTime as time,\n    \
             r.source.value as source\n\
         from ResponseReceived r;\n"
    )
}

#[tokio::test]
async fn response_of_an_allowed_server_becomes_an_event() {
    let other = TestServer::shared().await;
    let address = other.address().to_string();
    let allowed = vec![address.parse().unwrap()];
    let (_server, admin, device) = TestServer::start_with(|settings| settings.module_request_hosts = allowed)
        .await
        .with_device("pump")
        .await;
    let url = format!("http://{address}/inventory/managedObjects");
    deploy(&admin, &asking(&url, &other.admin().authorization().unwrap())).await;

    measure(&admin, &device, 20).await;

    let answers = events_come(&admin, "answer", 1).await;
    assert_eq!(answers, ["201 "]);
    let made = other.admin().read("/inventory/managedObjects").await;
    let names: Vec<&Value> =
        made["managedObjects"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["asked for"]);
    let event = admin.read("/event/events?type=answer").await;
    assert_eq!(event["events"][0]["source"]["id"], *device);
}

#[tokio::test]
async fn server_that_is_not_allowed_receives_nothing() {
    let other = TestServer::start().await;
    let (_server, admin, device) = TestServer::start().await.with_device("pump").await;
    let url = format!("http://{}/inventory/managedObjects", other.address());
    deploy(&admin, &asking(&url, &other.admin().authorization().unwrap())).await;

    measure(&admin, &device, 20).await;

    let why = format!("0 not sent: the host '{}' is not allowed by the operator", other.address());
    assert_eq!(events_come(&admin, "answer", 1).await, [why]);
    assert_eq!(other.database().count("managed_objects").await, 0);
}
