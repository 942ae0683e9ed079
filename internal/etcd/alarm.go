package etcd

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// AlarmKind is the type of an alarm, as etcd names it.
type AlarmKind string

// The kinds of alarms. While NOSPACE is on, etcd refuses writes; while CORRUPT is on, it refuses reads and writes of keys.
const (
	AlarmNoSpace AlarmKind = "NOSPACE"
	AlarmCorrupt AlarmKind = "CORRUPT"
)

// Alarm is an alarm that is on. Every member reports all alarms of its cluster.
type Alarm struct {
	Kind AlarmKind
	// Member that the alarm was raised for; 0 if etcd does not name one.
	Member ID
}

var alarmMember = regexp.MustCompile(`memberID:\s*([0-9]+)`)

// alarmsOf reads the alarms from the errors of a status, which holds them in protobuf's text format:
// "memberID:1234 alarm:NOSPACE". That format omits a member ID of 0.
func alarmsOf(errors []string) []Alarm {
	var alarms []Alarm
	for _, text := range errors {
		for _, kind := range []AlarmKind{AlarmNoSpace, AlarmCorrupt} {
			if !strings.Contains(text, string(kind)) {
				continue
			}
			alarm := Alarm{Kind: kind}
			if match := alarmMember.FindStringSubmatch(text); match != nil {
				id, _ := strconv.ParseUint(match[1], 10, 64)
				alarm.Member = ID(id)
			}
			alarms = append(alarms, alarm)
		}
	}
	return alarms
}

// Disarm turns an alarm off. It is not an error if the alarm is off already.
func (c Maintenance) Disarm(ctx context.Context, alarm Alarm) error {
	kind, ok := pb.AlarmType_value[string(alarm.Kind)]
	if !ok || kind == int32(pb.AlarmType_NONE) {
		return fmt.Errorf("disarm alarm %q: unknown kind of alarm", alarm.Kind)
	}
	_, err := c.client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: uint64(alarm.Member), Alarm: pb.AlarmType(kind)})
	return c.wrap("disarm alarm "+string(alarm.Kind), err)
}
