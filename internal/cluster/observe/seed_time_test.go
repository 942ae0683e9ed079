package observe

import (
	"encoding/json"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// A container of the user answered in place of the seed, with a time in the year 10000. Kubernetes refused each status of the EtcdCluster, so a restore never ended.
func TestATimeThatNoStatusCanHaveIsNotTakenFromASeed(t *testing.T) {
	for text, wanted := range map[string]bool{"2026-11-30T12:00:00Z": true, "9999-12-31T23:59:59-23:00": false} {
		said := &seed.Following{}
		if err := json.Unmarshal([]byte(`{"time":"`+text+`"}`), said); err != nil {
			t.Fatal(err)
		}
		if got := followingOf(said); (got.Time != nil) != wanted {
			t.Errorf("%s: the status has the time %v", text, got.Time)
		}
	}
}
