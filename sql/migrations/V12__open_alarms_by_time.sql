-- Open alarms are few, however many have been cleared: lists and bulk updates of them walk these and nothing else.
CREATE INDEX alarms_open_by_time ON alarms (tenant, time, id) WHERE status <> 'CLEARED';
