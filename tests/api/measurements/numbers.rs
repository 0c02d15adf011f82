//! Numbers as they were sent (G-03).

use super::*;

#[tokio::test]
async fn numbers_of_all_kinds_are_given_back_byte_for_byte() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for number in [
        "0",
        "-0",
        "-0.0",
        "1.0",
        "1.50",
        "23.5",
        "-273.15",
        "1e3",
        "1E+3",
        "1e-7",
        "0.1",
        "0.30000000000000004",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "-9223372036854775808",
        "9223372036854775807",
        "18446744073709551615",
        "123456789012345678901234567890",
        "1.7976931348623157e308",
        "5e-324",
        "3.141592653589793238462643383279",
    ] {
        let fragment = format!(r#""env":{{"t":{{"value":{number},"unit":"°C"}}}}"#);
        let text = round_trip(&admin, &device, &fragment).await;
        assert!(text.ends_with(&format!("{fragment}}}")), "{text}");
    }
}

#[tokio::test]
async fn fragments_are_given_back_as_they_were_sent() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for fragment in [
        r#""env":{"t":{"value":1,"unit":"C"},"h":{"value":2}},"power":{"p":{"value":3}}"#,
        r#""env":{"t":{"unit":"C","value":1.50,"note":"\u00e9"}}"#,
        r#""env":{"t":{"value":1},"x":[1.0,{"y":null}]},"note":"text","more":{ "a" : 1.0 }"#,
        r#""none":{}"#,
    ] {
        let text = round_trip(&admin, &device, fragment).await;
        assert!(text.ends_with(&format!("{fragment}}}")), "{text}");
    }
}
