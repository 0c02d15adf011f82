//! Rows 100 and 107 to 125: the device itself (H-14).

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::acting_device::{find, object_of, send_for, told};
use super::*;

#[tokio::test]
async fn device_introduces_itself_once() {
    let (server, device) = with_device_user("sn-1").await;

    assert_eq!(send(&device, "100,\"Pump \"\"7\"\"\\n\",acme_Pump").await, "");
    assert_eq!(send(&device, "100,Other,acme_Other\n100\n100,,,").await, "");

    let expected = json!({"name": "Pump \"7\"\\n", "type": "acme_Pump", "plat_IsDevice": {},
        "com_platform_model_Agent": {}});
    assert_eq!(told(&object_of(&server, "sn-1").await), expected);
    assert_eq!(server.count("managed_objects").await, 1);
}

#[tokio::test]
async fn rows_replace_the_fragment_they_are_about() {
    let server = TestServer::shared().await;
    let (admin, mut at) = (server.admin(), 0);
    for (row, fragments) in [
        ("110,s,m,r", json!({"plat_Hardware": {"serialNumber": "s", "model": "m", "revision": "r"}})),
        ("110,,m,", json!({"plat_Hardware": {"model": "m"}})),
        ("110", json!({"plat_Hardware": {}})),
        (
            "111,1,2,3,04,05,6,7",
            json!({"plat_Mobile": {"imei": "1", "iccid": "2", "imsi": "3", "mcc": "04", "mnc": "05", "lac": "6",
                "cellId": "7"}}),
        ),
        ("111,1", json!({"plat_Mobile": {"imei": "1"}})),
        ("112,1.5,-2,+3,4", json!({"plat_Position": {"lat": 1.5, "lng": -2, "alt": 3, "accuracy": 4}})),
        ("112,,2", json!({"plat_Position": {"lng": 2}})),
        ("113,\"a=1\nb=\"\"2\"\"\\n\"", json!({"plat_Configuration": {"config": "a=1\nb=\"2\"\\n"}})),
        ("113", json!({"plat_Configuration": {}})),
        ("114,b,,a,b,", json!({"plat_SupportedOperations": ["b", "a", "b"]})),
        ("114", json!({"plat_SupportedOperations": []})),
        ("115,n,1,u", json!({"plat_Firmware": {"name": "n", "version": "1", "url": "u"}})),
        ("115,n,,u,", json!({"plat_Firmware": {"name": "n", "url": "u"}})),
        (
            "116,a,1,u,,,,b,,v,c",
            json!({"plat_SoftwareList": [{"name": "a", "version": "1", "url": "u"}, {"name": "b", "url": "v"},
                {"name": "c"}]}),
        ),
        ("116", json!({"plat_SoftwareList": []})),
        ("118,a,b", json!({"plat_SupportedLogs": ["a", "b"]})),
        ("119,a,b", json!({"plat_SupportedConfigurations": ["a", "b"]})),
        (
            "120,net,http://u,Net,2024-03-10T02:30:00Z",
            json!({"plat_Configuration_net": {"type": "net", "url": "http://u", "name": "Net",
                "time": "2024-03-10T02:30:00Z"}}),
        ),
        ("122,n,1,u,m", json!({"plat_Agent": {"name": "n", "version": "1", "url": "u", "maintainer": "m"}})),
        ("122,n,1,,m", json!({"plat_Agent": {"name": "n", "version": "1", "maintainer": "m"}})),
        ("125", json!({})),
        ("107,a,b", json!({})),
    ] {
        // Each row is sent for its own device, which has other values before.
        let serial = format!("sn-{at}");
        at += 1;
        let answer = send_for(&admin, &serial, &format!("110,old\n112,9\n114,old\n{row}")).await;
        assert_eq!(answer, "", "{row}");
        let mut expected = json!({"name": format!("Device {serial}"), "type": "plat_Device", "plat_IsDevice": {},
            "com_platform_model_Agent": {}, "plat_Hardware": {"serialNumber": "old"}, "plat_Position": {"lat": 9},
            "plat_SupportedOperations": ["old"]});
        expected.as_object_mut().unwrap().extend(fragments.as_object().unwrap().clone());
        assert_eq!(told(&object_of(&server, &serial).await), expected, "{row}");
    }
}

#[tokio::test]
async fn numbers_of_a_position_keep_their_digits() {
    let (server, admin) = TestServer::shared().await.with_admin();

    assert_eq!(send_for(&admin, "sn-1", "112,52.10,-0.50,.5,9007199254740993").await, "");

    let id = find(&server, "sn-1").await.unwrap();
    let stored = admin.get(&format!("{OBJECTS}/{id}")).await.text;
    assert!(
        stored.contains(
            r#""plat_Position":{"alt": 0.5, "lat": 52.10, "lng": -0.50, "accuracy": 9007199254740993}"#
        ),
        "{stored}"
    );
}

#[tokio::test]
async fn configuration_without_name_and_time_gets_its_type_and_the_servers_time() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let before = OffsetDateTime::now_utc();
    assert_eq!(send_for(&admin, "sn-1", "120,net,http://u").await, "");

    let mut fragment = told(&object_of(&server, "sn-1").await)["plat_Configuration_net"].take();
    let time = fragment["time"].take();
    let time = OffsetDateTime::parse(time.as_str().unwrap(), &Rfc3339).unwrap();
    assert!(before - Duration::SECOND < time && time <= OffsetDateTime::now_utc(), "{time}");
    assert_eq!(fragment, json!({"type": "net", "url": "http://u", "name": "net", "time": null}));
}

#[tokio::test]
async fn fragments_are_removed_and_others_stay() {
    let (server, device) = with_device_user("sn-1").await;
    send(&device, "110,s\n113,c\n115,f\n118,l").await;

    assert_eq!(send(&device, "107,plat_Hardware,,plat_Unknown,plat_Firmware,plat_Hardware,").await, "");

    let expected = json!({"name": "Device sn-1", "type": "plat_Device", "plat_IsDevice": {},
        "com_platform_model_Agent": {}, "plat_Configuration": {"config": "c"}, "plat_SupportedLogs": ["l"]});
    assert_eq!(told(&object_of(&server, "sn-1").await), expected);
}

#[tokio::test]
async fn required_availability_is_said_only_when_it_is_not_yet() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let interval = async || {
        let mut object = object_of(&server, "sn-1").await;
        object["plat_RequiredAvailability"].take()
    };

    for (row, required) in [
        ("117", json!(null)),
        ("117,007", json!({"responseInterval": 7})),
        ("117,20", json!({"responseInterval": 7})),
        ("107,plat_RequiredAvailability", json!(null)),
        ("117,-5", json!({"responseInterval": -5})),
        ("107,plat_RequiredAvailability", json!(null)),
        ("117,123456789012345678901234567890", json!({"responseInterval": 32767})),
    ] {
        assert_eq!(send_for(&admin, "sn-1", row).await, "", "{row}");
        assert_eq!(interval().await, required, "{row}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_reported_with_their_line() {
    let (_server, device) = with_device_user("sn-1").await;
    let (number, arguments) = ("Wrong number of arguments", "No arguments supported");
    for (row, text) in [
        ("100,a,b,c", number),
        ("107", number),
        ("107,", number),
        ("107,,a", number),
        ("110,a,b,c,d", number),
        ("111,1,2,3,4,5,6,7,8", number),
        ("112,1,2,3,4,5", number),
        ("112,x", "Value is not a NUMBER: x"),
        ("112,1,2,3,\"1,5\"", "\"Value is not a NUMBER: 1,5\""),
        ("113,a,b", number),
        ("115,a,b,c,d", number),
        ("117,1,2", number),
        ("117,1.5", "Value is not a INTEGER: 1.5"),
        ("120,a", number),
        ("120,,u", number),
        ("120,a,u,n,2024-03-10,x", number),
        ("120,a,u,n,today", "Value is not a DATE: today"),
        ("120,a,u,n,2020-07-22", "Value is not a DATE: 2020-07-22"),
        ("120,a,u,n,2020-07-22T17:03:14", "Value is not a DATE: 2020-07-22T17:03:14"),
        ("122,n,v,u", number),
        ("122,n,,u,m", number),
        ("122,n,v,u,m,x", number),
        ("125,x", arguments),
        ("105,x", arguments),
    ] {
        assert_eq!(send(&device, &format!("\n{row}\n")).await, format!("45,2,{text}\n"), "{row}");
    }
    assert_eq!(send(&device, "120,a.b,u\n107,$a").await, "50,1,422\n50,2,422\n");
}
