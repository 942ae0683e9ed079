package fault

import (
	"fmt"
	"math/rand/v2"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// What keeps the operator from its members while clients are served, and what etcd and the API server refuse for as long as nobody changes it.

// accessFaults are added to all others in a world that is estranged.
var accessFaults = []fault{toggleAuth, toggleCutOff, loseVolume, loseVolume}

// toggleAuth turns etcd's authentication on, without a user for the operator, or off again.
func toggleAuth(w *world.World, _ *rand.Rand) string {
	w.AuthOn = !w.AuthOn
	return fmt.Sprintf("authentication: %v", w.AuthOn)
}

// toggleCutOff has a NetworkPolicy keep the operator from all members, or removes it.
func toggleCutOff(w *world.World, _ *rand.Rand) string {
	w.CutOff = !w.CutOff
	return fmt.Sprintf("the operator is cut off: %v", w.CutOff)
}

func toggleStorageClass(w *world.World, _ *rand.Rand) string {
	w.NoStorageClass = !w.NoStorageClass
	return fmt.Sprintf("no StorageClass: %v", w.NoStorageClass)
}

func toggleSecret(w *world.World, _ *rand.Rand) string {
	if w.SecretProblem == "" {
		w.SecretProblem = "Secret x is not there"
	} else {
		w.SecretProblem = ""
	}
	return "Secret: " + w.SecretProblem
}

// toggleRejecting has kubelets reject every new Pod, or accept it again.
func toggleRejecting(w *world.World, _ *rand.Rand) string {
	w.Rejecting = !w.Rejecting
	return fmt.Sprintf("kubelets reject Pods: %v", w.Rejecting)
}

// refusalFaults are added to all others in a world that refuses.
var refusalFaults = []fault{toggleEtcdRefuses, deny, deny, allow}

func toggleEtcdRefuses(w *world.World, _ *rand.Rand) string {
	w.EtcdRefuses = !w.EtcdRefuses
	return fmt.Sprintf("etcd refuses changes: %v", w.EtcdRefuses)
}

func deny(w *world.World, r *rand.Rand) string {
	w.Denied = world.Kinds[r.IntN(len(world.Kinds))]
	return "a policy denies each " + w.Denied
}

func allow(w *world.World, _ *rand.Rand) string {
	w.Denied = ""
	return "no policy denies an object"
}
