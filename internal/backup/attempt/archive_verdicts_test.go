package attempt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
)

// A failed proof was known to the status alone. A recreated EtcdBackup, or one whose continuous was switched off for one pass, deleted the rest, and
// the next proof passed beside the damage.
func TestAFailedProofInTheStoreStopsDeletionsWithoutAnyStatus(t *testing.T) {
	for name, lose := range map[string]func(*state.State){
		"the status was lost":         func(s *state.State) { s.Status.LastArchiveProof = nil },
		"continuous was switched off": func(s *state.State) { s.Status.LastArchiveProof, s.Spec.Continuous = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := attempttest.NewWorld(t)
			s := statetest.Series(func(s *state.State) {
				s.Spec.BackupPolicy.MaxBackups = 1
				s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
			})
			present := time.Now()
			first := v1beta2.Snapshot{}
			for hour := range 4 {
				w.Now = statetest.At(present.Add(time.Duration(hour-10) * time.Hour))
				s.Status.Snapshot = w.Attempt(s).Snapshot
				if hour == 0 {
					first = *s.Status.Snapshot
					o := state.JobSpecOf(s)
					failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 1, To: 2, Failed: true}, FromKey: strings.TrimPrefix(first.Path, "bucket/"), Message: "Revision 2 is damaged."}
					if err := proofs.Write(t.Context(), w.Store, o.ArchiveRoot(), failed, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			set := func(kind string) {
				s.Status = status.NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
				_ = kind
			}
			set(v1beta2.ConditionArchiving)
			lose(&s)
			w.Now = statetest.At(present)
			r := w.Attempt(s)
			if r.Pruned != 0 || !w.Has(&first) || !strings.Contains(r.PruneProblem, "proofs/") {
				t.Errorf("%d snapshots were deleted, the problem is %q", r.Pruned, r.PruneProblem)
			}
		})
	}
}
