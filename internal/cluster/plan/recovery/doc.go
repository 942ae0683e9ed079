// Package recovery decides what is done while no quorum answers: whether one is lost, who survives by the consent of the user, and how the survivor
// starts alone.
package recovery
