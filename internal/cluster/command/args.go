// Package command builds the command line and the environment of etcd, and reads those of a running Pod.
package command

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Args are the flags of a member's etcd.
func Args(s state.State, m steps.CreateMember) []string {
	args := []string{
		"--name=" + m.Name,
		"--data-dir=" + DataDir,
		"--listen-peer-urls=" + state.URL(s.Spec.TLS.SecurePeer(), "0.0.0.0", v1beta2.PeerPort),
		"--listen-client-urls=" + state.URL(s.Spec.TLS.SecureClient(), "0.0.0.0", v1beta2.ClientPort),
		"--listen-metrics-urls=" + state.URL(false, "0.0.0.0", v1beta2.MetricsPort),
		"--initial-advertise-peer-urls=" + state.PeerURL(s, m.Name),
		"--advertise-client-urls=" + state.ClientURL(s, m.Name),
		"--initial-cluster-token=" + state.Token(s, m.Incarnation),
	}
	if m.Start == state.StartForce {
		args = append(args, ForceFlag)
	}
	return slices.Concat(args, initialCluster(m), tlsArgs(s, m.Incarnation), CorruptionChecks(s, m.Incarnation), Options(s))
}

const (
	// ForceFlag has etcd start alone, with the data of a cluster that has lost its quorum.
	ForceFlag = "--force-new-cluster=true"
)

// DataMount is where the volume of the data is mounted.
const DataMount = "/var/etcd"

// DataDir is the folder of the data.
const DataDir = DataMount + "/data"
