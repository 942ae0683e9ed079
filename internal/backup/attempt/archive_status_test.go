package attempt_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

func TestTheArchiveOfADeletedEtcdBackupIsKeptForTheOneThatContinuesIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1beta2.EtcdBackup)
		kept   bool
	}{
		"another EtcdBackup continues the archive":     {func(*v1beta2.EtcdBackup) {}, true},
		"the other EtcdBackup uses another folder":     {func(b *v1beta2.EtcdBackup) { b.Spec.S3.Path = "bucket/elsewhere" }, false},
		"the other EtcdBackup has no archive":          {func(b *v1beta2.EtcdBackup) { b.Spec.Continuous = nil }, false},
		"the other EtcdBackup saves another cluster":   {func(b *v1beta2.EtcdBackup) { b.Spec.EtcdCluster.Name = "y" }, false},
		"the other EtcdBackup is the deleted one":      {func(b *v1beta2.EtcdBackup) { b.UID = "u" }, false},
		"the other EtcdBackup is in another namespace": {func(b *v1beta2.EtcdBackup) { b.Namespace = "other" }, false},
	} {
		s := statetest.ArchivingState(t)
		statetest.InCluster(&s, false)
		s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
		other := &v1beta2.EtcdBackup{Spec: *s.Spec.DeepCopy()}
		other.Namespace, other.Name, other.UID = s.Namespace, "other", types.UID("v")
		test.change(other)
		w := attempttest.NewWorld(t)
		w.Secrets = apiWith(t, other)
		o := state.JobSpecOf(s)
		start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 5, At: statetest.T0}}, "test")
		start.Writer = o.AttemptPrefix()
		if err := w.Store.Put(t.Context(), archive.StartKey(o.ArchiveRoot(), 1), objstore.NewMetadata(start.Encode())); err != nil {
			t.Fatal(err)
		}
		o.Kind = state.KindPurge
		r := w.Run(t.Context(), o, &queue.Progress{})
		if kept := len(w.Keys()) > 0; kept != test.kept || r.Failure != nil || strings.Contains(r.PruneProblem, "EtcdBackup other continues") != test.kept {
			t.Errorf("%s: the archive is kept: %t, want %t; %+v", name, kept, test.kept, r)
		}
	}
}

// apiWith is an API server with these objects.
func apiWith(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}
