package cluster

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The dry run is of no use if the passes of a running operator never begin it, or if the status never reports its answer.
func TestPassesReportThePodThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pod := pods.NewPod(clustertest.State(plantest.Formed, plantest.Members(1), plantest.Ephemeral), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
		pod.OwnerReferences = clustertest.Controlled("uid-example", "", nil).OwnerReferences
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}, ContainerStatuses: []corev1.ContainerStatus{{
			Name: lifecycle.EtcdContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}
		p := newPasses(t, pod)
		var formed v1beta2.EtcdCluster
		if err := p.live.Get(t.Context(), p.key, &formed); err != nil {
			t.Fatal(err)
		}
		formed.Status.ClusterID, formed.Status.Incarnation = plantest.OldID, 1
		if err := p.live.Status().Update(t.Context(), &formed); err != nil {
			t.Fatal(err)
		}
		p.Client = interceptor.NewClient(p.live, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if _, is := object.(*corev1.Pod); is {
					return apierrors.NewForbidden(clustertest.PodResource, object.GetName(), clustertest.ErrText("violates PodSecurity"))
				}
				return c.Create(ctx, object, options...)
			},
		})
		p.rehearsals.Foresight = dryrun.NewForesight()
		member := etcd.Member{ID: 1, Name: plantest.NameOf(0), ClientURLs: []string{"http://x"}}
		p.questions.Dial = func(etcd.Endpoint, *tls.Config) (members.Etcd, error) {
			return clustertest.FakeMember{Membership: []etcd.Member{member}, Answer: etcd.Status{ClusterID: 0xaa, MemberID: 1, LeaderID: 1, Version: "3.6.16", Revision: 40}}, nil
		}
		for range 40 {
			p.pass()
			synctest.Wait()
			p.now = p.now.Add(time.Second)
			if ready := p.ready(); ready != nil && ready.Reason == v1beta2.ReasonPodRefused {
				return
			}
		}
		t.Errorf("after 40 passes the status reports %+v", p.ready())
	})
}

// A cluster lacks a member, and etcd refuses writes because its quota is used up. A compaction needs no Pod, but it waited for as long as the
// webhook for Pods was down.
func TestAWebhookForPodsHoldsUpNoRepairWithoutAPod(t *testing.T) {
	for what, answer := range map[string]error{
		"refuses": apierrors.NewForbidden(clustertest.PodResource, "x", clustertest.ErrText(`admission webhook "w" denied the request: no`)),
		"is down": apierrors.NewInternalError(clustertest.ErrText(`failed calling webhook "w": failed to call webhook: no endpoints available for service "w"`)),
	} {
		on := clustertest.NewRehearsal(t, func(client.Object) error { return answer })
		on.View.Spec.Size = 2
		m := &on.View.Members[0]
		m.DBSize, m.DBSizeInUse, m.DBQuota, m.Revision = 100<<20, 95<<20, 100<<20, 5000
		m.Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 1}}
		on.View.Budget.MinAvailable = 0
		step, err := assemble(parts{Client: on.API.Client, APIReader: on.API.APIReader}).planAndAct(t.Context(), on.View)
		if _, is := step.(steps.CompactHistory); !is {
			t.Errorf("the webhook %s: the pass ends with %T, %v", what, step, err)
		}
	}
}

func TestAWebhookThatDoesNotAnswerIsReported(t *testing.T) {
	on := clustertest.NewRehearsal(t, func(client.Object) error {
		return apierrors.NewInternalError(clustertest.ErrText(`failed calling webhook "w": no endpoints available for service "w"`))
	})
	on.View.Spec.Size = 2
	on.View.Budget.MinAvailable = 0
	step, err := assemble(parts{Client: on.API.Client, APIReader: on.API.APIReader}).planAndAct(t.Context(), on.View)
	if wait, is := step.(steps.Wait); err != nil || !is || wait.Stalled || !strings.Contains(wait.Message, `webhook "w"`) {
		t.Errorf("%+v, %v", step, err)
	}
}
