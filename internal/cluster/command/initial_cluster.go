package command

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

const (
	// RejoinOnly names a member that is not this one. etcd looks at --initial-cluster only when it finds no data, and
	// then refuses to start because its own name is missing. So a member that has voted cannot come back empty.
	RejoinOnly = "this-member-may-only-start-with-its-data=http://127.0.0.1:1"
	// InitialClusterFlag names the members with which etcd starts without data.
	InitialClusterFlag = "--initial-cluster="
	// EnvInitialCluster has the value of that annotation in the Pod.
	EnvInitialCluster = "MEMBER_INITIAL_CLUSTER"
)

// initialCluster returns the flags that decide how etcd starts without data. Those of a member that makes its data are in an annotation.
func initialCluster(m steps.CreateMember) []string {
	members, formation := RejoinOnly, "existing"
	if MakesData(m.Start) {
		members = "$(" + EnvInitialCluster + ")"
	}
	if m.Start == state.StartNew {
		formation = "new"
	}
	return []string{InitialClusterFlag + members, "--initial-cluster-state=" + formation}
}

// InitialMembers is the --initial-cluster of a member that makes its data.
func InitialMembers(s state.State, m steps.CreateMember) string {
	if m.Start == state.StartJoin {
		return JoinPeers(s, m.Name)
	}
	var members []string
	for _, name := range state.InitialNames(s, m.Incarnation, m.InitialSize) {
		members = append(members, name+"="+state.PeerURL(s, name))
	}
	return strings.Join(members, ",")
}

// JoinPeers is the --initial-cluster of a member that joins.
func JoinPeers(s state.State, member string) string {
	var members []string
	for _, name := range state.JoinPeers(s, member) {
		for _, url := range state.PeerURLs(s, name) {
			members = append(members, name+"="+url)
		}
	}
	return strings.Join(members, ",")
}

// PeersOf reads the names in a container's --initial-cluster, as Member.Peers has them. A Pod that makes its data has them in given.
func PeersOf(command []string, given string) string {
	var names []string
	for _, arg := range command {
		if list, ok := strings.CutPrefix(arg, InitialClusterFlag); ok {
			if strings.HasPrefix(list, "$(") {
				list = given
			}
			for _, member := range strings.Split(list, ",") {
				name, _, _ := strings.Cut(member, "=")
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",") // a foreign member may have several peer URLs
}

// MakesData reports whether etcd starts without data.
func MakesData(start state.Start) bool { return start == state.StartNew || start == state.StartJoin }
