use platform_model::realtime::bayeux::Resource;
use platform_store::Connections;

use super::*;

const GROUP: ManagedObjectId = ManagedObjectId(7);
const DEVICE: ManagedObjectId = ManagedObjectId(8);

fn channel(resource: Resource, group: ManagedObjectId) -> Pattern {
    Pattern::Group(GroupChannel { resource, group, form: GroupForm::Word })
}

/// Groups with a first subscription, whose members are being read.
fn subscribed() -> Groups {
    let connections = Connections { reads: 1, devices: 1 };
    let nowhere = Database::new("host=nowhere", connections, &Default::default()).expect("an address");
    let mut groups = Groups::new(TenantId::parse("t1").expect("an id"), nowhere);
    groups.joined(&channel(Resource::Alarms, GROUP));
    groups
}

/// Finishes the reading that is under way with these members, and returns which publications were delivered.
fn read(groups: &mut Groups, ids: Vec<ManagedObjectId>) -> Vec<(Resource, bool)> {
    read_as(groups, Membership::Links, ids)
}

fn read_as(groups: &mut Groups, membership: Membership, ids: Vec<ManagedObjectId>) -> Vec<(Resource, bool)> {
    let number = groups.last_reading;
    let members = Ok(GroupMembers { membership, ids });
    let judged = groups.finish_reading(Read { group: GROUP, number, members }).expect("members");
    let judged = judged.expect("a reading").into_iter();
    judged.map(|(publish, is_member)| (publish.event.resource(), is_member)).collect()
}

fn alarm() -> Publish {
    Publish::deletion_of_alarm(1, DEVICE)
}

fn deletion() -> Publish {
    Publish { event: PublishedChange::ManagedObjectDeleted(DEVICE), ..alarm() }
}

#[test]
fn what_precedes_a_change_that_the_members_may_show_already_is_delivered() {
    let mut groups = subscribed();
    for publish in [alarm(), deletion(), alarm()] {
        assert!(groups.note(&publish).is_empty(), "it waits");
    }

    // The device was a member until it was deleted, and the members were read afterwards.
    assert_eq!(read(&mut groups, vec![]), [(Resource::Alarms, false), (Resource::ManagedObjects, false)]);
}

#[test]
fn nothing_waits_after_the_members_are_known() {
    let mut groups = subscribed();
    assert!(groups.has_waiting());
    assert!(read(&mut groups, vec![DEVICE]).is_empty());

    assert!(!groups.has_waiting() && groups.note(&alarm()).len() == 1);
    groups.note(&deletion());
    assert!(groups.note(&alarm()).is_empty());
}

#[test]
fn change_of_links_during_a_reading_causes_another_one() {
    let mut groups = subscribed();
    groups.links_changed();
    groups.note(&alarm());

    assert!(read(&mut groups, vec![]).is_empty() && groups.has_waiting());
    groups.note(&alarm());
    assert_eq!(read(&mut groups, vec![DEVICE]), [(Resource::Alarms, true)]);
    assert!(!groups.has_waiting());
}

#[test]
fn change_during_a_reading_causes_another_one_if_only_the_database_knows_the_members() {
    let mut groups = subscribed();
    groups.note(&deletion());
    read_as(&mut groups, Membership::LinksAndMembers, vec![]);
    assert!(groups.has_waiting(), "the members were read before the change, perhaps");
    read_as(&mut groups, Membership::LinksAndMembers, vec![]);
    assert!(!groups.has_waiting());
    groups.note(&deletion());
    assert!(groups.has_waiting());
}

#[test]
fn group_with_too_many_members_cannot_be_subscribed_to_for_a_while() {
    let mut groups = subscribed();
    let pattern = channel(Resource::Events, GROUP);
    assert!(groups.has_room_for(&pattern));
    let (number, ids) = (groups.last_reading, vec![DEVICE; MOST_MEMBERS + 1]);
    let members = Ok(GroupMembers { membership: Membership::Links, ids });

    let error = groups.finish_reading(Read { group: GROUP, number, members }).expect_err("too many");

    assert!(error.to_string().contains("200000 members") && !groups.has_room_for(&pattern));
}

#[test]
fn tenant_has_a_bounded_number_of_groups() {
    let mut groups = subscribed();
    let group = |id| channel(Resource::Alarms, ManagedObjectId(id));
    (100..100 + MOST_GROUPS as i64 - 1).for_each(|id| groups.joined(&group(id)));
    assert!(groups.has_room_for(&group(7)) && !groups.has_room_for(&group(8)));
    groups.left(&group(7));
    assert!(groups.has_room_for(&group(8)));
}
