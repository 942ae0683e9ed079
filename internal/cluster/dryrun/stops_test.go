package dryrun

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// A policy refused deletions with a short grace period. The dry run had none, so the restore stopped the members whose Pods it could delete.
func TestTheDryRunOfAStopHasTheOptionsOfTheStop(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(1), nil), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	api, v := clustertest.Beside(t, pod)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.Asked)
	long := strings.Repeat("x", 2*MaxQuote)
	clustertest.RefusesStop(api, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, plantest.NameOf(1), errors.New(long)), func(options []client.DeleteOption) bool {
		return slices.Contains(options, client.DeleteOption(client.GracePeriodSeconds(pods.StopGrace)))
	})
	step, is := RefusedStep((&Rehearsals{Lists: &kubecache.Lists{KubeAPI: api}}).RehearseStops(t.Context(), v, []corev1.Pod{*pod}))
	if !is {
		t.Fatal("the dry run was accepted")
	}
	if message := step.(steps.Wait).Message; strings.Contains(message, long) || !strings.Contains(message, "Correct the webhook") {
		t.Errorf("the message is not shortened: %s", message)
	}
}
