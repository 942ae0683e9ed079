package planning

import "time"

// Description is all that people and the queue are told about a step.
type Description struct {
	// Reason of the conditions while the step is carried out: one of the API's constants.
	Reason string
	// Message of the conditions: plain sentences that say what is wrong or being done, what it means, and what to do.
	Message string
	// Events to publish once the step was carried out and the status was written.
	Events []Event
	// Requeue is how long after the step the operator looks again. 0 leaves it to watches.
	Requeue time.Duration
}

// Event is one event of events.k8s.io/v1.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason and Action in UpperCamelCase.
	Reason, Action string
	// Note is the text. It is at most 1 kB, the limit of events.k8s.io/v1.
	Note string
	// About is the object of the custom resource that the event is about, and is zero if it is about the custom
	// resource itself. Events about different objects are never counted as one.
	About Object
}

// Object names an object in the namespace of the custom resource.
type Object struct {
	APIVersion, Kind, Name string
}

// Pod is the Object for a Pod.
func Pod(name string) Object { return Object{APIVersion: "v1", Kind: "Pod", Name: name} }

// Volume is the Object for a PersistentVolumeClaim.
func Volume(name string) Object {
	return Object{APIVersion: "v1", Kind: "PersistentVolumeClaim", Name: name}
}
