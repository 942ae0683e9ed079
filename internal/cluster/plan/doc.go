// Package plan is what cluster-operator decides.
//
// A state.State is all that a decision may look at. Plan asks the Rules in order, and the first that returns a Step wins. Each
// Step describes itself. NewStatus computes the status after a pass. All of it is pure: the same State gives the same
// Step. The package imports no client, no context and no clock.
package plan
