package pods

import "testing"

// The message of a container had a time in the year 10000. Kubernetes refused each status of the EtcdCluster, so a promotion never ended.
func TestATimeThatNoStatusCanHaveIsNotTakenFromAMessage(t *testing.T) {
	for text, wanted := range map[string]bool{"2026-11-30T12:00:00Z": true, "9999-12-31T23:59:59-23:00": false} {
		promoted := promotedOf(`{"revision":7,"time":"` + text + `"}`)
		if promoted == nil || (promoted.Time != nil) != wanted {
			t.Errorf("%s: the status has %+v", text, promoted)
		}
	}
}
