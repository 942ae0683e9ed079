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

// AlarmKind is what an alarm tells, in etcd's word.
type AlarmKind string

// Alarms. With NOSPACE on etcd refuses writes; with CORRUPT on it refuses reads and writes of keys.
const (
	AlarmNoSpace AlarmKind = "NOSPACE"
	AlarmCorrupt AlarmKind = "CORRUPT"
)

// Alarm is one that is on. Every member knows of all.
type Alarm struct {
	Kind AlarmKind
	// Member that it was raised for; 0 where etcd could not tell which.
	Member ID
}

var alarmMember = regexp.MustCompile(`memberID:\s*([0-9]+)`)

// alarmsOf reads the alarms from the errors of a status, which has them in the words of protobuf's text format:
// "memberID:1234 alarm:NOSPACE". The figure 0 is left out there.
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

// Disarm takes an alarm off. One that is not on is no error.
func (c *Client) Disarm(ctx context.Context, alarm Alarm) error {
	kind, ok := pb.AlarmType_value[string(alarm.Kind)]
	if !ok || kind == int32(pb.AlarmType_NONE) {
		return fmt.Errorf("disarm alarm %q: there is no such alarm", alarm.Kind)
	}
	_, err := c.client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: uint64(alarm.Member), Alarm: pb.AlarmType(kind)})
	return c.wrap("disarm alarm "+string(alarm.Kind), err)
}
