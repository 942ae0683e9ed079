// Package steps has every effect that a pass of cluster-operator can have, and every reason to have none.
//
// A Step describes itself: the reason and message of the conditions, the events, and the time of the next check. All types of steps are in this
// package, because the linter then proves that act has a case for each. So are the traits of a step: whether it acts, is confirmed first, or
// may be held. A step names no rule.
package steps
