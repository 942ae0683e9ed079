package etcd

import "testing"

// If the operator took a fence for corruption, it would take back what keeps writes out of a cluster that a restore replaces. If it took a
// corruption for a fence, it would serve damaged data.
func TestAFenceIsToldFromCorruption(t *testing.T) {
	id := FenceID("0d7e6a55-1f0e-4e0c-9d1c-000000000001")
	if other := FenceID("0d7e6a55-1f0e-4e0c-9d1c-000000000002"); id == other || id != FenceID("0d7e6a55-1f0e-4e0c-9d1c-000000000001") {
		t.Errorf("the fences of two objects have the IDs %s and %s", id, other)
	}
	for alarm, want := range map[Alarm]bool{
		{AlarmCorrupt, id}:                 true,
		{AlarmNoSpace, id}:                 false,
		{AlarmCorrupt, 0}:                  false,
		{AlarmCorrupt, 0x8e9e05c52164694d}: false,
		{AlarmCorrupt, id &^ fenceBits}:    false,
	} {
		if alarm.IsFence() != want {
			t.Errorf("%v is a fence: %t", alarm, !want)
		}
	}
	for cluster, want := range map[ID]bool{7: true, 8: false} {
		fence := Alarm{AlarmCorrupt, SwitchoverID(7, "bucket/archive", "one")}
		if !fence.IsFence() || fence.IsSwitchover(cluster) != want {
			t.Errorf("a switchover of cluster 7 is one of cluster %d: %t", cluster, !want)
		}
	}
	one := Alarm{AlarmCorrupt, SwitchoverID(7, "bucket/archive", "one")}
	if two := SwitchoverID(7, "bucket/archive", "two"); one.Member == two {
		t.Error("a late request of one switchover takes back the fence of the next one")
	}
	if !one.IsSwitchoverOf(7, "bucket/archive") || one.IsSwitchoverOf(7, "bucket/other") || one.IsSwitchoverOf(8, "bucket/archive") {
		t.Error("the fence of a switchover is not that of its cluster and its archive")
	}
	if (Alarm{AlarmCorrupt, id}).IsSwitchover(7) {
		t.Error("the fence of a restore is taken for a switchover, and never taken back")
	}
	if told := alarmsOf([]string{"memberID:5063539405717766149 alarm:CORRUPT "}); len(told) != 1 || !told[0].IsFence() {
		t.Errorf("a member tells a fence as %v", told)
	}
}
