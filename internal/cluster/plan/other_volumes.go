package plan

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A claim that a person creates under the name of a lost one may have an older copy of the data. The member that started on it would have
// forgotten writes that it acknowledged and votes that it cast, and together with another such member it could undo what the rest knows.
// So its data counts as lost. If nothing but copies is left, the user can accept them.

// waitForOthers keeps a recovery from beginning while a person has put other claims in the place of lost ones. A migration of storage gives
// the same disks other names, and then these members may have what no other has. The consent to continue without what is lost is none to
// continue without that. It returns nil if there is nothing to decide.
func waitForOthers(s state.State, lost string) Step {
	copies, alone := state.Undecided(s)
	if len(copies)+len(alone) == 0 {
		return nil
	}
	said := lost + " The operator does not continue from one member before a person has decided about them."
	if len(copies) > 0 {
		said += " If they are the same disks under other names, " + state.HowToAccept(state.Tokens(s, copies)) + " If they are copies, delete these PersistentVolumeClaims."
	}
	if len(alone) > 0 {
		said += " To continue with the data of " + strings.Join(state.MemberNames(alone), " or ") + ", " + state.HowToAccept(state.Tokens(s, alone)) + " To give it up, save it, and delete that PersistentVolumeClaim."
	}
	return Wait{Reason: v1beta2.ReasonQuorumLost, Stalled: true, Message: said + " The operator then continues from the member with the newest data."}
}
