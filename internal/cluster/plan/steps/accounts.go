package steps

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ChangeAccounts makes the next changes of users and roles, or turns authentication on or off. What names them. Of are the incarnation and the passwords
// that they are for: the same change for another password is no repetition.
type ChangeAccounts struct{ What, Of string }

func (step ChangeAccounts) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonChangingAccounts,
		Message: "The operator is changing users and roles in etcd: " + step.What + ".",
		Requeue: state.RequeueSoon,
	}, "ChangingAccounts", cluster)
}

// AnnounceAccounts records in the status that users get a password, before they are made, or that it changes.
type AnnounceAccounts struct{ Users int }

func (step AnnounceAccounts) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonChangingAccounts,
		Message: fmt.Sprintf("The operator is about to make %d users in etcd, or to change their passwords.", step.Users),
		Requeue: state.RequeueSoon,
	}
}
