// Package explore visits each state that a simulated world can reach by all interleavings of passes of the operator, effects of the world, and a
// bounded number of disturbances.
//
// From each state it does a pass of the operator, and each effect of Kubernetes or etcd that can happen next. It also does these disturbances:
//
//	disturbance  at most  what
//	fault        2        a killed Pod, a lost volume, a silent member, a member out of the operator's reach, a node that is cut off
//	change       2        of the spec or the EtcdRestore: cancel, consent, readOnly, size; a request for another CA
//	kill         2        the operator ends before it writes the status, between two passes, or within a step that stops several Pods
//	old cache    1        the operator reads Kubernetes as it was up to three passes ago
//	slow world   1        a deadline passes before something happens that is possible
//
// A fault may end at any time, and need not. The member on a node that is cut off serves on. Two states are the same if the plan decides the same in
// both. So a time counts as the deadlines that have passed since. An index counts as who has more writes, and an ID as who is the same. Passes and
// effects take no time. If nothing else can happen, time passes until the next deadline. What depends on the length of a pass is not shown.
//
// Some worlds have TLS (package cas). A process trusts the CAs that its Secrets held when it started. Members that do not accept each other's
// certificates do not vote together, but connections that exist last. The operator's CA is rotated, lost and expires, and users replace theirs.
// There a slow read, wrong clocks of nodes and the readiness probe of etcd 3.4 mislead the operator, and what it remembers of silent members is the
// same code as in the real one (repair.Silence).
//
// Each state is compared with the invariants. Then the exploration looks for cycles of passes and effects that are fair and never settle. It visits
// states with few disturbances first, so what it cuts off has more of them. Unit tests explore up to one disturbance, and none in the largest
// operations. make explore explores runs with up to three of them. It ends when the time of EXPLORE is over, and prints which states it has not
// explored.
package explore
