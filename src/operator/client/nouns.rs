//! The nouns of devices, of their data and of programs, and the list of all nouns.

use super::noun::Verb::{
    Create, Delete, DeleteMany, Download, Get, List, Register, Replace, Update, UpdateMany, Upload,
};
use super::noun::{Noun, Order, PLAIN};
use super::nouns_of_accounts::OF_ACCOUNTS;

/// Returns all nouns, in the order in which the help lists them.
pub(super) fn nouns() -> impl Iterator<Item = &'static Noun> {
    OF_DEVICES.iter().chain(OF_ACCOUNTS)
}

/// The nouns of devices, of their data and of programs.
const OF_DEVICES: &[Noun] = &[
    Noun {
        name: "device",
        about: "Devices: managed objects with the fragment plat_IsDevice\n\nA query finds all other objects",
        verbs: &[
            (List, "listManagedObjects"),
            (Get, "getManagedObject"),
            (Create, "createManagedObject"),
            (Update, "updateManagedObject"),
            (Delete, "deleteManagedObject"),
            (Register, "createNewDeviceRequest"),
        ],
        columns: &["id", "name", "type", "owner", "lastUpdated"],
        unfiltered: Some(("fragmentType", "plat_IsDevice")),
        fixed: &[("plat_IsDevice", "{}")],
        shortcuts: &[("agent", "The device has an agent, which receives operations", "com_platform_model_Agent", "{}")],
        channel: Some("/managedobjects/"),
        loss: " with its alarms, events, measurements and operations",
        examples: "\
  platform device list -q \"name eq 'pump*'\"
  platform device create --name pump --type acme_Pump --agent --set plat_RequiredAvailability.responseInterval=10
  platform device register sn-1 --wait
  platform device list -o id | platform operation create --restart",
        ..PLAIN
    },
    Noun {
        name: "alarm",
        about: "Alarms: conditions of a device that somebody has to end",
        verbs: &[
            (List, "listAlarms"),
            (Get, "getAlarm"),
            (Create, "createAlarm"),
            (Update, "updateAlarm"),
            (UpdateMany, "updateAlarms"),
            (DeleteMany, "deleteAlarms"),
        ],
        columns: &["id", "time", "severity", "status", "count", "source.id", "type", "text"],
        channel: Some("/alarms/"),
        changes_need: &["status", "source", "resolved", "severity", "dateFrom", "dateTo"],
        examples: "\
  platform alarm list --resolved false --severity CRITICAL,MAJOR
  platform alarm create --device 4711 --type leak --text \"It drips\" --severity MAJOR
  platform alarm list --type leak -o id | platform alarm update --status CLEARED
  platform alarm update-many --type leak --resolved false --new-status CLEARED
  platform alarm watch",
        ..PLAIN
    },
    Noun {
        name: "event",
        about: "Events of devices",
        verbs: &[
            (List, "listEvents"),
            (Get, "getEvent"),
            (Create, "createEvent"),
            (Update, "updateEvent"),
            (Delete, "deleteEvent"),
            (DeleteMany, "deleteEvents"),
            (Upload, "createEventFile"),
            (Replace, "updateEventFile"),
            (Download, "getEventFile"),
        ],
        columns: &["id", "time", "source.id", "type", "text"],
        channel: Some("/events/"),
        examples: "\
  platform event list --device 4711 --date-from 2024-03-01 --limit 20
  platform event create --device 4711 --type door --text \"Door opened\"
  platform event upload 4712 door.log
  platform event delete-many --type door --date-to 2024-03-01",
        ..PLAIN
    },
    Noun {
        name: "measurement",
        about: "Measurements of devices",
        verbs: &[
            (List, "listMeasurements"),
            (Get, "getMeasurement"),
            (Create, "createMeasurements"),
            (Delete, "deleteMeasurement"),
            (DeleteMany, "deleteMeasurements"),
        ],
        columns: &["id", "time", "source.id", "type"],
        channel: Some("/measurements/"),
        examples: "\
  platform measurement list --device 4711 --limit 100 -o csv --columns time,plat_Steam.T.value
  platform measurement create --device 4711 --type steam --set plat_Steam.T.value=21.5 --set plat_Steam.T.unit=C",
        ..PLAIN
    },
    Noun {
        name: "operation",
        about: "Operations: commands that devices carry out",
        verbs: &[
            (List, "listOperations"),
            (Get, "getOperation"),
            (Create, "createOperation"),
            (Update, "updateOperation"),
            (DeleteMany, "deleteOperations"),
        ],
        columns: &["id", "creationTime", "deviceId", "deviceName", "status", "failureReason"],
        shortcuts: &[("restart", "Restart the device", "plat_Restart", "{}")],
        channel: Some("/operations/"),
        order: Order::OldestFirst,
        examples: "\
  platform operation list --status PENDING
  platform operation create --device 4711 --restart
  platform operation create --device 4711 --set plat_Command.text=\"show version\"
  platform device list -q \"type eq 'acme_Pump'\" -o id | platform operation create --restart",
        ..PLAIN
    },
    Noun {
        name: "bulk",
        about: "Bulk operations: the same operation for all devices of a group",
        verbs: &[
            (List, "listBulkOperations"),
            (Get, "getBulkOperation"),
            (Create, "createBulkOperation"),
            (Update, "updateBulkOperation"),
            (Delete, "deleteBulkOperation"),
        ],
        columns: &["id", "groupId", "startDate", "creationRamp", "status", "progress.successful", "progress.all"],
        shortcuts: &[("restart", "Restart the devices", "operationPrototype", r#"{"plat_Restart":{}}"#)],
        examples: "\
  platform bulk create --group-id 4711 --start-date 2030-01-01T00:00:00Z --creation-ramp 1 --restart",
        ..PLAIN
    },
    Noun {
        name: "module",
        about: "Event-processing modules\n\n`create` reads the statements from a pipe or a file (`--data @FILE`)",
        verbs: &[
            (List, "listModules"),
            (Get, "getModule"),
            (Create, "createModule"),
            (Update, "updateModule"),
            (Delete, "deleteModule"),
        ],
        columns: &["id", "name", "status", "lastModified"],
        examples: "\
  platform module create --data @heat.epl
  platform module update 106 --status NOT_DEPLOYED",
        ..PLAIN
    },
    Noun {
        name: "child",
        about: "Children of an object: child devices, assets, additions\n\nTheir list is ID/childAssets",
        verbs: &[(List, "listChildren"), (Get, "getChild"), (Create, "createChildren"), (Delete, "deleteChild")],
        id: &["managedObject.id"],
        columns: &["managedObject.id", "managedObject.name"],
        examples: "\
  platform child list 4711/childAssets
  platform child create 4711/childAssets --set managedObject.id=4712
  platform child delete 4711/childAssets/4712",
        ..PLAIN
    },
    Noun {
        name: "external-id",
        about: "External ids of objects, such as serial numbers\n\nThe id of one is TYPE/VALUE",
        verbs: &[
            (List, "listExternalIds"),
            (Get, "getExternalId"),
            (Create, "createExternalId"),
            (Delete, "deleteExternalId"),
        ],
        id: &["type", "externalId"],
        columns: &["type", "externalId", "managedObject.id"],
        examples: "\
  platform external-id list 4711
  platform external-id get plat_Serial/sn-1 -o jsonl
  platform external-id create 4711 --type plat_Serial --external-id sn-1",
        ..PLAIN
    },
    Noun {
        name: "registration",
        about: "Requests of devices for credentials\n\n`upload` registers the devices of a CSV file",
        verbs: &[
            (List, "listNewDeviceRequests"),
            (Get, "getNewDeviceRequest"),
            (Delete, "deleteNewDeviceRequest"),
            (Upload, "createBulkNewDeviceRequests"),
        ],
        columns: &["id", "status", "owner", "creationTime"],
        examples: "\
  platform registration list
  platform registration upload devices.csv",
        ..PLAIN
    },
    Noun {
        name: "file",
        about: "Files of the inventory",
        verbs: &[
            (List, "listBinaries"),
            (Upload, "createBinary"),
            (Replace, "updateBinary"),
            (Download, "getBinary"),
            (Delete, "deleteBinary"),
        ],
        columns: &["id", "name", "type", "owner", "lastUpdated"],
        examples: "\
  platform file upload firmware.bin --set acme_Version=2
  platform file download 4711 firmware.bin",
        ..PLAIN
    },
    Noun {
        name: "application",
        about: "Applications: hosted pages, microservices, and links to others",
        verbs: &[
            (List, "listApplications"),
            (Get, "getApplication"),
            (Create, "createApplication"),
            (Update, "updateApplication"),
            (Delete, "deleteApplication"),
            (Upload, "createApplicationArchive"),
        ],
        columns: &["id", "name", "type", "availability", "owner.tenant.id", "contextPath"],
        examples: "\
  platform application create --name rules --key rules-key --type MICROSERVICE
  platform application upload 4711 rules.zip",
        ..PLAIN
    },
];
