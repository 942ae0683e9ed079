package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// view is what observe saw: the State to decide on, and what act needs to reach the world with.
type view struct {
	plan.State
	cluster *v1beta2.EtcdCluster
	// addresses of members' Pods by member name; a member without one cannot be asked.
	addresses map[string]string
	// required are Secrets that Pods of earlier seeds cannot start without, by member name.
	required map[string]string
	// classes are the StorageClasses of members' volumes by member name.
	classes  map[string]string
	tls      *tls.Config
	logins   *logins
	material plan.Material
	// known is what earlier passes remembered.
	known *remembered
	// pending: members have yet to answer, and nothing can be decided.
	pending bool
	// remembered: the State has what a member that hangs answered to an earlier pass.
	remembered bool
	// patience is how long the pass waits for all members, because it came too late to use the answers that an earlier pass had asked
	// for. Otherwise each pass could ask again and end before the answers arrive. 0 for a pass that came in time.
	patience time.Duration
	// awaited: when the pass began, a member had yet to answer an earlier pass, or just had.
	awaited bool
	// skipped is the first refusal of an object that the rest of the plan did not depend on.
	skipped error
	// obstructed is the first error of a step that a wait took the place of in this pass.
	obstructed error
}

// observe reads Kubernetes and etcd. It decides nothing: an etcd that does not answer is data in the State. Only
// the Kubernetes API failing is an error.
func (r *Reconciler) observe(ctx context.Context, cluster *v1beta2.EtcdCluster) (*view, error) {
	v := &view{State: plan.NewState(cluster), cluster: cluster, addresses: map[string]string{}, classes: map[string]string{}}
	v.MoreDefects, v.AllowedIssuers, v.CertificateDomains = r.defects, r.issuers, r.certificateDomains
	r.image.apply(&v.Spec)
	v.Now, v.ClusterDomain = r.Now(), clusterDomain()
	v.known = r.memory.of(client.ObjectKeyFromObject(cluster), cluster.UID)
	v.Waiting = v.known.waiting
	if v.Deleting {
		return v, nil
	}
	r.keep(v)
	r.observeClock(v)
	for _, read := range []func(context.Context, *view) error{
		r.observeServices, // first: the client Service tells whether the cluster has formed
		r.observeMembers,
		r.observeBudget, // it depends on where the members have their data
		r.observeNetworkPolicy,
		r.observeZones,
		r.observeSetAside,
		r.observeRestores,
		r.observeStorageClass,
		r.judge,
		r.observeAuth,
		r.observeExpansion, // after the members, whose volumes it is about
	} {
		if err := read(ctx, v); err != nil {
			return nil, err
		}
	}
	v.PodProblem = v.known.pod.problemOf(cluster.Generation)
	r.observePublished(ctx, v)
	if !r.observeEtcd(ctx, v) {
		v.pending = true
		return v, nil
	}
	r.observeRequired(ctx, v)
	r.observeShown(ctx, v)
	r.explain(ctx, v)
	v.LookBehindFences()
	v.CorrectTimes(&v.known.seen)
	v.CompareClientCheck()
	v.Replacements = r.brake.state(client.ObjectKeyFromObject(cluster), v.Now)
	v.Held = v.known.repeats.Held(cluster.Generation, v.Now)
	slices.SortFunc(v.Foreign, func(a, b plan.ForeignObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(v.Members, func(a, b plan.Member) int { return cmp.Compare(a.Name, b.Name) })
	return v, nil
}

func (r *Reconciler) observeServices(ctx context.Context, v *view) error {
	headless, err := r.serviceNamed(ctx, v, v.Name)
	if err != nil {
		return err
	}
	forClients, err := r.serviceNamed(ctx, v, v.ClientService())
	if err != nil {
		return err
	}
	if headless == nil || forClients == nil {
		v.known.repeats.Forget(plan.ApplyServices{})
	}
	for _, service := range []*corev1.Service{headless, forClients} {
		v.Services.WithoutUID = v.Services.WithoutUID || (service != nil && service.Spec.Selector[v1beta2.LabelClusterUID] == "")
	}
	v.Services.HeadlessCurrent = headless != nil && sameService(headlessService(v.State), headless)
	if forClients == nil {
		return nil
	}
	v.Services.ClientExists = true
	v.Services.ClientIncarnation, v.Services.ClientClusterID = servedBy(forClients)
	v.Services.ClientRestoreUID = types.UID(forClients.Annotations[v1beta2.AnnotationRestoreUID])
	v.Services.ClientUnready = forClients.Annotations[v1beta2.AnnotationServesUnready] != ""
	want := clientService(v.State, plan.ApplyServices{
		Incarnation: v.Services.ClientIncarnation, ClusterID: v.Services.ClientClusterID, RestoreUID: v.Services.ClientRestoreUID,
		Unready: v.Services.ClientUnready,
	})
	v.Services.ClientCurrent, v.Services.TrafficDropped = sameService(want, forClients), droppedTraffic(want, forClients)
	v.RecogniseFormed()
	return nil
}

// serviceNamed reads a Service of this cluster; nil when there is none, or only one that belongs to something else.
func (r *Reconciler) serviceNamed(ctx context.Context, v *view, name string) (*corev1.Service, error) {
	var service corev1.Service
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &service)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Service %s: %w", name, err)
	}
	if !metav1.IsControlledBy(&service, v.cluster) {
		v.noteForeign("Service", &service)
		return nil, nil
	}
	return &service, nil
}

// sameService says whether all that is wanted is there; what others added is left alone.
func sameService(want, have *corev1.Service) bool {
	have = withoutNodePorts(have)
	if droppedTraffic(want, have) {
		want = want.DeepCopy()
		want.Spec.TrafficDistribution = nil
	}
	return equality.Semantic.DeepDerivative(want.Spec, have.Spec) && equality.Semantic.DeepEqual(want.Spec.Selector, have.Spec.Selector) &&
		equality.Semantic.DeepDerivative(want.Labels, have.Labels) && equality.Semantic.DeepDerivative(want.Annotations, have.Annotations) &&
		want.Annotations[annotationService] == have.Annotations[annotationService]
}

// droppedTraffic reports whether trafficDistribution was applied, and the API server dropped it: Kubernetes 1.30 does not have
// it.
func droppedTraffic(want, have *corev1.Service) bool {
	return have.Spec.TrafficDistribution == nil && want.Spec.TrafficDistribution != nil && have.Annotations[annotationService] == want.Annotations[annotationService]
}

func (r *Reconciler) observeRestores(ctx context.Context, v *view) error {
	found, err := r.listIndexed(ctx, v, &v1beta2.EtcdRestoreList{}, keyOfName(v.Name))
	if err != nil {
		return err
	}
	var restores []v1beta2.EtcdRestore
	for _, object := range found {
		if restore, ok := object.(*v1beta2.EtcdRestore); ok {
			restores = append(restores, *restore.DeepCopy())
		}
	}
	slices.SortFunc(restores, func(a, b v1beta2.EtcdRestore) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	v.ChooseRestore(restores)
	return nil
}

// checkSecret reads a Secret of the user and records what is missing.
func (r *Reconciler) checkSecret(ctx context.Context, v *view, name string, keys ...string) (map[string][]byte, error) {
	data, err := kube.SecretData(ctx, r.reads(v), v.Namespace, name)
	if err != nil {
		return nil, v.noteSecret(err)
	}
	for _, key := range keys {
		if len(data[key]) == 0 && v.SecretProblem == "" {
			v.SecretProblem = fmt.Sprintf("Secret %s has no key %s. It needs the keys %s.", name, key, strings.Join(keys, ", "))
		}
		if v.SecretProblem == "" && strings.HasSuffix(key, plan.CACertKey) {
			v.SecretProblem = plan.TooManyCAs(name, key, data[key])
		}
	}
	return data, nil
}

// noteSecret records a missing Secret in SecretProblem. It returns any other error.
func (v *view) noteSecret(err error) error {
	if !errors.Is(err, kube.ErrSecretMissing) {
		return err
	}
	if v.SecretProblem == "" {
		v.SecretProblem = planning.Sentence("The operator cannot read a TLS Secret: ", err.Error())
	}
	return nil
}
