// Package plan decides what restore-operator does next with one EtcdRestore.
//
// Plan picks one Step from a State, and NewStatus computes the status from both. Everything here is pure: no client, no
// context, no clock and no logger. internal/restore observes the State and carries the Step out.
package plan
