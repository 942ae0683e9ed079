package chart

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// everyWrite names each function of the operators that writes to Kubernetes, and the calls of allowedCalls that do the same. The functions
// with "created" ran in createClusters.
var everyWrite = map[string]string{
	"cluster.apply":                 "created",
	"cluster.applyOver":             "apply a Service",
	"cluster.create":                "created",
	"cluster.createFirst":           "created",
	"cluster.applyCertificate":      "created",
	"cluster.withdrawUsers":         "request the Certificate of a user, and delete it",
	"cluster.delete":                "delete a Pod",
	"cluster.deleteStopped":         "delete a Pod",
	"cluster.relabel":               "label a Pod",
	"cluster.markLoaded":            "label a Pod",
	"cluster.annotate":              "label a Pod",
	"cluster.addToService":          "label a Pod",
	"cluster.removeFromService":     "label a Pod",
	"cluster.noteResize":            "label a Pod",
	"cluster.resizePod":             "resize a Pod",
	"cluster.applyMetadata":         "label the objects around the members",
	"cluster.restoreLabels":         "own a Pod that lost its owner",
	"cluster.tryPod":                "create a Pod in a dry run",
	"cluster.RehearseStops":         "delete a Pod in a dry run",
	"cluster.ObserveVolumeTemplate": "create a volume in a dry run",
	"cluster.ServerTime":            "create a PodDisruptionBudget in a dry run",
	"cluster.setAsideVolume":        "set a volume aside",
	"cluster.keepVolume":            "keep a volume, and own it again",
	"cluster.markReplaced":          "mark a volume that a recovery continues without",
	"cluster.unmarkVolume":          "mark a volume that a recovery continues without",
	"cluster.markUsed":              "label a volume",
	"cluster.resizeVolume":          "grow a volume",
	"backup.addFinalizer":           "add and remove a finalizer",
	"backup.removeFinalizer":        "add and remove a finalizer",
	"backup.expire":                 "delete a finished EtcdBackup",
	"restore.delete":                "delete a finished EtcdRestore",
	"restore.writeSecret":           "write a signed URL",
	"restore.deleteSecret":          "delete a signed URL",
	"kube.PatchStatus":              "patch a status",
	"kube.UpdateSecret":             "update a Secret",
}

// TestEachWriteOfTheOperatorsIsTried fails if a function writes to Kubernetes and no call of the test below does the same.
func TestEachWriteOfTheOperatorsIsTried(t *testing.T) {
	found := map[string]bool{}
	for _, pkg := range []string{"cluster", "backup", "restore", "kube", "operator"} {
		for name := range writers(t, filepath.Join("../../internal", pkg)) {
			found[pkg+"."+name] = true
			if everyWrite[pkg+"."+name] == "" {
				t.Errorf("%s.%s writes to Kubernetes. Add a call like it to allowedCalls, and its name to everyWrite", pkg, name)
			}
		}
	}
	for name, call := range everyWrite {
		if !found[name] && name != "cluster.apply" {
			t.Errorf("%s writes nothing", name)
		}
		if call != "created" && !slices.ContainsFunc(allowedCalls, func(c request) bool { return c.name == call }) {
			t.Errorf("%s names the call %q, which does not exist", name, call)
		}
	}
}

// writers returns the functions of a package, and of those below it, that call a method to write on a client of Kubernetes.
func writers(t *testing.T, dir string) map[string]bool {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	found := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "/counted.go") { // counted.go counts the writes of others
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			function, is := declared.(*ast.FuncDecl)
			if is && writes(function) {
				found[function.Name.Name] = true
			}
		}
	}
	return found
}

func writes(function *ast.FuncDecl) (found bool) {
	ast.Inspect(function, func(node ast.Node) bool {
		call, is := node.(*ast.CallExpr)
		if !is {
			return true
		}
		method, is := call.Fun.(*ast.SelectorExpr)
		if !is || !slices.Contains([]string{"Create", "Update", "Patch", "Delete", "DeleteAllOf", "Apply"}, method.Sel.Name) {
			return true
		}
		on := strings.ToLower(types.ExprString(method.X))
		found = found || strings.HasSuffix(on, "client") || strings.Contains(on, "client.") || strings.HasSuffix(on, "status()") || strings.Contains(on, "subresource(")
		return true
	})
	return found
}

// A request is one request of an operator.
type request struct {
	name, component string
	do              func(*limits, client.Client) error
}

// allowedCalls are the requests of the operators, as their functions make them.
var allowedCalls = []request{
	{"apply a Service", clusterOperator, func(l *limits, c client.Client) error {
		service := of(l.managed, &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "managed-client"},
			Spec: corev1.ServiceSpec{Selector: map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "managed"}, Ports: []corev1.ServicePort{{Name: "client", Port: v1beta2.ClientPort}}},
		})
		return apply(l, c, service)
	}},
	{"apply a PodDisruptionBudget, and delete it", clusterOperator, func(l *limits, c client.Client) error {
		budget := l.budget("managed")
		for range 2 {
			if err := apply(l, c, of(l.managed, budget)); err != nil {
				return err
			}
		}
		return c.Delete(l.Context(), budget)
	}},
	{"apply a NetworkPolicy, and delete it", clusterOperator, func(l *limits, c client.Client) error {
		policy := l.networkPolicy("managed")
		for range 2 {
			if err := apply(l, c, of(l.managed, policy)); err != nil {
				return err
			}
		}
		return c.Delete(l.Context(), policy)
	}},
	{"request the Certificate of a user, and delete it", clusterOperator, func(l *limits, c client.Client) error {
		certificate := l.userCertificate("shop", nil)
		for range 2 {
			if err := apply(l, c, certificate); err != nil {
				return err
			}
		}
		return c.Delete(l.Context(), certificate)
	}},
	{"update a Secret", clusterOperator, func(l *limits, c client.Client) error {
		return get(l, l.secret("managed-ca"), func(s *corev1.Secret) error {
			if err := merge(l, l.admin, s, `{"metadata":{"annotations":{"example.com/of":"a-user"}}}`); err != nil {
				return err
			}
			s.Data["previous-ca.crt"], s.Labels = []byte("x"), nil // a person may have removed the labels
			s.Annotations[v1beta2.AnnotationRotateCA] = "1"
			return c.Update(l.Context(), s)
		})
	}},
	{"label a Pod", clusterOperator, func(l *limits, c client.Client) error {
		pods, _ := l.members()
		return merge(l, c, &pods[0], `{"metadata":{"annotations":{"etcd.database.coreos.com/certificates":"x"},"labels":{"team":null,"etcd.database.coreos.com/voter":"true"}}}`)
	}},
	{"label the objects around the members", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "managed"}}
		for _, object := range []client.Object{&volumes[0], service} {
			if err := merge(l, c, object, `{"metadata":{"labels":{"team":"a"},"annotations":{"etcd.database.coreos.com/cluster-metadata":"x"}}}`); err != nil {
				return err
			}
		}
		certificate := l.certificate("issued-peer")
		if err := merge(l, l.admin, certificate, `{"spec":{"secretTemplate":{"annotations":{"example.com/owner":"b","example.com/by":"a-user"}}}}`); err != nil {
			return err
		}
		return merge(l, c, certificate, `{"metadata":{"labels":{"team":"a"},"annotations":{"example.com/owner":"c"}},"spec":{"secretTemplate":{"labels":{"team":"a"},"annotations":{"example.com/owner":null}}}}`)
	}},
	{"create the Secret of a user that an admission webhook annotates", clusterOperator, func(l *limits, c client.Client) error {
		secret := of(l.managed, l.secret("managed-annotated-tls"))
		secret.Annotations = map[string]string{ofWebhook: "true"}
		return create(l, c, secret)
	}},
	{"create the Secret of a user", clusterOperator, func(l *limits, c client.Client) error {
		secret := of(l.managed, l.secret("managed-shop-peers-tls"))
		secret.Annotations = map[string]string{"etcd.database.coreos.com/cluster-metadata": "{}"}
		return create(l, c, secret)
	}},
	{"label a Pod that lost its owner", clusterOperator, func(l *limits, c client.Client) error {
		pods, _ := l.members()
		if err := merge(l, l.admin, &pods[1], `{"metadata":{"ownerReferences":null,"labels":null}}`); err != nil {
			return err
		}
		return merge(l, c, &pods[1], `{"metadata":{"annotations":{"etcd.database.coreos.com/initial-cluster":"x"}}}`)
	}},
	{"own a Pod that lost its owner", clusterOperator, func(l *limits, c client.Client) error {
		pods, _ := l.members()
		if err := merge(l, l.admin, &pods[1], `{"metadata":{"ownerReferences":null}}`); err != nil {
			return err
		}
		return patched(l, c, &pods[1], func(p *corev1.Pod) { of(l.managed, p) })
	}},
	{"resize a Pod", clusterOperator, func(l *limits, c client.Client) error {
		pods, _ := l.members()
		patch := client.RawPatch(apitypes.JSONPatchType, []byte(`[{"op":"add","path":"/spec/containers/0/resources","value":{"requests":{"cpu":"200m"}}}]`))
		return c.SubResource("resize").Patch(l.Context(), &pods[0], patch)
	}},
	{"create a Pod in a dry run", clusterOperator, func(l *limits, c client.Client) error {
		return c.Create(l.Context(), l.pod("managed-rehearsal"), client.DryRunAll)
	}},
	{"create the Pod of a seed", clusterOperator, func(l *limits, c client.Client) error {
		pod := l.pod("managed-bcdfghjklm")
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "restore", Image: "seed", Args: []string{"seed"}, VolumeMounts: []corev1.VolumeMount{
			{Name: "etcd-data", MountPath: "/var/etcd"}, {Name: "store-credentials", MountPath: "/credentials", ReadOnly: true}, {Name: "signed-url", MountPath: "/url", ReadOnly: true},
		}})
		for _, name := range []string{"store-credentials", "signed-url"} {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Optional: ptr.To(true)}}})
		}
		return c.Create(l.Context(), pod)
	}},
	{"create a Pod to which webhooks add tokens for others", clusterOperator, func(l *limits, c client.Client) error {
		pod := l.pod("managed-meshed")
		pod.Spec.Volumes = append(pod.Spec.Volumes, projected("istio-ca"), projected("sts.amazonaws.com"), corev1.Volume{Name: "info", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}})
		return c.Create(l.Context(), pod, client.DryRunAll)
	}},
	{"create a volume in a dry run", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: "managed-rehearsal", Labels: volumes[0].Labels}, Spec: volumes[0].Spec}
		return c.Create(l.Context(), volume, client.DryRunAll)
	}},
	{"create a PodDisruptionBudget in a dry run", clusterOperator, func(l *limits, c client.Client) error {
		return c.Create(l.Context(), l.budget("managed-rehearsal"), client.DryRunAll)
	}},
	{"set a volume aside", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		return patched(l, c, &volumes[0], func(v *corev1.PersistentVolumeClaim) {
			delete(v.Labels, v1beta2.LabelCluster)
			metav1.SetMetaDataLabel(&v.ObjectMeta, v1beta2.LabelReplacedOf, "managed")
			metav1.SetMetaDataAnnotation(&v.ObjectMeta, v1beta2.AnnotationReplacedAt, "2026-01-01T00:00:00Z")
		})
	}},
	{"mark a volume that a recovery continues without", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		err := patched(l, c, &volumes[0], func(v *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&v.ObjectMeta, v1beta2.AnnotationRecoveredFrom, volumes[0].Name)
		})
		if err != nil {
			return err
		}
		return patched(l, c, &volumes[0], func(v *corev1.PersistentVolumeClaim) { delete(v.Annotations, v1beta2.AnnotationRecoveredFrom) })
	}},
	{"keep a volume, and own it again", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		if err := patched(l, c, &volumes[0], func(v *corev1.PersistentVolumeClaim) { v.OwnerReferences = nil }); err != nil {
			return err
		}
		return patched(l, c, &volumes[0], func(v *corev1.PersistentVolumeClaim) { of(l.managed, v) })
	}},
	{"own a volume that lost its owner, its labels and its annotations", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		if err := merge(l, l.admin, &volumes[0], `{"metadata":{"ownerReferences":null,"labels":null,"annotations":null}}`); err != nil {
			return err
		}
		return patched(l, c, &volumes[0], func(v *corev1.PersistentVolumeClaim) {
			of(l.managed, v)
			v.OwnerReferences = nil
			metav1.SetMetaDataAnnotation(&v.ObjectMeta, v1beta2.AnnotationClusterUID, string(l.managed.UID))
		})
	}},
	{"label a volume", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		return merge(l, c, &volumes[0], `{"metadata":{"annotations":{"etcd.database.coreos.com/unused":null}}}`)
	}},
	{"grow a volume", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		volumes[0].Spec.VolumeName = "some"
		if err := l.admin.Update(l.Context(), &volumes[0]); err != nil {
			return err
		}
		volumes[0].Status.Phase = corev1.ClaimBound
		if err := l.admin.Status().Update(l.Context(), &volumes[0]); err != nil {
			return err
		}
		return merge(l, c, &volumes[0], `{"spec":{"resources":{"requests":{"storage":"100Gi"}}}}`)
	}},
	{"delete a volume that was kept", clusterOperator, func(l *limits, c client.Client) error {
		_, volumes := l.members()
		if err := merge(l, l.admin, &volumes[0], `{"metadata":{"ownerReferences":null}}`); err != nil {
			return err
		}
		return c.Delete(l.Context(), &volumes[0])
	}},
	{"delete a Pod in a dry run", clusterOperator, func(l *limits, c client.Client) error {
		pods, _ := l.members()
		return c.Delete(l.Context(), &pods[0], client.DryRunAll, client.GracePeriodSeconds(1))
	}},
	{"delete a Pod", clusterOperator, func(l *limits, c client.Client) error {
		pods, _ := l.members()
		return c.Delete(l.Context(), &pods[len(pods)-1], client.GracePeriodSeconds(0))
	}},
	{"patch a status", clusterOperator, func(l *limits, c client.Client) error {
		return c.Status().Patch(l.Context(), l.managed.DeepCopy(), client.RawPatch(apitypes.MergePatchType, []byte(`{"status":{"size":1}}`)))
	}},
	{"add and remove a finalizer", backupOperator, func(l *limits, c client.Client) error {
		backup := l.backup("finalized", nil)
		for _, finalizers := range []string{`["etcd.database.coreos.com/snapshots"]`, `null`} {
			if err := merge(l, c, backup, `{"metadata":{"finalizers":`+finalizers+`}}`); err != nil {
				return err
			}
		}
		return c.Status().Patch(l.Context(), backup, client.RawPatch(apitypes.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`)))
	}},
	{"delete a finished EtcdBackup", backupOperator, func(l *limits, c client.Client) error {
		return c.Delete(l.Context(), l.backup("finished", ptr.To(int32(0))))
	}},
	{"delete a finished EtcdRestore", restoreOperator, func(l *limits, c client.Client) error {
		return c.Delete(l.Context(), l.restore("finished", ptr.To(int32(0))))
	}},
	{"write a signed URL", restoreOperator, func(l *limits, c client.Client) error {
		secret := l.signedURL("signed")
		if err := c.Create(l.Context(), secret); err != nil {
			return err
		}
		secret.Data = map[string][]byte{"url": []byte("y")}
		return c.Update(l.Context(), secret)
	}},
	{"delete a signed URL", restoreOperator, func(l *limits, c client.Client) error {
		secret := l.signedURL("deleted")
		if err := c.Create(l.Context(), secret); err != nil {
			return err
		}
		return c.Delete(l.Context(), secret, client.Preconditions{UID: &secret.UID})
	}},
	{"write events about its kind", restoreOperator, func(l *limits, c client.Client) error {
		return c.Create(l.Context(), l.event("EtcdRestore", v1beta2.GroupVersion.String()))
	}},
	{"write events about its Lease", clusterOperator, func(l *limits, c client.Client) error {
		return c.Create(l.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: l.release, Name: "elected"},
			InvolvedObject: corev1.ObjectReference{Kind: "Lease", APIVersion: "coordination.k8s.io/v1", Namespace: l.release, Name: "cluster-operator." + group},
		})
	}},
	{"take its Lease", backupOperator, func(l *limits, c client.Client) error {
		lease := l.lease(backupOperator)
		if err := c.Create(l.Context(), lease); err != nil {
			return err
		}
		lease.Spec.HolderIdentity = ptr.To("x")
		return c.Update(l.Context(), lease)
	}},
}

func TestOperatorsDoAllTheirWorkWithinTheirLimits(t *testing.T) {
	l := newLimits(t)
	for _, call := range allowedCalls {
		if err := call.do(l, l.operators[call.component]); err != nil {
			t.Errorf("%s cannot %s: %v", call.component, call.name, err)
		}
	}
}

func apply(l *limits, c client.Client, object client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	return c.Apply(l.Context(), client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}), client.FieldOwner(clusterOperator), client.ForceOwnership)
}

func merge(l *limits, c client.Client, object client.Object, patch string) error {
	return c.Patch(l.Context(), object, client.RawPatch(apitypes.MergePatchType, []byte(patch)))
}

// patched reads the object, because an earlier call may have changed it, and patches what change changes.
func patched[T client.Object](l *limits, c client.Client, object T, change func(T)) error {
	return get(l, object, func(object T) error {
		before, is := object.DeepCopyObject().(client.Object)
		if !is {
			return fmt.Errorf("copy %s", object.GetName())
		}
		change(object)
		return c.Patch(l.Context(), object, client.MergeFrom(before))
	})
}

func get[T client.Object](l *limits, object T, do func(T) error) error {
	if err := l.admin.Get(l.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("read %s: %w", object.GetName(), err)
	}
	return do(object)
}

// pod returns a Pod like that of a member, with another name.
func (l *limits) pod(name string) *corev1.Pod {
	pods, _ := l.members()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: name, Annotations: pods[0].Annotations}, Spec: *pods[0].Spec.DeepCopy()}
	pod.Spec.Hostname = ""
	pod.Spec.Priority = nil
	return of(l.managed, pod)
}

// projected is a volume with a token of the Pod's ServiceAccount for an audience; empty for the Kubernetes API.
func projected(audience string) corev1.Volume {
	return corev1.Volume{Name: "token" + strings.NewReplacer(".", "-", ":", "-", "/", "-").Replace(audience), VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, Path: "token"}}},
	}}}
}

func (l *limits) budget(name string) *policyv1.PodDisruptionBudget {
	labels := map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "managed"}
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: name, Labels: labels},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
}

func (l *limits) networkPolicy(name string) *networkingv1.NetworkPolicy {
	labels := map[string]string{v1beta2.LabelCluster: "managed"}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: name, Labels: labels},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: labels},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
		},
	}
}

func (l *limits) backup(name string, ttl *int32) *v1beta2.EtcdBackup {
	l.Helper()
	backup := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: name}, Spec: v1beta2.EtcdBackupSpec{
		EtcdCluster: &v1beta2.ClusterReference{Name: "managed"}, StorageType: v1beta2.StorageS3, TTLSecondsAfterFinished: ttl,
	}}
	backup.Spec.S3 = &v1beta2.S3Source{Path: "bucket/key"}
	kubetest.Create(l, backup)
	return backup
}

func (l *limits) restore(name string, ttl *int32) *v1beta2.EtcdRestore {
	l.Helper()
	restore := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: l.team, Name: name}, Spec: v1beta2.EtcdRestoreSpec{
		EtcdCluster: v1beta2.ClusterReference{Name: "managed"}, BackupStorageType: v1beta2.StorageS3, TTLSecondsAfterFinished: ttl,
	}}
	restore.Spec.S3 = &v1beta2.S3Source{Path: "bucket/key"}
	kubetest.Create(l, restore)
	return restore
}

// signedURL returns the Secret of an EtcdRestore as restore-operator creates it.
func (l *limits) signedURL(name string) *corev1.Secret {
	l.Helper()
	restore := l.restore(name, nil)
	secret := l.secret("etcdrestore-" + string(restore.UID))
	secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdRestore", Name: restore.Name, UID: restore.UID}}
	return secret
}

func (l *limits) event(kind, apiVersion string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.team, GenerateName: "e-"}, EventTime: metav1.NowMicro(), ReportingController: "x", ReportingInstance: "x", Action: "x", Reason: "x", Type: "Normal",
		Regarding: corev1.ObjectReference{Kind: kind, APIVersion: apiVersion, Namespace: l.team, Name: "x"},
	}
}

func (l *limits) lease(component string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.release, Name: component + "." + group}}
}
