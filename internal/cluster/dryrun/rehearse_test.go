package dryrun

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestNoLearnerIsAddedThatAQuotaRefuses(t *testing.T) {
	on := clustertest.NewRehearsal(t, func(o client.Object) error {
		return apierrors.NewForbidden(clustertest.PodResource, o.GetName(), clustertest.ErrText("exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3"))
	})
	err := (&Rehearsals{Lists: &kubecache.Lists{KubeAPI: on.API}}).Rehearse(t.Context(), on.View, plantest.NameOf(3), state.StartJoin)
	if _, refused := RefusedStep(err); !refused {
		t.Errorf("the answer is %v, want a refusal", err)
	}
}

func TestATemplateOfVolumesThatCannotWorkIsReportedBeforeAMemberNeedsIt(t *testing.T) {
	on := clustertest.NewRehearsal(t, func(client.Object) error { return apierrors.NewBadRequest("access mode Bogus") })
	on.View.Spec.Size, on.View.Budget.MinAvailable = 1, 0
	on.View.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"Bogus"}}}
	r := &Rehearsals{Lists: &kubecache.Lists{KubeAPI: on.API}}
	for range 3 {
		r.ObserveVolumeTemplate(t.Context(), on.View)
	}
	wait, waits := plan.Plan(on.View.State).(steps.Wait)
	if !waits || wait.Reason != v1beta2.ReasonInvalidSpec || !wait.Stalled || !strings.Contains(wait.Message, "access mode Bogus") || on.Created != 1 {
		t.Errorf("after %d dry runs the plan is %+v", on.Created, plan.Plan(on.View.State))
	}
}
