package plan_test

import (
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// TestEveryWayBetweenVersionsSettles starts halfway through every change between minor versions. Any number of members run the
// upper version, and the recorded progress of the change is any value, also a wrong one. Each run ends as the spec asks, or with
// a refusal that names the path.
func TestEveryWayBetweenVersionsSettles(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	versions := []string{"3.4.23", "3.5.35", "3.6.16", "3.7.3"}
	notes := []*v1beta2.VersionChangeStatus{nil}
	for _, to := range []string{"3.5", "3.6", "3.7"} {
		for _, step := range []v1beta2.VersionChangeStep{v1beta2.VersionChangePreparing, v1beta2.VersionChangeSnapshotted, v1beta2.VersionChangeReady} {
			notes = append(notes, &v1beta2.VersionChangeStatus{To: to, Step: step})
		}
	}
	for _, size := range []int{1, 2, 3} {
		for lower := range versions {
			for upper := lower; upper < min(lower+2, len(versions)); upper++ {
				for raised := range size {
					for _, note := range notes {
						for _, wanted := range versions {
							if note != nil && note.Step == v1beta2.VersionChangeReady && note.To == "3.5" && lower < 1 {
								continue // the operator never prepares that
							}
							for _, durable := range []bool{true, false} {
								s := between(size, raised, durable, versions[lower], versions[upper])
								s.Spec.Version, s.VersionChange = wanted, note.DeepCopy()
								count.run(observe.From(s), fmt.Sprintf("%d of %d on %s, others on %s, durable %v, noted %+v, wanted %s", raised, size, versions[upper], versions[lower], durable, note, wanted))
							}
						}
					}
				}
			}
		}
	}
	count.tell()
}

// between returns a cluster in which some members run another version than the rest.
func between(size, raised int, durable bool, lower, upper string) state.State {
	conditions := make([]condition, size)
	for i := range conditions {
		conditions[i] = ready
	}
	s := formed(size, durable, conditions)
	s.KnownVersion = lower
	for i := range s.Members {
		runs := lower
		if i < raised {
			runs = upper
		}
		s.Members[i].Version, s.Members[i].PodImage = runs, image(runs)
	}
	s.Members[0].Leader = true
	return s
}
