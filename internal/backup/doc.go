// Package backup is backup-operator: it owns EtcdBackups.
//
// One pass goes one way: observe reads Kubernetes and the attempt that this process is making into a State, Plan
// picks one Step from it, act does that step's one effect, and NewStatus computes the status from all of it.
// Plan and NewStatus are pure.
//
// A snapshot takes longer than a pass may. So the step TakeSnapshot only starts an attempt, which goes on in a
// bounded pool of workers; its end makes the EtcdBackup be looked at again, and its result stays in the pool
// until the status that tells of it was written. The attempt asks the members, lists the store and streams, all
// with deadlines and none of it inside a pass; what it decides on the way (which member, whether a snapshot is
// due) is pure too. An operator that is killed leaves no attempt and no manifest, and the next one plans anew.
package backup
