package steps

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Hibernating says that the cluster hibernates, as its spec asks: it has no Pods, and all else is kept.
type Hibernating struct{ Message string }

func (step Hibernating) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonHibernated,
		Message: step.Message,
		Requeue: state.RequeueSettled,
	}
}

// Step is one effect, or the reason to have none. Steps are small comparable structs, so that a test compares what Plan
// returned. Each is declared beside the rule that returns it, and describes itself there.
//
//sumtype:decl
type Step interface {
	// describe returns all that people and the queue are told about the step. It seals the interface, too.
	describe(state.State) planning.Description
}

// Describe returns the reason and message of the conditions, the events and the requeue interval of a step.
func Describe(s state.State, step Step) planning.Description { return step.describe(s) }

// announced adds to a description the event of a step that was carried out.
func announced(d planning.Description, reason string, about planning.Object) planning.Description {
	d.Events = []planning.Event{{Type: corev1.EventTypeNormal, Reason: reason, Action: d.Reason, Note: d.Message, About: about}}
	return d
}

// warned adds to a description an event that a person must see.
func warned(d planning.Description, reason, action string) planning.Description {
	d.Events = []planning.Event{{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: d.Message}}
	return d
}

// cluster is the Object of an event that is about the EtcdCluster itself.
var cluster planning.Object

// Done says that the cluster is as its spec asks.
type Done struct{}

func (Done) describe(s state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonReady,
		Message: fmt.Sprintf("%d members serve version %s.", s.Voters().Total, s.Spec.EtcdVersion()) + state.SaysFenced(s),
		Requeue: state.RequeueSettled,
	}
}

// Idle says that the operator may do nothing, because the cluster is paused or being deleted.
type Idle struct{ Reason, Message string }

func (step Idle) describe(state.State) planning.Description {
	return planning.Description{Reason: step.Reason, Message: step.Message, Requeue: state.RequeueSettled}
}

// DeletePod stops a member and keeps its volume. Message is the cause: what follows "because".
type DeletePod struct {
	Name, Reason, Message string
	// Briefly leaves the member a second to end. It is of an incarnation that is over: no member of it takes over from a leader, which waits 7 s
	// for one, and until then its clients get errors instead of a connection to the cluster. etcd's log is safe against being killed.
	Briefly bool
	// Leaves is the ID that it has in its own cluster, if it leaves that before it stops; 0 if it does not.
	Leaves etcd.ID
}

func (step DeletePod) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: planning.Sentence("The operator is stopping the Pod of member "+step.Name+", because ", step.Message),
		Requeue: state.RequeueSoon,
	}, "StoppingMember", planning.Pod(step.Name))
}
