package chart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// limits is a release on a real API server, with a client for each operator that has the token of its ServiceAccount. The namespace team has
// two EtcdClusters, whose objects cluster-operator created with its token.
type limits struct {
	*testing.T
	release, team string
	operators     map[string]client.WithWatch
	admin         client.WithWatch
	managed       *v1beta2.EtcdCluster
	issued        *v1beta2.EtcdCluster
}

// ofWebhook is an annotation that an admission webhook adds to each Secret, so the API server sees it in the requests of the operators.
const ofWebhook = "webhook.example.com/seen"

func newLimits(t *testing.T) *limits {
	t.Helper()
	s := newSite(t)
	l := &limits{T: t, release: kubetest.Namespace(t), team: kubetest.Namespace(t), operators: map[string]client.WithWatch{}, admin: kubetest.Client(t)}
	s.helm(t, "install", releaseName, chartDir, "--namespace", l.release, "--wait=hookOnly", ownIdentity, "--set=clusterOperator.certificateDomains={edge.example}", "--set=admissionPolicies.secretAnnotations={"+ofWebhook+"}")
	kubetest.MustKubectl(t, kubetest.CertificateCRD, "apply", "-f", "-")
	kubetest.MustKubectl(t, "", "wait", "customresourcedefinitions", "--all", "--for=condition=Established", "--timeout=60s")
	for component := range operators {
		l.operators[component] = l.account(component)
	}
	kubetest.Eventually(t, "the policies are in force", func(ctx context.Context) error {
		err := l.operators[clusterOperator].Create(ctx, l.secret("any"), client.DryRunAll)
		if !denied(err) {
			return fmt.Errorf("cluster-operator creates any Secret: %w", errors.Join(err, errors.New("not denied yet")))
		}
		return nil
	})
	l.createClusters()
	return l
}

// account returns a client with the token of an operator's ServiceAccount.
func (l *limits) account(component string) client.WithWatch {
	l.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.release, Name: releaseName + "-" + component}}
	token := &authenticationv1.TokenRequest{}
	if err := l.admin.SubResource("token").Create(l.Context(), account, token); err != nil {
		l.Fatalf("request a token of %s: %v", account.Name, err)
	}
	admin := kubetest.Config(l.T)
	scheme, err := operator.Scheme()
	if err != nil {
		l.Fatal(err)
	}
	config := &rest.Config{Host: admin.Host, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData}, BearerToken: token.Status.Token, QPS: -1}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		l.Fatal(err)
	}
	return c
}

// everyOption is a Pod policy with all that a user can set and a policy can see.
func everyOption() *v1beta2.PodPolicy {
	mount := []corev1.VolumeMount{{Name: "settings", MountPath: "/settings"}}
	capable := &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN", "NET_BIND_SERVICE"}}}
	return &v1beta2.PodPolicy{
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "x"}, NodeSelector: map[string]string{"disk": "ssd"},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, PriorityClassName: "system-cluster-critical", ServiceAccountName: "members",
		SchedulerName: "another", TerminationGracePeriodSeconds: ptr.To(int64(60)), AntiAffinity: true,
		EtcdEnv: []corev1.EnvVar{{Name: "ETCD_LOG_LEVEL", Value: "debug"}, {Name: "SECRET", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k", Optional: ptr.To(true)},
		}}},
		Resources:        corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		SecurityContext:  &corev1.PodSecurityContext{FSGroup: ptr.To(int64(7))},
		InitContainers:   []corev1.Container{{Name: "prepare", Image: "i", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), SecurityContext: capable, VolumeMounts: mount}},
		Containers: []corev1.Container{{
			Name: "sidecar", Image: "i", Ports: []corev1.ContainerPort{{ContainerPort: 9000}}, VolumeMounts: mount,
			SecurityContext: &corev1.SecurityContext{RunAsUser: ptr.To(int64(0))},
		}},
		Volumes: []v1beta2.PodVolume{
			{Name: "settings", ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
			{Name: "secret", Secret: &corev1.SecretVolumeSource{SecretName: "s"}},
			{Name: "scratch", EmptyDir: &corev1.EmptyDirVolumeSource{}},
			{Name: "csi", CSI: &corev1.CSIVolumeSource{Driver: "secrets.example.com"}},
			{Name: "shared", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}},
		},
		PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To("some"), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "etcd"}}},
	}
}

// createClusters lets cluster-operator, with the rights and the token of its ServiceAccount, create the objects of two EtcdClusters.
func (l *limits) createClusters() {
	l.Helper()
	kubetest.Create(l, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "members"}})
	l.wide(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "some"}, Provisioner: "none", AllowVolumeExpansion: ptr.To(true)})
	stop := kubetest.RunManager(l, l.team, func(_ context.Context, mgr manager.Manager) error {
		return cluster.Setup(mgr, cluster.Options{SeedImage: "seed", CertificateDomains: []string{"edge.example"}, NetworkPeers: `{"operator": [{"namespaceSelector": {}}]}`})
	}, func(c client.WithWatch) client.WithWatch { return writesAs(c, l.operators[clusterOperator]) })
	l.managed = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "managed"}, Spec: v1beta2.EtcdClusterSpec{
		Size: 3, Pod: everyOption(), TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}},
		Service: &v1beta2.ServicePolicy{
			Type: corev1.ServiceTypeLoadBalancer, Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "x"}, LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
		},
		NetworkPolicy: &v1beta2.MemberNetworkPolicy{ClientsFrom: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}}},
	}}
	l.issued = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "issued"}, Spec: v1beta2.EtcdClusterSpec{
		Size: 1, Pod: &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}, ClusterDomain: ".cluster.local"},
		TLS: &v1beta2.TLSPolicy{AcceptClients: v1beta2.AcceptClientsOfCluster, CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "ca"}, ClientCommonName: "shop", ExtraNames: []string{"etcd.edge.example"}}},
	}}
	kubetest.Create(l, l.managed, l.issued)
	for what, count := range map[string]int{
		"pods -l etcd_cluster=managed": 3, "persistentvolumeclaims -l etcd_cluster=managed": 3, "secrets -l etcd_cluster=managed": 5,
		"services -l etcd_cluster=managed": 2, "certificates.cert-manager.io -l etcd_cluster=issued": 4,
		"networkpolicies -l etcd_cluster=managed": 1,
	} {
		kubetest.Eventually(l, "cluster-operator creates "+what, func(context.Context) error {
			names := strings.Fields(kubetest.MustKubectl(l, "", append(strings.Fields("get "+what), "--namespace", l.team, "--output=name")...))
			if len(names) != count {
				return fmt.Errorf("it created %v, want %d\n%s", names, count, kubetest.MustKubectl(l, "", "get", "etcdclusters", "--namespace", l.team, "--output=jsonpath={.items[*].status.conditions}"))
			}
			return nil
		})
	}
	stop()
}

// writesAs reads with the cache of c, and writes with the token of account.
func writesAs(c, account client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return account.Create(ctx, object, options...)
		},
		Update: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return account.Update(ctx, object, options...)
		},
		Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return account.Patch(ctx, object, patch, options...)
		},
		Apply: func(ctx context.Context, _ client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return account.Apply(ctx, object, options...)
		},
		Delete: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return account.Delete(ctx, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, _ client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return account.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	})
}

// wide creates an object without a namespace, and deletes it at the end of the test.
func (l *limits) wide(object client.Object) {
	l.Helper()
	kubetest.Create(l, object)
	l.Cleanup(func() {
		if err := l.admin.Delete(context.WithoutCancel(l.Context()), object); err != nil {
			l.Error(err)
		}
	})
}

// takeOver gives each operator all rights of Kubernetes, so that only the policies limit it.
func (l *limits) takeOver() {
	l.Helper()
	for component, c := range l.operators {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "taken-over-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: l.release, Name: releaseName + "-" + component}},
		}
		l.wide(binding)
		kubetest.Eventually(l, component+" has all rights", func(ctx context.Context) error {
			return c.List(ctx, &rbacv1.ClusterRoleList{})
		})
	}
}

// denied reports whether a policy refused a request.
func denied(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+releaseName+"-")
}

func (l *limits) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: name}, Type: corev1.SecretTypeOpaque}
}

// of makes an EtcdCluster the controller of an object.
func of[T client.Object](c *v1beta2.EtcdCluster, object T) T {
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(c, v1beta2.GroupVersion.WithKind("EtcdCluster"))})
	labels := map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: c.Name, v1beta2.LabelClusterUID: string(c.UID)}
	maps.Copy(labels, object.GetLabels())
	object.SetLabels(labels)
	return object
}

// members returns the Pods and the volumes of the managed EtcdCluster, by name.
func (l *limits) members() ([]corev1.Pod, []corev1.PersistentVolumeClaim) {
	l.Helper()
	var pods corev1.PodList
	var volumes corev1.PersistentVolumeClaimList
	for _, list := range []client.ObjectList{&pods, &volumes} {
		if err := l.admin.List(l.Context(), list, client.InNamespace(l.team), client.MatchingLabels{v1beta2.LabelCluster: l.managed.Name}); err != nil {
			l.Fatal(err)
		}
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(volumes.Items, func(a, b corev1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	return pods.Items, volumes.Items
}
