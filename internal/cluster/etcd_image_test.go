package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// Where nodes reach one registry only, the administrator sets the image of etcd once. Without this, each EtcdCluster would have to name the
// mirror and its credentials, and each one that does not would wait for an image that no node can pull.
func TestTheAdministratorChoosesTheImageOfEtcdForAllClusters(t *testing.T) {
	const mirror = "mirror.example.com/etcd"
	credentials := []corev1.LocalObjectReference{{Name: "mirror"}}
	own := []corev1.LocalObjectReference{{Name: "own"}}
	for name, test := range map[string]struct {
		spec    v1beta2.EtcdClusterSpec
		image   string
		secrets []corev1.LocalObjectReference
	}{
		"an object from before the default": {v1beta2.EtcdClusterSpec{Version: "3.6.16"}, mirror + ":v3.6.16", credentials},
		"the default of the API":            {v1beta2.EtcdClusterSpec{Version: "3.6.16", Repository: v1beta2.DefaultRepository}, mirror + ":v3.6.16", credentials},
		"only another tag": {
			v1beta2.EtcdClusterSpec{Version: "3.6.16", Repository: v1beta2.DefaultRepository, ImagePolicy: &v1beta2.ImagePolicy{Tag: "{version}-0"}}, mirror + ":3.6.16-0", credentials,
		},
		"a repository":      {v1beta2.EtcdClusterSpec{Version: "3.6.16", Repository: "example.com/etcd"}, "example.com/etcd:v3.6.16", credentials},
		"an image":          {v1beta2.EtcdClusterSpec{Version: "3.6.16", ImagePolicy: &v1beta2.ImagePolicy{Repository: "example.com/own"}}, "example.com/own:v3.6.16", credentials},
		"the default image": {v1beta2.EtcdClusterSpec{Version: "3.6.16", ImagePolicy: &v1beta2.ImagePolicy{Repository: v1beta2.DefaultRepository}}, v1beta2.DefaultRepository + ":v3.6.16", credentials},
		"pull secrets":      {v1beta2.EtcdClusterSpec{Version: "3.6.16", Pod: &v1beta2.PodPolicy{ImagePullSecrets: own}}, mirror + ":v3.6.16", own},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1beta2.EtcdCluster{Spec: test.spec}
			before := cluster.DeepCopy()
			s := state.NewState(cluster)
			observe.EtcdImage{Repository: mirror, PullSecrets: []string{"mirror"}}.Apply(&s.Spec)
			pod := pods.NewPod(s, steps.CreateMember{Name: "example-a", Start: state.StartJoin}, "seed")
			if got := pod.Spec.Containers[0].Image; got != test.image {
				t.Errorf("the member has the image %s, want %s", got, test.image)
			}
			if diff := cmp.Diff(test.secrets, pod.Spec.ImagePullSecrets); diff != "" {
				t.Errorf("pull secrets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, cluster); diff != "" {
				t.Errorf("the object of the cache was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// An upgrade of the chart must restart no member if the administrator has set neither of the two values.
func TestWithoutADefaultImageNothingChanges(t *testing.T) {
	for name, s := range map[string]state.State{"an empty policy": clustertest.State(), "everything": clustertest.State(plantest.Policy(clustertest.FullPolicy()))} {
		before := *s.Spec.DeepCopy()
		observe.EtcdImage{}.Apply(&s.Spec)
		if diff := cmp.Diff(before, s.Spec); diff != "" {
			t.Errorf("%s: the spec changed (-before +after):\n%s", name, diff)
		}
	}
}

// The operator reads the values from its flags in each pass.
func TestTheFlagsOfTheDefaultImageReachThePlan(t *testing.T) {
	r, err := New(nil, nil, nil, Options{EtcdRepository: "mirror.example.com/etcd", EtcdPullSecrets: []string{"mirror"}})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	cluster := &v1beta2.EtcdCluster{Spec: v1beta2.EtcdClusterSpec{Version: "3.6.16"}}
	cluster.DeletionTimestamp = &now // such a pass reads nothing else
	v, err := r.observer.Observe(t.Context(), cluster, plantest.Noon)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Spec.Image(); got != "mirror.example.com/etcd:v3.6.16" || len(v.PodPolicy().ImagePullSecrets) != 1 {
		t.Errorf("image %s, pull secrets %v", got, v.PodPolicy().ImagePullSecrets)
	}
}
