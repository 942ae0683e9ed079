package plan

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"

// A member is replaced for the time in which it failed, and only for that. Its Pod may not have been ready for longer: the Pod of a learner is never
// ready, no Pod is ready without a quorum, and a large database takes minutes to read. So the operator also remembers since when it has seen the
// member fail. A process that has just started has seen nothing, and observes the member for the short grace period first.

// QuorumGap is how long no quorum may answer before the time of a member that fails begins anew. One slow read is no outage.
const QuorumGap = state.SilenceGrace
