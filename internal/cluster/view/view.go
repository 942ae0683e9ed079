// Package view has what one pass has read of an EtcdCluster: the State to plan on, and what is needed to carry out a step. It also has the access to
// the Kubernetes API, and what each part of the operator remembers of a cluster between passes.
package view

import (
	"crypto/tls"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// View is what observe saw: the State to decide on, and what act needs to reach the world with.
type View struct {
	state.State
	Cluster *v1beta2.EtcdCluster
	// Addresses of members' Pods by member name; a member without one cannot be asked.
	Addresses map[string]string
	// Required are Secrets that Pods of earlier seeds cannot start without, by member name.
	Required map[string]string
	// Classes are the StorageClasses of members' volumes by member name.
	Classes  map[string]string
	TLS      *tls.Config
	Logins   *Logins
	Material material.Material
	// Repeats are the steps that earlier passes have carried out, and waits is what they waited for.
	Repeats *plan.Repeats
	Waits   *state.Waiting
	// ReadAccounts is what was last read of users and roles; nil if the observer has none.
	ReadAccounts *ReadAccounts
	// pending: members have yet to answer, and nothing can be decided.
	Pending bool
	// remembered: the State has what a member that hangs answered to an earlier pass.
	Remembered bool
	// Patience is how long the pass waits for all members, because it came too late to use the answers that an earlier pass had asked
	// for. Otherwise each pass could ask again and end before the answers arrive. 0 for a pass that came in time.
	Patience time.Duration
	// awaited: when the pass began, a member had yet to answer an earlier pass, or just had.
	Awaited bool
	// Skipped is the first refusal of an object that the rest of the plan did not depend on.
	Skipped error
	// HalfWritten: a step that writes Secrets failed, and may have written some of them.
	HalfWritten bool
	// Obstructed is the first error of a step that a wait took the place of in this pass.
	Obstructed error
}

// Key is the namespace and the name of the EtcdCluster.
func (v *View) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: v.Namespace, Name: v.Name}
}

// ReadAccounts is what was last read of the users and roles of an EtcdCluster. Each reading costs entries of the log of raft, so it is used for
// some minutes. Its zero value is ready to use.
type ReadAccounts struct {
	Present etcd.Accounts
	// At is when it was read; zero if it must be read again.
	At time.Time
	// Generation of the EtcdCluster and Incarnation that it was read for.
	Generation  int64
	Incarnation int32
	// Failed is why it could not be read, and when that was.
	Failed   error
	FailedAt time.Time
}
