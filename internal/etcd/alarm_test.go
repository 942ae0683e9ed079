package etcd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAlarmsAreReadFromTheStatusErrors(t *testing.T) {
	for name, test := range map[string]struct {
		errors []string
		want   []Alarm
	}{
		"an error that is not an alarm": {[]string{"etcdserver: no leader"}, nil},
		"the text of etcd 3.4 to 3.6":   {[]string{"memberID:10501334649042878790 alarm:NOSPACE "}, []Alarm{{AlarmNoSpace, 10501334649042878790}}},
		"the text of etcd 3.7":          {[]string{"memberID:7  alarm:CORRUPT"}, []Alarm{{AlarmCorrupt, 7}}},
		"an alarm without a member":     {[]string{"alarm:CORRUPT "}, []Alarm{{Kind: AlarmCorrupt}}},
		"two alarms":                    {[]string{"memberID:1 alarm:NOSPACE ", "memberID:2 alarm:NOSPACE "}, []Alarm{{AlarmNoSpace, 1}, {AlarmNoSpace, 2}}},
	} {
		if diff := cmp.Diff(test.want, alarmsOf(test.errors)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
