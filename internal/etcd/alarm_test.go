package etcd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAlarmsAreReadFromAMembersStatus(t *testing.T) {
	for name, test := range map[string]struct {
		errors []string
		want   []Alarm
	}{
		"none":                          {[]string{"etcdserver: no leader"}, nil},
		"space, as 3.4 to 3.6 word it":  {[]string{"memberID:10501334649042878790 alarm:NOSPACE "}, []Alarm{{AlarmNoSpace, 10501334649042878790}}},
		"with more blanks, as 3.7 does": {[]string{"memberID:7  alarm:CORRUPT"}, []Alarm{{AlarmCorrupt, 7}}},
		"of no member in particular":    {[]string{"alarm:CORRUPT "}, []Alarm{{Kind: AlarmCorrupt}}},
		"two":                           {[]string{"memberID:1 alarm:NOSPACE ", "memberID:2 alarm:NOSPACE "}, []Alarm{{AlarmNoSpace, 1}, {AlarmNoSpace, 2}}},
	} {
		if diff := cmp.Diff(test.want, alarmsOf(test.errors)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
