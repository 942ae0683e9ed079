package plan

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"

// UpgradeRefusal returns why the operator would not bring members of versions from lowest to highest to another version, and an
// empty string if it would. kubectl etcd upgrade asks before it changes the spec.
func UpgradeRefusal(lowest, highest, to string) string {
	return state.UpgradeRefusal(lowest, highest, to)
}
