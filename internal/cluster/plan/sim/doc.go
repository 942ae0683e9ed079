// Package sim has no code of its own. The packages below it are a world small enough to be exhausted: one EtcdCluster, the Pods, volumes and
// Services that Kubernetes would hold for it, and the etcd that would run in them, each keeping its own rules. The steps of a planner are applied
// to it until it says that it is done or that a person must act, and the invariants of the planner are checked at each of them. Tests and hack/plan
// use it; no operator does.
//
// Each package imports only those before it: cas, world, raft, effects, observe, check, act, fault, run, explore.
//
// Time goes in ticks: at each, what is under way in the world (a Pod that starts, a learner that catches up)
// gets one step further. An exploration instead tries each order in which these effects can happen.
package sim
