package archiving

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// After the writes were stopped, users have changed, or the password of root has, because it had leaked. A standby that claims the end has the users of before. etcd
// accepts these changes behind the fence, and may refuse any request of the operator after them.
func TestAnEndIsCalledOffWhenUsersChangeAfterIt(t *testing.T) {
	refusal := fmt.Errorf("etcd: %w", rpctypes.ErrPermissionDenied)
	for name, change := range map[string]func(*model, *handover){
		"users have changed": func(*model, *handover) {},
		"etcd does not say which users there are": func(_ *model, h *handover) {
			h.users = func(context.Context, uint64) (auth.State, error) {
				return auth.State{}, fmt.Errorf("%w: %w", archiver.ErrRefused, refusal)
			}
		},
		"etcd does not say how the member is": func(_ *model, h *handover) {
			h.member = func(context.Context, state.JobSpec, func(locked, etcd.Status) error) error {
				return failure.New(v1beta2.ReasonEtcdAccessDenied, "The member refuses the user.")
			}
		},
		"etcd does not let the fence be set": func(m *model, h *handover) {
			m.users--
			h.member = func(_ context.Context, _ state.JobSpec, do func(locked, etcd.Status) error) error {
				return do(locked{refusingEtcd{modelEtcd{m}, refusal}}, m.etcdStatus())
			}
		},
	} {
		m, o := readyToHandOver(t)
		m.users++
		change(m, o.process)
		v, err := o.process.step(t.Context(), o.spec)
		if err != nil || v.Phase != v1beta2.SwitchoverCallingOff || !strings.Contains(v.Waits, "users") {
			t.Errorf("%s: the switchover is %+v, %v", name, v, err)
		}
		m.standbys[0].planned = true
		if m.stand(m.standbys[0]); m.served != "" {
			t.Errorf("%s: %s became the cluster without them", name, m.served)
		}
	}
}

// refusingEtcd refuses the user who sets a fence.
type refusingEtcd struct {
	modelEtcd
	err error
}

func (r refusingEtcd) Fence(context.Context, etcd.ID) (int64, error) { return 0, r.err }
