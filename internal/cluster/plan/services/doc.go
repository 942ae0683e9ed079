// Package services decides about the objects around the members: Services, labels, the PodDisruptionBudget, the NetworkPolicy, and objects of
// others that have their names.
package services
