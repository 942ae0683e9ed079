package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/metrics"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// Name of the operator: of its controller and its leader election.
const Name = view.Name

// New makes a Reconciler, for those who run it themselves. reader reads past the cache of c.
func New(c client.Client, reader client.Reader, recorder events.EventRecorder, options Options) (*Reconciler, error) {
	m, err := metrics.New(options.Metrics)
	if err != nil {
		return nil, err
	}
	p := parts{
		Client:       metrics.CountedClient{Client: c, Writes: m.Writes},
		APIReader:    kubecache.LiveReader{Reader: reader},
		Events:       recorder,
		Dial:         options.Dial,
		Applied:      options.Applied,
		Shown:        etcd.Shown,
		Now:          time.Now,
		SeedProgress: options.SeedProgress,
		SeedImage:    options.SeedImage,
		SeedEnv:      options.SeedEnv,
		metrics:      m,
		lists:        kubecache.NewListGate(),
		explaining:   observe.NewExplaining(),
		brake:        queue.NewBrake(cmp.Or(options.MaxReplacements, queue.Replacements), cmp.Or(options.ReplacementsPerMinute, queue.ReplacementsPerMinute)),
		shard:        options.Shard,
		server:       options.Server,
		image:        observe.EtcdImage{Repository: options.EtcdRepository, PullSecrets: options.EtcdPullSecrets},
	}
	// Setup logs the entries that are not valid: they must not stop the operator.
	p.defects, _ = etcdversion.ParseDefects(options.Defects)
	p.issuers, _ = certificates.ParseIssuers(options.Issuers)
	p.certificateDomains = options.CertificateDomains
	p.networkPeers, _ = objects.ParseNetworkPeers(options.NetworkPeers)
	if p.SeedProgress == nil {
		p.SeedProgress = observe.AskSeed
	}
	if p.Dial == nil {
		if p.Applied == nil {
			p.Applied = etcd.Applied
		}
		p.Dial = func(endpoint etcd.Endpoint, config *tls.Config) (members.Etcd, error) {
			return etcd.OpenBriefly(endpoint, config)
		}
	}
	return assemble(p), nil
}

// RegisterMetrics registers the metrics without a controller, for the reference.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := metrics.New(registry)
	return err
}

// Setup registers the controller with mgr.
func Setup(mgr manager.Manager, options Options) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(Name), options)
	if err != nil {
		return err
	}
	if err := kubecache.AddIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	logInvalid(mgr.GetLogger(), options)
	r.observer.Indexed, r.questions.Wake = true, make(chan event.GenericEvent, 1024)
	r.secrets.Rereads, r.rehearsals.Foresight = secrets.NewRereads(), dryrun.NewForesight()
	if options.Dial == nil {
		r.health = members.NewHealthChecks(etcd.Healthy, r.questions.WakeUp)
		if err := mgr.Add(manager.RunnableFunc(r.health.Run)); err != nil {
			return fmt.Errorf("add the health checks: %w", err)
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta2.EtcdCluster{}, builder.WithPredicates(queue.BegunBefore(), predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&v1beta2.EtcdCluster{}, queue.EnqueueUnbegun()).
		Owns(&corev1.Pod{}).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(clusterByLabel)).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1beta2.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WatchesRawSource(source.Channel(r.questions.Wake, &handler.EnqueueRequestForObject{})).
		WithOptions(kube.Controller(cmp.Or(options.MaxConcurrent, queue.Concurrency)))
	if r.observer.NetworkPeers != nil { // otherwise the operator may have no right to watch them
		b = b.Owns(&networkingv1.NetworkPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("register the EtcdCluster controller: %w", err)
	}
	return nil
}

// clusterOf names the EtcdCluster that an EtcdRestore is for.
func clusterOf(_ context.Context, object client.Object) []reconcile.Request {
	restore, ok := object.(*v1beta2.EtcdRestore)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: restore.Namespace, Name: restore.Spec.EtcdCluster.Name}}}
}

// clusterByLabel names the EtcdCluster that a volume belongs to, by its owner or, if it is to outlive that, by its label.
func clusterByLabel(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[v1beta2.LabelCluster]
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "EtcdCluster" {
		name = owner.Name
	}
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
}
