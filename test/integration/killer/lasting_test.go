package killer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

const (
	// lastingWindow is how long changes are counted while a fault lasts. The limit is one change a minute. A call that the API
	// server refuses changes nothing, and is repeated every 30 s.
	lastingWindow = 90 * time.Second
	lastingWrites = 2
)

// lastingFault is a fault that nobody removes.
type lastingFault struct {
	size int
	// before the cluster exists, and when it is Ready. Either may be nil. Without ready the cluster need not become Ready.
	before, ready func(*bench)
	// reported is part of the message or the reason that the status then has; empty if the cluster is Ready.
	reported string
	// screen is what kubectl etcd status then shows; empty if that is not checked.
	screen screen
}

// screen is a fault of test/faults, and what kubectl etcd status must show of it.
type screen struct{ fault, cause, remedy string }

var lastingFaults = map[string]lastingFault{
	"admission rewrites the image of every Pod": {
		size:   3,
		before: func(b *bench) { b.rewriteImages() },
		ready:  func(*bench) {},
	},
	"a quota allows no PodDisruptionBudget, and the cluster is scaled": {
		size:     3,
		before:   func(b *bench) { b.quota("count/poddisruptionbudgets.policy", "0") },
		reported: "exceeded quota",
		screen:   screen{"quota-without-budgets", "exceeded quota: quota", "raise the quota"},
	},
	"a Secret with certificates is missing": {
		size: 3,
		before: func(b *bench) {
			b.cluster.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
				Member: &v1beta2.MemberSecret{PeerSecret: "missing", ServerSecret: "missing"}, OperatorSecret: "missing",
			}}
		},
		reported: "missing",
		screen:   screen{"certificates-missing", "Secret missing", "Create or correct the Secret"},
	},
	"the new Pod of the only member has a priority class that does not exist": {
		size: 1,
		ready: func(b *bench) {
			b.change(func(spec *v1beta2.EtcdClusterSpec) {
				spec.Pod = &v1beta2.PodPolicy{PriorityClassName: "does-not-exist"}
			})
		},
		reported: v1beta2.ReasonPodRefused,
		screen:   screen{"pod-refused", "does-not-exist", "create the missing object"},
	},
}

// A fault lasts until a person removes it, perhaps all night. Until then the operator must neither write to the API server
// without end nor restart members that serve.
func TestAFaultThatLastsCausesFewWritesAndRestartsNobody(t *testing.T) {
	for name, fault := range lastingFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault.run(t)
		})
	}
}

func (f lastingFault) run(t *testing.T) {
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: f.size, Version: newer})
	if f.before != nil {
		f.before(b)
	}
	var count killer.Count
	life := killer.NewLife(t.Context(), &count)
	b.runManager(life)
	kubetest.Create(t, b.cluster)
	if f.ready != nil {
		b.awaitReady()
		f.ready(b)
	}
	kubetest.Eventually(t, "the fault is reported, and writes become few", func(ctx context.Context) error {
		if err := b.reports(f.reported); err != nil {
			return err
		}
		count.Reset()
		pause(ctx, 10*time.Second)
		if writes := count.Changes(); len(writes) > 1 {
			return fmt.Errorf("in 10 s it wrote %q", writes)
		}
		return nil
	})
	before := b.podUIDs()
	count.Reset()
	pause(t.Context(), lastingWindow)
	if writes := count.Changes(); len(writes) > lastingWrites {
		t.Errorf("the operator wrote %d times in %s, the limit is %d: %q", len(writes), lastingWindow, lastingWrites, writes)
	}
	for name, uid := range before {
		if now := b.podUIDs()[name]; now != uid {
			t.Errorf("Pod %s was recreated", name)
		}
	}
	if err := b.reports(f.reported); err != nil {
		t.Error(err)
	}
	if f.screen.fault != "" {
		b.statusNames(f.screen.fault, f.screen.cause, f.screen.remedy)
	}
}

// reports returns no error if the condition Ready has that text, or is True if there is none.
func (b *bench) reports(text string) error {
	if err := b.client.Get(b.Context(), client.ObjectKeyFromObject(b.cluster), b.cluster); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionReady)
	switch {
	case ready == nil:
		return fmt.Errorf("the condition Ready is not set")
	case text == "" && ready.Status != metav1.ConditionTrue:
		return fmt.Errorf("the cluster is not Ready: %+v", ready)
	case !strings.Contains(ready.Reason+": "+ready.Message, text):
		return fmt.Errorf("the status does not report %q: %+v", text, ready)
	}
	return nil
}

func (b *bench) podUIDs() map[string]types.UID {
	b.Helper()
	var pods corev1.PodList
	if err := b.client.List(b.Context(), &pods, client.InNamespace(b.cluster.Namespace)); err != nil {
		b.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, pod := range pods.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// quota sets a quota for the namespace. No controller counts what is used, so the status says that nothing is.
func (b *bench) quota(name corev1.ResourceName, limit string) {
	b.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: "quota"}}
	quota.Spec.Hard = corev1.ResourceList{name: resource.MustParse(limit)}
	kubetest.Create(b, quota)
	before := quota.DeepCopy()
	quota.Status.Hard = quota.Spec.Hard
	quota.Status.Used = corev1.ResourceList{name: resource.MustParse("0")}
	if err := b.client.Status().Patch(b.Context(), quota, client.MergeFrom(before)); err != nil {
		b.Fatal(err)
	}
}

// rewriteImages makes admission replace the registry of images in the namespace, as mirrors and signature policies do.
func (b *bench) rewriteImages() {
	b.Helper()
	name := "mirror-" + b.cluster.Namespace
	kubetest.MustKubectl(b, fmt.Sprintf(imagePolicy, name, b.cluster.Namespace), "apply", "-f", "-")
	kubetest.Eventually(b, "admission rewrites images", func(ctx context.Context) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: "probe"}}
		pod.Spec.Containers = []corev1.Container{{Name: "etcd", Image: "quay.io/coreos/etcd:v" + newer}}
		if err := b.client.Create(ctx, pod, client.DryRunAll); err != nil {
			return err
		}
		if image := pod.Spec.Containers[0].Image; !strings.HasPrefix(image, "mirror.example/") {
			return fmt.Errorf("the image is %s", image)
		}
		return nil
	})
}

const imagePolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "replace", path: "/spec/containers/0/image", value: "mirror.example/etcd:" + object.spec.containers[0].image.split(":")[1]}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`
