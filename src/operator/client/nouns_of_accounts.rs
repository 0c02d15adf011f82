//! The nouns of tenants, of their users and rights, and of what they use.

use super::noun::Verb::{Create, Delete, DeleteMany, Explain, Follow, Get, List, Seek, Tail, Update};
use super::noun::{Noun, Order, PLAIN};

pub(super) const OF_ACCOUNTS: &[Noun] = &[
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
        loss: " with all users, devices and data",
        examples: "\
  platform tenant create --id plant7 --domain plant7.example.com --company Acme --admin-name mia \\
      --admin-email mia@example.com --admin-pass -
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
  platform user create --user-name joe --password - --email joe@example.com
  platform user update joe --enabled false",
        ..PLAIN
    },
    Noun {
        name: "user-group",
        about: "Groups of users",
        verbs: &[
            (List, "listGroups"),
            (Get, "getGroup"),
            (Create, "createGroup"),
            (Update, "updateGroup"),
            (Delete, "deleteGroup"),
        ],
        columns: &["id", "name"],
        examples: "\
  platform user-group create --name operators
  platform group-role create 12 --set role.name=ROLE_ALARM_READ
  platform group-member create 12 --set user.id=joe",
        ..PLAIN
    },
    Noun {
        name: "group-member",
        about: "Members of a group of users; the id of one is GROUP/USER",
        verbs: &[
            (List, "listMembers"),
            (Get, "getMember"),
            (Create, "createMember"),
            (Delete, "deleteMember"),
        ],
        id: &["user.id"],
        columns: &["user.id", "user.userName", "user.email"],
        examples: "\
  platform group-member list 12
  platform group-member create 12 --set user.id=joe
  platform group-member delete 12/joe",
        ..PLAIN
    },
    Noun {
        name: "group-role",
        about: "Roles of a group of users; the id of one is GROUP/ROLE",
        verbs: &[
            (List, "listRolesOfGroup"),
            (Get, "getRoleOfGroup"),
            (Create, "assignRoleToGroup"),
            (Delete, "withdrawRoleFromGroup"),
        ],
        id: &["role.id"],
        columns: &["role.id", "role.name"],
        examples: "\
  platform group-role list 12
  platform group-role delete 12/ROLE_ALARM_READ",
        ..PLAIN
    },
    Noun {
        name: "user-role",
        about: "Roles of a user; the id of one is USER/ROLE",
        verbs: &[
            (List, "listRolesOfUser"),
            (Get, "getRoleOfUser"),
            (Create, "assignRoleToUser"),
            (Delete, "withdrawRoleFromUser"),
        ],
        id: &["role.id"],
        columns: &["role.id", "role.name"],
        examples: "\
  platform user-role create joe --set role.name=ROLE_ALARM_READ
  platform user-role delete joe/ROLE_ALARM_READ",
        ..PLAIN
    },
    Noun {
        name: "role",
        about: "Roles that users and groups may hold",
        verbs: &[(List, "listRoles"), (Get, "getRole")],
        columns: &["id", "name"],
        examples: "  platform role list -o id",
        ..PLAIN
    },
    Noun {
        name: "limit",
        about: "Limits of a tenant and what it uses",
        verbs: &[(Get, "getLimitsOfTenant"), (Update, "updateLimitsOfTenant")],
        examples: "\
  platform limit get plant7
  platform limit update plant7 --devices 1000",
        ..PLAIN
    },
    Noun {
        name: "retention",
        about: "Rules that delete old data",
        verbs: &[
            (List, "listRetentionRules"),
            (Get, "getRetentionRule"),
            (Create, "createRetentionRule"),
            (Update, "updateRetentionRule"),
            (Delete, "deleteRetentionRule"),
        ],
        columns: &["id", "dataType", "fragmentType", "type", "source", "maximumAge"],
        examples: "\
  platform retention list
  platform retention create --data-type EVENT --type trace --maximum-age 30
  platform api GET /retention/retentions/4711/preview",
        ..PLAIN
    },
    Noun {
        name: "statistics",
        about: "What a tenant used on each day",
        verbs: &[(List, "listStatistics")],
        columns: &["day", "requestCount", "deviceCount", "storageSize"],
        examples: "  platform statistics list --date-from 2024-03-01 --date-to 2024-03-31",
        ..PLAIN
    },
    Noun {
        name: "storage",
        about: "What the data of a tenant takes on the disk",
        verbs: &[(Get, "getTenantStorage")],
        examples: "  platform storage get",
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
            "filters",
        ],
        examples: "\
  platform session list
  platform session list --channel /alarms/4711
  platform session list --user mia -o id | platform session delete --yes",
        ..PLAIN
    },
    Noun {
        name: "trace",
        about: "What happens to notifications, and why one did not arrive",
        verbs: &[
            (List, "listNotificationTraces"),
            (Get, "getNotificationTrace"),
            (Create, "createNotificationTrace"),
            (Delete, "deleteNotificationTrace"),
            (Follow("device"), "listNotificationTraceRecords"),
            (Follow("user"), "listNotificationTraceRecords"),
            (Follow("session"), "listNotificationTraceRecords"),
            (Explain, "diagnoseNotifications"),
        ],
        columns: &["id", "device", "user", "session", "owner", "endTime"],
        examples: "\
  platform trace device 4711
  platform trace user mia --seconds 60 -o jsonl
  platform trace explain --id 4711 --user mia",
        ..PLAIN
    },
    Noun {
        name: "consumer",
        about: "Named consumers of notifications, which miss nothing",
        verbs: &[
            (List, "listConsumers"),
            (Get, "getConsumer"),
            (Create, "createConsumer"),
            (Update, "updateConsumer"),
            (Delete, "deleteConsumer"),
            (Seek, "updateConsumer"),
            (Tail, "readNotifications"),
        ],
        id: &["name"],
        columns: &[
            "name",
            "owner",
            "state",
            "position",
            "newest",
            "backlog.notifications",
            "backlog.oldestTime",
            "reader.way",
            "channels",
            "filter",
        ],
        loss: " with its position",
        examples: "\
  platform consumer create --name billing --channels '/alarms/*,/events/*'
  platform consumer create --name leaks --channels '/alarms/*' --filter \"type eq 'leak*'\"
  platform consumer list
  platform consumer tail billing
  platform consumer tail billing --from earliest --count 100
  platform consumer seek billing 41",
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
        order: Order::OldestFirst,
        examples: "  platform audit list --user mia --date-from 2024-03-01",
        ..PLAIN
    },
];
