package dbfile_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// This package knows the marks of fences beside internal/etcd. The snapshot of a source that was handed over was called corrupt, because only one of the two knew a new mark.
func TestASnapshotBehindAFenceIsNotCorrupt(t *testing.T) {
	for name, id := range map[string]etcd.ID{"of a restore": etcd.FenceID("uid"), "of a switchover": etcd.SwitchoverID(7, "archive", "id")} {
		if fence := (etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: id}); !fence.IsFence() {
			t.Fatalf("%s: %v is no fence", name, fence)
		}
		info, err := dbfile.Inspect(write(t, newDatabase(t).Put(3, 5).Alarm(uint64(id), 2).Snapshot()))
		if err != nil || info.Alarms != "" {
			t.Errorf("%s: the alarms are %q, %v", name, info.Alarms, err)
		}
	}
}
