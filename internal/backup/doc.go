// Package backup is backup-operator, which owns EtcdBackups.
//
// Its parts are packages: state, plan and status are pure; failure, clients, queue, verify, archiving and attempt do the work.
//
// In one pass, observe reads Kubernetes and the attempt of this process into a State, Plan picks one Step from it, act does
// the one effect of that Step, and NewStatus computes the status. Plan and NewStatus are pure.
//
// A snapshot takes longer than a pass may take. So the step TakeSnapshot only starts an attempt, which runs in a limited
// pool of workers. The end of the attempt starts another pass. The pool keeps the result until the status that contains it
// was written. The attempt reads the members' status, lists the store and streams the snapshot, each with a deadline. Its
// decisions are pure too: which member to ask, and whether a snapshot is due. An operator that is killed leaves no attempt
// and no manifest, and the next one plans again.
package backup
