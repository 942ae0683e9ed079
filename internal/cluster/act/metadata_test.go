package act

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
)

// creation creates the objects of one kind, and list reads them.
type creation struct {
	kind   string
	create func(ctx context.Context, a *Actor, v *view.View) error
	list   client.ObjectList
}

func listOfCertificates() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("cert-manager.io/v1")
	list.SetKind("CertificateList")
	return list
}

// creations has an entry for each resource that the operator may create.
var creations = map[string]creation{
	"pods": {"Pod", func(ctx context.Context, a *Actor, v *view.View) error {
		return a.pods.createMember(ctx, v, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin})
	}, &corev1.PodList{}},
	"persistentvolumeclaims": {"PersistentVolumeClaim", func(ctx context.Context, a *Actor, v *view.View) error {
		return a.pods.createMember(ctx, v, steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartJoin})
	}, &corev1.PersistentVolumeClaimList{}},
	"services": {"Service", func(ctx context.Context, a *Actor, v *view.View) error {
		return a.Objects.applyServices(ctx, v, steps.ApplyServices{Incarnation: 1})
	}, &corev1.ServiceList{}},
	"secrets": {"Secret", func(ctx context.Context, a *Actor, v *view.View) error {
		return a.certificates.createCA(ctx, v)
	}, &corev1.SecretList{}},
	"certificates": {"Certificate", func(ctx context.Context, a *Actor, v *view.View) error {
		return a.certificates.requestCertificates(ctx, v)
	}, listOfCertificates()},
	"poddisruptionbudgets": {"PodDisruptionBudget", func(ctx context.Context, a *Actor, v *view.View) error {
		return a.apply(ctx, v, objects.DisruptionBudget(v.State, steps.ApplyBudget{Incarnation: 1, MinAvailable: 2}))
	}, &policyv1.PodDisruptionBudgetList{}},
	"networkpolicies": {"NetworkPolicy", func(ctx context.Context, a *Actor, v *view.View) error {
		return a.Objects.applyNetworkPolicy(ctx, v, steps.ApplyNetworkPolicy{})
	}, &networkingv1.NetworkPolicyList{}},
}

// creatable are the resources that the chart lets the operator create in the namespaces of EtcdClusters, apart from events.
func creatable(t *testing.T) []string {
	t.Helper()
	chart, err := os.ReadFile("../../../charts/etcd-operator/templates/cluster-operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, rule := range regexp.MustCompile(`resources: \[(.*)\]\n\s+verbs: \[(.*)\]`).FindAllStringSubmatch(string(chart), -1) {
		if slices.Contains(strings.Split(rule[2], ", "), "create") {
			found = append(found, strings.Split(rule[1], ", ")...)
		}
	}
	return found
}

// labelledBeside is an actor beside a cluster with spec.metadata that uses all that the operator creates.
func labelledBeside(t *testing.T) (*Actor, *view.View) {
	t.Helper()
	a, v := actorBeside(t)
	peers, err := objects.ParseNetworkPeers(clustertest.PeersFlag)
	if err != nil {
		t.Fatal(err)
	}
	a.Objects.NetworkPeers = peers
	v.Spec.NetworkPolicy = &v1beta2.MemberNetworkPolicy{}
	v.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "ca", Kind: "Issuer", Group: "cert-manager.io"}}}
	ask(v, map[string]v1beta2.LabelValue{"cost-center": "42", "app.kubernetes.io/part-of": "shop"}, map[string]v1beta2.AnnotationValue{"example.com/owner": "team a"})
	return a, v
}

func ask(v *view.View, labels map[string]v1beta2.LabelValue, annotations map[string]v1beta2.AnnotationValue) {
	v.Spec.Metadata = &v1beta2.MetadataPolicy{Labels: labels, Annotations: annotations}
}

// listed reads all objects of a kind.
func listed(t *testing.T, a *Actor, list client.ObjectList) []client.Object {
	t.Helper()
	if err := a.Client.List(t.Context(), list, client.InNamespace("ns")); err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	switch list := list.(type) {
	case *corev1.PodList:
		all = pointers(list.Items, func(o *corev1.Pod) client.Object { return o })
	case *corev1.PersistentVolumeClaimList:
		all = pointers(list.Items, func(o *corev1.PersistentVolumeClaim) client.Object { return o })
	case *corev1.ServiceList:
		all = pointers(list.Items, func(o *corev1.Service) client.Object { return o })
	case *corev1.SecretList:
		all = pointers(list.Items, func(o *corev1.Secret) client.Object { return o })
	case *policyv1.PodDisruptionBudgetList:
		all = pointers(list.Items, func(o *policyv1.PodDisruptionBudget) client.Object { return o })
	case *networkingv1.NetworkPolicyList:
		all = pointers(list.Items, func(o *networkingv1.NetworkPolicy) client.Object { return o })
	case *unstructured.UnstructuredList:
		all = pointers(list.Items, func(o *unstructured.Unstructured) client.Object { return o })
	}
	if len(all) == 0 {
		t.Fatalf("nothing was created: %T", list)
	}
	return all
}

func pointers[T any](items []T, as func(*T) client.Object) []client.Object {
	var all []client.Object
	for i := range items {
		all = append(all, as(&items[i]))
	}
	return all
}

// templateOf is the template of the Secret of a Certificate, as labels and annotations.
func templateOf(t *testing.T, object client.Object) (labels, annotations map[string]string) {
	t.Helper()
	certificate, is := object.(*unstructured.Unstructured)
	if !is {
		t.Fatalf("%T is no Certificate", object)
	}
	labels, _, _ = unstructured.NestedStringMap(certificate.Object, "spec", "secretTemplate", "labels")
	annotations, _, _ = unstructured.NestedStringMap(certificate.Object, "spec", "secretTemplate", "annotations")
	return labels, annotations
}

// A policy of the administrator that wants a label on each object would keep a cluster from being created.
func TestEachObjectIsCreatedWithTheLabelsAndAnnotationsOfTheSpec(t *testing.T) {
	rights := creatable(t)
	for _, resource := range rights {
		if _, known := creations[resource]; !known {
			t.Errorf("the operator may create %s. Give them spec.metadata, and add them to creations", resource)
		}
	}
	for resource, c := range creations {
		if !slices.Contains(rights, resource) {
			t.Errorf("the operator may not create %s. Remove them from creations", resource)
		}
		a, v := labelledBeside(t)
		if err := c.create(t.Context(), a, v); err != nil {
			t.Fatalf("create %s: %v", resource, err)
		}
		for _, object := range listed(t, a, c.list) {
			labels, annotations := object.GetLabels(), object.GetAnnotations()
			if labels["cost-center"] != "42" || labels["app.kubernetes.io/part-of"] != "shop" || (annotations["example.com/owner"] == "team a") == (c.kind == "Secret") {
				t.Errorf("%s %s has the labels %v and the annotations %v", c.kind, object.GetName(), labels, annotations)
			}
			if labels[v1beta2.LabelCluster] != "example" {
				t.Errorf("%s %s lacks a label of the operator: %v", c.kind, object.GetName(), labels)
			}
			if given, _ := services.MetadataFor(v.State, c.kind, object.GetName()); given.Due(object) {
				t.Errorf("%s %s is changed again after it was created", c.kind, object.GetName())
			}
			if resource == "certificates" {
				if labels, annotations := templateOf(t, object); labels["cost-center"] != "42" || len(annotations) > 0 {
					t.Errorf("cert-manager gives the Secret of %s the labels %v and the annotations %v", object.GetName(), labels, annotations)
				}
			}
		}
	}
}

// Controllers that copy Secrets to other namespaces read annotations of them: reflector, kubernetes-replicator and kubed. A user who may not create Secrets
// could have the operator create one that such a controller copies to each namespace, where another cluster then found a Secret that is not its own.
func TestNoSecretHasAnAnnotationByWhichOthersCopyIt(t *testing.T) {
	hostile := map[string]v1beta2.AnnotationValue{"reflector.v1.k8s.emberstack.com/reflection-auto-enabled": "true", "replicator.v1.mittwald.de/replicate-to": ".*", "kubed.appscode.com/sync": ""}
	a, v := labelledBeside(t)
	ask(v, map[string]v1beta2.LabelValue{"cost-center": "42", "argocd.argoproj.io/secret-type": "repository"}, hostile)
	for _, resource := range []string{"secrets", "certificates"} {
		c := creations[resource]
		if err := c.create(t.Context(), a, v); err != nil {
			t.Fatal(err)
		}
		for _, object := range listed(t, a, c.list) {
			labels, annotations := object.GetLabels(), object.GetAnnotations()
			if resource == "certificates" {
				labels, annotations = templateOf(t, object)
			}
			if _, is := labels["argocd.argoproj.io/secret-type"]; is {
				t.Errorf("the Secret of %s %s is a setting of Argo CD", c.kind, object.GetName())
			}
			for key := range hostile {
				if _, is := annotations[key]; is {
					t.Errorf("the Secret of %s %s has the annotation %s", c.kind, object.GetName(), key)
				}
			}
		}
	}
}

func TestLabelsAndAnnotationsOfObjectsThatExistFollowTheSpec(t *testing.T) {
	for resource, c := range creations {
		if c.kind == "Pod" {
			continue // plan.RelabelPod
		}
		a, v := labelledBeside(t)
		if err := c.create(t.Context(), a, v); err != nil {
			t.Fatal(err)
		}
		for _, object := range listed(t, a, c.list) {
			object.SetLabels(merged(object.GetLabels(), "set-by-others", "1"))
			if err := a.Client.Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			ask(v, map[string]v1beta2.LabelValue{"cost-center": "43", "tier": "db"}, nil)
			change := func() (client.Object, map[string]string) {
				t.Helper()
				if err := a.Act(t.Context(), v, steps.ApplyMetadata{Kind: c.kind, Name: object.GetName()}); err != nil {
					t.Fatalf("%s: %v", resource, err)
				}
				if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
				return object, object.GetLabels()
			}
			after, labels := change()
			_, part := labels["app.kubernetes.io/part-of"]
			if labels["cost-center"] != "43" || labels["tier"] != "db" || part || labels["set-by-others"] != "1" || labels[v1beta2.LabelCluster] != "example" || after.GetAnnotations()["example.com/owner"] != "" {
				t.Errorf("%s %s has the labels %v and the annotations %v", c.kind, object.GetName(), labels, after.GetAnnotations())
			}
			if resource == "certificates" {
				if labels, annotations := templateOf(t, object); !maps.Equal(labels, map[string]string{"cost-center": "43", "tier": "db"}) || len(annotations) != 0 {
					t.Errorf("cert-manager gives the Secret of %s the labels %v and the annotations %v", object.GetName(), labels, annotations)
				}
			}
			v.Spec.Metadata = nil
			after, labels = change()
			if _, is := labels["cost-center"]; is || labels["set-by-others"] != "1" || labels[v1beta2.LabelCluster] != "example" || after.GetAnnotations()[metadata.Annotation] != "" {
				t.Errorf("%s %s has the labels %v and the annotations %v", c.kind, object.GetName(), labels, after.GetAnnotations())
			}
			ask(v, map[string]v1beta2.LabelValue{"cost-center": "42", "app.kubernetes.io/part-of": "shop"}, map[string]v1beta2.AnnotationValue{"example.com/owner": "team a"})
		}
	}
}

func merged(all map[string]string, key, value string) map[string]string {
	all = maps.Clone(all)
	all[key] = value
	return all
}

// What clients and members need is applied also if a policy refuses a label. So only ApplyMetadata changes the labels of an object
// that exists.
func TestNoOtherStepChangesTheLabelsOfAnObjectThatExists(t *testing.T) {
	for _, resource := range []string{"services", "poddisruptionbudgets", "networkpolicies", "certificates"} {
		c := creations[resource]
		a, v := labelledBeside(t)
		if err := c.create(t.Context(), a, v); err != nil {
			t.Fatal(err)
		}
		ask(v, map[string]v1beta2.LabelValue{"refused": "1"}, nil)
		v.Spec.TLS.CertManager.ExtraNames, v.CertificateDomains = []string{"etcd.example.com"}, []string{"example.com"}
		if err := c.create(t.Context(), a, v); err != nil {
			t.Fatal(err)
		}
		for _, object := range listed(t, a, c.list) {
			labels := object.GetLabels()
			if _, is := labels["refused"]; is || labels["cost-center"] != "42" || object.GetAnnotations()["example.com/owner"] != "team a" {
				t.Errorf("%s %s has the labels %v and the annotations %v", c.kind, object.GetName(), labels, object.GetAnnotations())
			}
			if resource == "certificates" {
				if labels, _ := templateOf(t, object); labels["cost-center"] != "42" {
					t.Errorf("the Secret of %s has the labels %v", object.GetName(), labels)
				}
			}
		}
	}
}

func TestNoObjectOfOthersIsLabelled(t *testing.T) {
	blank := map[string]client.Object{"Service": &corev1.Service{}, "Secret": &corev1.Secret{}, "Certificate": secrets.BlankCertificate()}
	for kind, object := range blank {
		object.SetNamespace("ns")
		object.SetName("example")
		a, v := labelledBeside(t)
		if err := a.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := a.Act(t.Context(), v, steps.ApplyMetadata{Kind: kind, Name: "example"}); err == nil || !strings.Contains(err.Error(), view.ErrForeign.Error()) {
			t.Errorf("%s: %v", kind, err)
		}
		if err := a.Act(t.Context(), v, steps.ApplyMetadata{Kind: kind, Name: "deleted"}); err != nil {
			t.Errorf("%s that was deleted: %v", kind, err)
		}
	}
}
