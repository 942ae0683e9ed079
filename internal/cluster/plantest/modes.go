package plantest

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"

// Hibernating means that the spec asks for no Pods.
func Hibernating(s *state.State) { s.Spec.Hibernate = true }

// PausedMessage is what the status of a paused cluster says.
const PausedMessage = "spec.paused is true, so the operator changes no member. It only protects data: it keeps and grows volumes, and renews certificates. To resume, set spec.paused to false."
