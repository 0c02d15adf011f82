//! Texts that are not valid modules, with the message that the author sees.

use super::planned;

#[test]
fn mistakes_contain_the_problem_and_its_position() {
    let inputs = "ManagedObjectCreated, ManagedObjectUpdated, ManagedObjectDeleted, EventCreated, EventUpdated, \
        EventDeleted, MeasurementCreated, MeasurementDeleted, OperationCreated, OperationUpdated, AlarmCreated, \
        AlarmUpdated, ResponseReceived";
    let no_stream = format!("2:15 no stream 'Foo'; there are {inputs}");
    let cases: &[(&str, &str)] = &[
        ("select 1 from Foo;", &no_stream),
        (
            "select m.foo from MeasurementCreated m;",
            "2:10 no property 'foo' of MeasurementCreated; there are _type, _mode, _origin, payload, measurement",
        ),
        (
            "select foo from AlarmCreated;",
            "2:8 no 'foo' here; AlarmCreated has _type, _mode, _origin, payload, alarm",
        ),
        ("select x.alarm from pattern [a=AlarmCreated];", "2:8 no 'x' here; there are a"),
        (
            "select alarm.id from AlarmCreated.win:length(1) a, AlarmUpdated.win:length(1) b;",
            "2:8 both a and b have a 'alarm': say whose",
        ),
        ("select alarm.source.foo from AlarmCreated;", "2:21 no 'foo' of an id; there are value, type, name"),
        ("select alarm.text.foo from AlarmCreated;", "2:19 text has no 'foo'"),
        (
            "select alarm.text.divide(2) from AlarmCreated;",
            "2:19 no method 'divide'; there are .getValue(), .getId(), .getName() and the like, .name(), .toDate(), \
             .toMillisec(), .doubleValue(), .format(), .after(…) and .before(…)",
        ),
        (
            "select alarm.text + 1 as x from AlarmCreated;",
            "2:8 '+' does not go with text and a whole number; texts are joined by '||'",
        ),
        (
            "select 1 as x from AlarmCreated where alarm.count;",
            "2:39 'where' takes true or false, this is a whole number",
        ),
        (
            "select 1 as x from AlarmCreated where alarm.count = 'a';",
            "2:39 '=' does not go with a whole number and text",
        ),
        (
            "select 1 as x from AlarmCreated where sum(alarm.count) > 1;",
            "2:39 aggregates stand in 'select' and 'having', not in 'where'",
        ),
        (
            "select sum(avg(alarm.count)) from AlarmCreated;",
            "2:12 aggregates stand in 'select' and 'having', not in another aggregate",
        ),
        ("select sum(alarm.text) from AlarmCreated;", "2:12 'sum' takes numbers, this is text"),
        ("select getNumber(a) from AlarmCreated a;", "2:8 'getNumber' takes 2 or 3 arguments, here are 1"),
        (
            "select getNumber(alarm.text, 'a') from AlarmCreated a;",
            "2:18 'getNumber' takes an event, an object or a map here, this is text",
        ),
        (
            "select getnumber(a, 'a') from AlarmCreated a;",
            "2:8 no function 'getnumber'; did you mean 'getNumber'?",
        ),
        (
            "select OperationStatus.DONE as x from AlarmCreated;",
            "2:24 no 'DONE' among PENDING, EXECUTING, SUCCESSFUL, FAILED",
        ),
        (
            "select findAlarmBySource('1') from AlarmCreated;",
            "2:8 'findAlarmBySource' does not say how many: findOne…, findFirst… or findAll…",
        ),
        (
            "select findAllEventByStatus('1') from AlarmCreated;",
            "2:8 no filter 'Status'; there are FragmentType, TimeBetween, Source, Type, joined by 'And'",
        ),
        (
            "select findAllAlarmByFragmentType('x') from AlarmCreated;",
            "2:8 no filter 'FragmentType'; there are TimeBetween, Source, Status, Type, joined by 'And'",
        ),
        (
            "select findAllManagedObjectByTypeAndSource('t', '1') from AlarmCreated;",
            "2:8 no filter 'Source'; there are FragmentType, Type, joined by 'And'",
        ),
        (
            "select findAllOperationByDeviceAndType('1', 't') from AlarmCreated;",
            "2:8 no filter 'Type'; there are CreationTimeBetween, FragmentType, TimeBetween, Source, Status, Agent, \
             Device, joined by 'And'",
        ),
        (
            "select findAllEventByTypeAndSourceAndType('t', '1', 't') from AlarmCreated;",
            "2:8 'Type' stands here twice",
        ),
        (
            "select findAllOperationBySourceAndDevice('1', '1') from AlarmCreated;",
            "2:8 'Source' and 'Device' ask for the same: only one of them may stand here",
        ),
        (
            "select findAllOperationByCreationTimeBetweenAndTimeBetween(1, 2, 1, 2) from AlarmCreated;",
            "2:8 'CreationTimeBetween' and 'TimeBetween' ask for the same: only one of them may stand here",
        ),
        (
            "select findAllAlarmByStatus('OPEN') from AlarmCreated;",
            "2:29 no such status; there are ACTIVE, ACKNOWLEDGED, CLEARED",
        ),
        (
            "select context.key1 from AlarmCreated;",
            "2:8 there is no context here; a statement has one that begins with 'context'",
        ),
        (
            "select alarm.type, alarm.type from AlarmCreated;",
            "2:20 there is a column 'alarm.type' already: name one by 'as'",
        ),
        (
            "insert into AlarmCreated select * from AlarmUpdated;",
            "2:13 nothing can be inserted into AlarmCreated: it tells what happens in the platform",
        ),
        (
            "insert into DeleteEvent select 1 as foo from AlarmCreated;",
            "2:32 no column 'foo' of DeleteEvent; there are id",
        ),
        (
            "insert into UpdateAlarm select 'CLEARED' as status from AlarmCreated;",
            "2:13 UpdateAlarm also needs id",
        ),
        (
            "insert into UpdateAlarm select '1' as id, 'OPEN' as status from AlarmCreated;",
            "2:43 no status 'OPEN'; there are ACTIVE, ACKNOWLEDGED, CLEARED",
        ),
        (
            "insert into UpdateAlarm select '1' as id, 1 as text from AlarmCreated;",
            "2:43 'text' of UpdateAlarm is text, this is a whole number",
        ),
        (
            "insert into UpdateEvent select '1' as id, {'a', 1, 'b'} as fragments from AlarmCreated;",
            "2:43 fragments are pairs of a path and a value; here are 3 elements",
        ),
        (
            "insert into UpdateEvent select '1' as id, {'a..b', 1} as fragments from AlarmCreated;",
            "2:44 the path of a fragment has empty parts",
        ),
        (
            "insert into A select 1 as x from AlarmCreated;\ninsert into A select 'a' as x from AlarmCreated;",
            "3:22 'x' of 'A' (module m) is a whole number, this is text",
        ),
        (
            "insert into A select 1 as x, 2 as y from AlarmCreated;\ninsert into A select 2 as x from AlarmCreated;",
            "3:13 others insert y too into 'A' (module m)",
        ),
        (
            "create schema A(x int);\ninsert into A select 2.5 as x from AlarmCreated;",
            "3:22 'x' of 'A' (module m) is a whole number, this is a number",
        ),
        ("create schema A(x int);\ncreate schema A(x int);", "3:15 'A' is a stream of this module already"),
        ("create schema A(x int, x int);", "2:24 the column 'x' is there already"),
        ("create schema AlarmCreated(x int);", "2:15 'AlarmCreated' is a stream of the platform already"),
        (
            "select x from A;\ninsert into A select 1 as x from AlarmCreated;",
            "2:15 'A' is declared further below; what is read stands above, if need be by 'create schema'",
        ),
        ("create constant variable int x = 1;\non AlarmCreated set x = 2;", "3:21 'x' is constant"),
        (
            "create variable int x;\non AlarmCreated set x = alarm.text;",
            "3:25 'x' is a whole number, this is text",
        ),
        ("create variable int x = 'a';", "2:25 'x' is a whole number, this is text"),
        (
            "create variable object x = findAlarmById('1');",
            "2:28 a variable begins without looking anything up",
        ),
        ("on AlarmCreated delete from W;", "2:29 no window 'W' in this module; there are none"),
        (
            "create window AlarmCreated.win:length(1) as EventCreated;",
            "2:45 'AlarmCreated' and 'EventCreated' are streams already: a window has a name of its own",
        ),
        (
            "create window A.win:length(1) as B;",
            "2:15 neither 'A' nor 'B' is a stream or schema: a window is made of one",
        ),
        (
            "create window AlarmCreated.win:length(1) as W;\ninsert into W select * from EventCreated;",
            "3:13 'W' holds events of AlarmCreated: insert by 'select * from AlarmCreated'",
        ),
        ("select 1 as x from AlarmCreated unidirectional;", "2:20 'unidirectional' goes with joins"),
        (
            "select * from AlarmCreated a, EventCreated b;",
            "2:15 a join needs a view, such as .std:lastevent() or .win:length(1): without one nothing is retained",
        ),
        (
            "select 1 as x from AlarmCreated.win:time_batch(50 milliseconds);",
            "2:48 the shortest period is 100 milliseconds",
        ),
        (
            "select 1 as x from AlarmCreated output every 50 milliseconds;",
            "2:46 the shortest period is 100 milliseconds",
        ),
        (
            "select 1 as x from pattern [every timer:interval(50 milliseconds)];",
            "2:50 the shortest period is 100 milliseconds",
        ),
        (
            "select 1 as x from pattern [every not AlarmCreated];",
            "2:35 'not' goes with 'and' and something to wait for: (timer:interval(10 minutes) and not Stream)",
        ),
        (
            "select 1 as x from pattern [every every AlarmCreated];",
            "2:41 'every' of 'every' would begin ever more often",
        ),
        (
            "create context C partition by alarm.id from AlarmCreated;\ncontext C select 1 as x from EventCreated;",
            "3:30 'EventCreated' is not in the context 'C'",
        ),
        (
            "create context C partition by alarm.id and alarm.type from AlarmCreated, event.id from EventCreated;",
            "2:88 each stream of a context has the same number of keys: 2, here are 1",
        ),
        (
            "create context C partition by alarm from AlarmCreated;",
            "2:31 'partition by' tells events apart by simple values, this is an alarm",
        ),
        (
            "create variable int n = 5;\nselect 1 as x from AlarmCreated.win:time(n minutes);",
            "3:42 this period is known when the module is deployed: it consists of numbers and constant variables",
        ),
        (
            "create constant variable int n = 50;\nselect 1 as x from AlarmCreated output every n msec;",
            "3:46 the shortest period is 100 milliseconds",
        ),
        (
            "create constant variable int n = -5;\nselect 1 as x from pattern [timer:interval(n days)];",
            "3:44 a period is not negative",
        ),
        (
            "create constant variable int n = 1000000;\nselect 1 as x from pattern [timer:interval(n days)];",
            "3:44 a period is at most 36500 days long",
        ),
        (
            "select 1 as x from pattern [a=AlarmCreated -> timer:interval(a.alarm.text minutes)];",
            "2:62 a period counts minutes, this is text",
        ),
        (
            "select 1 as x from pattern [timer:interval(n minutes)];",
            "2:44 no 'n' here; there are variables: none",
        ),
        (
            "select a.alarm.id from pattern [a=AlarmCreated until b=EventCreated];",
            "2:10 a list has no 'alarm'",
        ),
        (
            "select a.* from pattern [a=AlarmCreated until b=EventCreated];",
            "2:8 'a' stands for several events; select one, as a[0]",
        ),
        (
            "select 1 as x from pattern [a=AlarmCreated until a=AlarmUpdated];",
            "2:50 the tag 'a' is on both sides of 'until'",
        ),
        (
            "select 1 as x from pattern [a=AlarmCreated -> (a=AlarmCreated until EventCreated)];",
            "2:48 the tag 'a' is on both sides of 'until'",
        ),
        (
            "select 1 as x from pattern [(AlarmCreated until EventCreated) until AlarmUpdated];",
            "2:30 what 'until' repeats contains no other 'until'",
        ),
        ("select alarm.time.after() from AlarmCreated;", "2:19 'after' takes a date and up to two periods"),
        (
            "select alarm.time.after(alarm.text) from AlarmCreated;",
            "2:25 'after' takes a date here, this is text",
        ),
        (
            "select alarm.time.before(alarm.time, 5) from AlarmCreated;",
            "2:38 'before' takes a period such as 15 minutes here",
        ),
        ("select alarm.text.after(alarm.time) from AlarmCreated;", "2:19 text has no method 'after'"),
        ("select alarm.count.name() from AlarmCreated;", "2:20 a whole number has no method 'name'"),
        ("select alarm.getFoo() from AlarmCreated;", "2:14 an alarm has no method 'getFoo'"),
        ("create expression f(x) [f(x)];", "2:25 'f' uses itself"),
        ("create expression avg(x) [x];", "2:19 'avg' is a function already"),
        (
            "create expression f(x) [y];",
            "2:25 no 'y' here; an expression sees variables and its parameters: x",
        ),
        (
            "create expression f(x) [x + 1];\nselect f(alarm.text) from AlarmCreated;",
            "3:8 in 'f', as it is used here: '+' does not go with text and a whole number; texts are joined by '||'",
        ),
    ];
    let actual =
        cases.iter().map(|(text, expected)| (text, planned(text).err().unwrap_or_default(), *expected));
    let other: Vec<_> = actual.filter(|(_, actual, expected)| actual != expected).collect();
    assert!(other.is_empty(), "{other:#?}");
}
