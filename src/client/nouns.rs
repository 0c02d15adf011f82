//! The nouns of the command line: the operations of each, and the columns of its list. Their flags come from the
//! [reference](super::reference).

/// A resource of the API and its commands.
pub(super) struct Noun {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The verbs of the noun and the `operationId` of each.
    pub(super) verbs: &'static [(Verb, &'static str)],
    /// The members that identify an object in its path.
    pub(super) id: &'static [&'static str],
    /// The members that are the columns of a table and of CSV.
    pub(super) columns: &'static [&'static str],
    /// The query parameter and value of a list without any filter.
    pub(super) unfiltered: Option<(&'static str, &'static str)>,
    /// Members that every new object gets, with their values in JSON.
    pub(super) fixed: &'static [(&'static str, &'static str)],
    /// Flags that add a member with a fixed value: flag, explanation, member, JSON.
    pub(super) shortcuts: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// The prefix of the channel that `watch` subscribes to.
    pub(super) channel: Option<&'static str>,
    pub(super) examples: &'static str,
}

/// The action of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    List,
    Get,
    Create,
    Update,
    Delete,
    UpdateMany,
    DeleteMany,
    Upload,
    Replace,
    Download,
    Register,
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Get => "get",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::UpdateMany => "update-many",
            Self::DeleteMany => "delete-many",
            Self::Upload => "upload",
            Self::Replace => "replace",
            Self::Download => "download",
            Self::Register => "register",
        }
    }
}

use Verb::{Create, Delete, DeleteMany, Download, Get, List, Register, Replace, Update, UpdateMany, Upload};

/// The defaults that most nouns share.
const PLAIN: Noun = Noun {
    name: "",
    about: "",
    verbs: &[],
    id: &["id"],
    columns: &[],
    unfiltered: None,
    fixed: &[],
    shortcuts: &[],
    channel: None,
    examples: "",
};

/// All nouns, in the order in which the help lists them.
pub(super) const NOUNS: &[Noun] = &[
    Noun {
        name: "device",
        about: "Devices: managed objects with the fragment plat_IsDevice, and all others by a query",
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
        about: "Event-processing modules; `create` reads the statements from a pipe or a file (`--data @FILE`)",
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
    Noun {
        name: "tenant",
        about: "Tenants, for users of the tenant that created them",
        verbs: &[
            (List, "listTenants"),
            (Get, "getTenant"),
            (Create, "createTenant"),
            (Update, "updateTenant"),
            (Delete, "deleteTenant"),
        ],
        columns: &["id", "domain", "company", "status", "creationTime"],
        examples: "\
  platform tenant create --id plant7 --domain plant7.example.com --company Acme --admin-name mia \\
      --admin-email mia@example.com --admin-pass \"$PASSWORD\"
  platform tenant update plant7 --status SUSPENDED",
        ..PLAIN
    },
    Noun {
        name: "user",
        about: "Users of a tenant",
        verbs: &[
            (List, "listUsers"),
            (Get, "getUser"),
            (Create, "createUser"),
            (Update, "updateUser"),
            (Delete, "deleteUser"),
        ],
        columns: &["id", "userName", "firstName", "lastName", "email", "enabled"],
        examples: "\
  platform user create --user-name joe --password \"$PASSWORD\" --email joe@example.com
  platform user update joe --enabled false",
        ..PLAIN
    },
    Noun {
        name: "session",
        about: "Sessions of clients that receive notifications, at all servers",
        verbs: &[(List, "listSessions"), (Get, "getSession"), (Delete, "deleteSession")],
        columns: &[
            "id",
            "user",
            "transport",
            "server",
            "creationTime",
            "lastDeliveryTime",
            "queuedNotificationCount",
            "holdsConnect",
            "subscriptions",
        ],
        examples: "\
  platform session list
  platform session list --channel /alarms/4711
  platform session list --user mia -o id | platform session delete",
        ..PLAIN
    },
    Noun {
        name: "token",
        about: "Clients of the access-token service",
        verbs: &[
            (List, "listTokenClients"),
            (Get, "getTokenClient"),
            (Create, "createTokenClient"),
            (Delete, "deleteTokenClient"),
        ],
        id: &["clientId"],
        columns: &["clientId", "name", "user", "scope", "creationTime"],
        examples: "  platform token create --name dashboard --scope READ",
        ..PLAIN
    },
    Noun {
        name: "option",
        about: "Options of a tenant; the id of an option is CATEGORY/KEY",
        verbs: &[
            (List, "listOptions"),
            (Get, "getOption"),
            (Create, "createOption"),
            (Update, "updateOption"),
            (Delete, "deleteOption"),
        ],
        id: &["category", "key"],
        columns: &["category", "key", "value"],
        examples: "\
  platform option create --category access.control --key allow.origin --value https://example.com
  platform option get access.control/allow.origin",
        ..PLAIN
    },
    Noun {
        name: "audit",
        about: "Audit records: who changed what",
        verbs: &[
            (List, "listAuditRecords"),
            (Get, "getAuditRecord"),
            (Create, "createAuditRecord"),
            (DeleteMany, "deleteAuditRecords"),
        ],
        columns: &["id", "time", "type", "user", "activity", "source.id", "text"],
        examples: "  platform audit list --user mia --date-from 2024-03-01",
        ..PLAIN
    },
];
