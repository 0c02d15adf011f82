//! Operations as lines for a device: the table of H-15 (H-09 to H-13).

use super::static_operations::Gateway;
use super::*;

/// Fragments of an operation, with the expected lines by default and with the compatibility switch.
fn table() -> Vec<(Value, &'static str, &'static str)> {
    let same = |fragments: Value, lines: &'static str| (fragments, lines, lines);
    let software =
        |name: &str| json!({"name": name, "version": "1.0", "url": "http://a/b", "action": "install"});
    let firmware = |more: Value| {
        let mut firmware = json!({"name": "fw", "version": "2", "url": "u"});
        firmware.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "plat_Firmware": firmware })
    };
    vec![
        same(json!({"plat_Restart": {}}), "510,g1\n"),
        (json!({"plat_Command": {"text": "get \"x\", y"}}), "", "511,g1,\"get \"\"x\"\", y\"\n"),
        (
            json!({"plat_Configuration": {"config": "a=1\r\nb"}}),
            "511,g1,\"a=1\r\nb\"\n",
            "513,g1,\"a=1\r\nb\"\n",
        ),
        same(firmware(json!({})), "515,g1,fw,2,u\n"),
        same(firmware(json!({"isPatch": false, "dependency": null})), "515,g1,fw,2,u\n"),
        same(firmware(json!({"isPatch": true, "dependency": "1"})), "525,g1,fw,2,u,1\n"),
        same(firmware(json!({"isPatch": true})), "525,g1,fw,2,u,\n"),
        same(firmware(json!({"dependency": "1"})), "525,g1,fw,2,u,1\n"),
        same(
            json!({"plat_SoftwareList": [software("a"), {"name": "b", "softwareType": "rpm"}, software("c, d")]}),
            "516,g1,a,1.0,http://a/b,b,,,\"c, d\",1.0,http://a/b\n",
        ),
        same(json!({"plat_SoftwareList": []}), "516,g1\n"),
        same(json!({"plat_MeasurementRequestOperation": {"requestName": "log"}}), "517,g1,log\n"),
        same(json!({"plat_Relay": {"relayState": "CLOSED"}}), "518,g1,CLOSED\n"),
        same(json!({"plat_RelayArray": ["OPEN", "CLOSED", "OPEN"]}), "519,g1,OPEN,CLOSED,OPEN\n"),
        same(json!({"plat_UploadConfigFile": {}}), "520,g1\n"),
        same(json!({"plat_UploadConfigFile": {"type": "ntp"}}), "526,g1,ntp\n"),
        same(json!({"plat_DownloadConfigFile": {"url": "u"}}), "521,g1,u\n"),
        same(json!({"plat_DownloadConfigFile": {"url": "u", "type": "ntp"}}), "524,g1,u,ntp\n"),
        same(
            json!({"plat_LogfileRequest": {"logFile": "syslog", "dateFrom": "2024-03-10T02:30:00.000+01:00",
                "dateTo": "2024-03-11", "searchText": "", "maximumLines": 100}}),
            "522,g1,syslog,2024-03-10T02:30:00.000+01:00,2024-03-11,,100\n",
        ),
        same(json!({"plat_CommunicationMode": {"mode": "SMS"}}), "523,g1,SMS\n"),
        same(
            json!({"profileName": "p", "plat_DeviceProfile": {
                "firmware": {"name": "fw", "version": "2", "url": "u", "isPatch": false},
                "software": [software("a"), software("b")],
                "configuration": [{"name": "n", "type": "ntp", "url": "v"}, {"type": "dns"}]}}),
            "527,g1,$FW,fw,2,u,false,,$SW,a,1.0,http://a/b,install,b,1.0,http://a/b,install,$CONF,v,ntp,,dns\n",
        ),
        same(json!({"plat_DeviceProfile": {}}), "527,g1,$FW,,,,,,$SW,$CONF\n"),
        same(
            json!({"plat_SoftwareUpdate": [software("a"), {"name": "b", "action": "delete"}]}),
            "528,g1,a,1.0,http://a/b,install,b,,,delete\n",
        ),
        same(
            json!({"plat_RemoteAccessConnect": {"hostname": "h", "port": 22, "connectionKey": "k"}}),
            "530,g1,h,22,k\n",
        ),
        same(json!({"plat_SendConfiguration": {}}), ""),
        same(json!({"plat_Unknown": {"text": "a"}, "note": 1}), ""),
        (
            json!({"plat_RemoteAccessConnect": {}, "plat_Configuration": {}, "plat_Command": {}, "plat_Restart": {}}),
            "510,g1\n511,g1,\n530,g1,,,\n",
            "510,g1\n511,g1,\n513,g1,\n530,g1,,,\n",
        ),
    ]
}

#[tokio::test]
async fn each_known_fragment_is_its_line_of_the_table() {
    for compatible in [false, true] {
        let server = TestServer::start_with(|settings| settings.client_compatibility = compatible).await;
        let gateway = Gateway::create(&server).await;
        for (fragments, by_default, for_clients) in table() {
            let operation = gateway.queue(0, fragments.clone()).await;

            let answer = send(&gateway.device, "500").await;

            let expected = if compatible { for_clients } else { by_default };
            assert_eq!(answer, expected, "{fragments}, compatible: {compatible}");
            assert_eq!(send(&gateway.device, &format!("504,{operation}")).await, "");
        }
    }
}

#[tokio::test]
async fn target_is_called_by_its_serial_and_else_by_its_object() {
    let (_server, gateway) = Gateway::with_server().await;
    // A name of another type is not a serial; the first of two serials is used; a serial may need quotes.
    for (target, type_, value) in [(2, "other", "x"), (1, "plat_Serial", "a, b"), (1, "plat_Serial", "z")] {
        let path = format!("/identity/globalIds/{}/externalIds", gateway.ids[target]);
        gateway.device.create(&path, &json!({"type": type_, "externalId": value})).await;
    }
    for target in [0, 1, 2] {
        gateway.queue(target, json!({"plat_Restart": {}})).await;
    }

    let answer = send(&gateway.device, "500").await;

    assert_eq!(answer, format!("510,g1\n510,\"a, b\"\n510,{}\n", gateway.ids[2]));
}
