package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
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
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Name of the operator: of its controller, its field manager and its leader election.
const Name = "cluster-operator"

// Concurrency is the default of Options.MaxConcurrent. A look mostly waits for members, so the number is larger than that of
// processors: clusters that hang hold up few others.
const Concurrency = 32

// passTimeout bounds one pass; each call in it has a shorter limit of its own.
const passTimeout = 30 * time.Second

// Reconciler brings EtcdClusters to what their specs ask, one step in each pass.
type Reconciler struct {
	Client client.Client
	// APIReader reads past the cache what is read seldom.
	APIReader client.Reader
	Events    events.EventRecorder
	Dial      Dial
	// Shown sees the certificate that a server shows.
	Shown func(ctx context.Context, address string) (*x509.Certificate, error)
	// Applied reads from a member's metrics its ID and the index of the last entry that it has applied; nil does not.
	Applied func(ctx context.Context, address string) (etcd.ID, uint64, error)
	Now     func() time.Time
	// SeedPercent asks how far a seed is; nil asks nobody.
	SeedPercent SeedPercent
	// SeedImage is the image of restore-operator, which restores the first member of a restored cluster.
	SeedImage string
	metrics   *metrics
	refusals  refusals
	// lists limits the passes that list objects of a tenant past the cache; nil does not.
	lists *turns.Gate
	// explaining limits the passes that read events; nil does not.
	explaining *turns.Gate
	// indexed: the cache of Client has the indexes of addIndexes.
	indexed bool
	memory  memory
	silence silence
	// rereads limits how often Secrets are read again that need not have changed. If it is nil, every pass reads them.
	rereads *rate.Limiter
	// foresight limits the dry runs of Pods before they are needed. If it is nil, there are none.
	foresight *foresight
	// wake starts passes for clusters whose members answered late. If it is nil, passes wait for all answers.
	wake chan event.GenericEvent
	// health is checked between full looks. If it is nil, all looks are full.
	health *healthChecks
	zones  zones
	brake  *brake
	// shard is the part of the EtcdClusters that this operator manages.
	shard string
	// server is the clock of the API server; nil if its answers are not read.
	server *clock.Server
	// defaultClass is shared by all EtcdClusters.
	defaultClass defaultClass
	// defects of etcd that the administrator has added to the known ones.
	defects []etcdversion.Defect
	// issuers of cert-manager that the administrator allows beside the Issuers of each namespace.
	issuers            []plan.AllowedIssuer
	certificateDomains []string
	// networkPeers are what each NetworkPolicy allows; nil if the operator does not manage NetworkPolicies.
	networkPeers *networkPeers
	// image of etcd for the EtcdClusters that do not choose one.
	image etcdImage
}

// New makes a Reconciler, for those who run it themselves. reader reads past the cache of c.
func New(c client.Client, reader client.Reader, recorder events.EventRecorder, options Options) (*Reconciler, error) {
	m, err := newMetrics(options.Metrics)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		Client:      countedClient{Client: c, writes: m.writes},
		APIReader:   reader,
		Events:      recorder,
		Dial:        options.Dial,
		Shown:       etcd.Shown,
		Now:         time.Now,
		SeedPercent: options.SeedPercent,
		SeedImage:   options.SeedImage,
		metrics:     m,
		lists:       newLists(),
		explaining:  newExplaining(),
		brake:       newBrake(cmp.Or(options.MaxReplacements, Replacements), cmp.Or(options.ReplacementsPerMinute, ReplacementsPerMinute)),
		shard:       options.Shard,
		server:      options.Server,
		image:       etcdImage{repository: options.EtcdRepository, pullSecrets: options.EtcdPullSecrets},
	}
	// Setup logs the entries that are not valid: they must not stop the operator.
	r.defects, _ = etcdversion.ParseDefects(options.Defects)
	r.issuers, _ = plan.ParseIssuers(options.Issuers)
	r.certificateDomains = options.CertificateDomains
	r.networkPeers, _ = parseNetworkPeers(options.NetworkPeers)
	if r.SeedPercent == nil {
		r.SeedPercent = askSeed
	}
	if r.Dial == nil {
		r.Applied = etcd.Applied
		r.Dial = func(endpoint etcd.Endpoint, config *tls.Config) (Etcd, error) {
			return etcd.OpenBriefly(endpoint, config)
		}
	}
	return r, nil
}

// Setup registers the controller with mgr.
func Setup(mgr manager.Manager, options Options) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(Name), options)
	if err != nil {
		return err
	}
	if err := addIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	logInvalid(mgr.GetLogger(), options)
	r.indexed, r.wake = true, make(chan event.GenericEvent, 1024)
	r.rereads, r.foresight = newRereads(), newForesight()
	if options.Dial == nil {
		r.health = newHealthChecks(etcd.Healthy, r.wakeUp)
		if err := mgr.Add(manager.RunnableFunc(r.health.run)); err != nil {
			return fmt.Errorf("add the health checks: %w", err)
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta2.EtcdCluster{}, builder.WithPredicates(begunBefore(), predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&v1beta2.EtcdCluster{}, enqueueUnbegun()).
		Owns(&corev1.Pod{}).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(clusterByLabel)).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1beta2.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WatchesRawSource(source.Channel(r.wake, &handler.EnqueueRequestForObject{})).
		WithOptions(kube.Controller(cmp.Or(options.MaxConcurrent, Concurrency)))
	if r.networkPeers != nil { // otherwise the operator may have no right to watch them
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

// Reconcile does one pass: observe, plan, act, report.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	r.health.pause(request.NamespacedName)
	var cluster v1beta2.EtcdCluster
	if err := r.Client.Get(ctx, request.NamespacedName, &cluster); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if pause := r.memory.of(request.NamespacedName, cluster.UID).untilSeen(&cluster, r.Now()); pause > 0 {
		return ctrl.Result{RequeueAfter: pause}, nil
	}
	v, err := r.observe(ctx, &cluster)
	if err != nil {
		return ctrl.Result{}, r.reportUnread(ctx, &cluster, fmt.Errorf("observe EtcdCluster %s: %w", request, err))
	}
	if v.pending {
		return r.endPending(ctx, v)
	}
	r.metrics.saw(v.State, cluster.Status)
	step, actErr := r.planAndAct(ctx, v)
	v.doubt(step, cmp.Or(actErr, v.obstructed))
	if v.Whole() {
		r.brake.end(request.NamespacedName)
	}
	if errors.Is(actErr, errRemembered) {
		return r.endRemembered(ctx, v)
	}
	v.known.unanswered = behind{}
	if errors.Is(actErr, errBehind) {
		return r.foundBehind(ctx, v, actErr)
	}
	step, actErr = v.withoutRefusals(step, actErr)
	v.known.waiting.Saw(plan.Waits(v.State, step), v.Now)
	v.known.failing.saw(v.failure(step, actErr), v.Now)
	changed, err := r.report(ctx, v, step, actErr)
	if apierrors.IsConflict(err) && actErr == nil {
		// What was done stands, and the next pass sees it.
		return r.foundBehind(ctx, v, fmt.Errorf("EtcdCluster %s was changed: %w", v.Name, errBehind))
	}
	v.known.behind = behind{}
	if err != nil || actErr != nil {
		return ctrl.Result{}, errors.Join(v.skipped, actErr, err)
	}
	if v.skipped != nil && !plan.Acts(step) {
		return ctrl.Result{}, v.skipped
	}
	r.rehearseAhead(ctx, v, step)
	acted, requeue := plan.Acts(step), plan.Describe(v.State, step).Requeue
	nearer := v.known.nearer(requeue)
	waited := v.known.waited(acted || changed || nearer, v.Now)
	return again(r.nextLook(v, step, v.known.repeated(step, requeue)), acted, v.ClusterID != "", waited), nil
}

// forget drops what is kept of an EtcdCluster that does not exist any more.
func (r *Reconciler) forget(cluster client.ObjectKey) {
	r.metrics.forget(cluster)
	r.memory.forget(cluster)
	r.silence.forget(cluster)
	r.brake.end(cluster)
	r.health.forget(cluster)
}

// withoutRefusals makes a wait of a step that was refused, and that no other rule took the place of.
func (v *view) withoutRefusals(step plan.Step, actErr error) (plan.Step, error) {
	step, actErr = v.inEndingNamespace(step, actErr)
	if wait, is := v.waitInstead(step, actErr); is {
		step, actErr = v.Bounded(wait), nil
	}
	if refusal := etcd.RefusalOf(actErr); refusal != etcd.NotRefused {
		step, actErr = v.RefusedByEtcd(refusal), nil
	}
	if why, is := v.refusesSeed(step, actErr); is {
		step, actErr = v.RefuseSeed(why, rehearseAgain), nil
	}
	if v.skipped == nil && actErr == nil && plan.Acts(step) && kube.Refused(v.obstructed) {
		v.skipped = v.obstructed // the step is of a later rule, so nothing else reports it
	}
	if wait, is := refusedStep(v.skipped); is && actErr == nil {
		if !plan.Acts(step) {
			step = wait
		}
		v.skipped = nil
	}
	return step, actErr
}

// report writes the status, if it changed, and then says in an event what was done. Where the cache was behind the error
// is a conflict, and nothing is written but what nothing else tells. It returns whether the status changed.
func (r *Reconciler) report(ctx context.Context, v *view, step plan.Step, actErr error) (changed bool, err error) {
	after := v.cluster.DeepCopy()
	after.Status = plan.NewStatus(v.State, step, actErr, v.cluster.Status, v.cluster.Generation)
	if refused := v.refusals(); refused != nil {
		plan.NoteRefused(&after.Status, refusalText(refused), v.reasonOf(refused), v.cluster.Generation, v.Now)
	}
	if v.known != nil && v.known.failing.tooLong(v.Now) {
		plan.NoteStalled(&after.Status, v.known.failing.since, v.cluster.Generation, v.Now)
	}
	plan.KeepTransitions(&after.Status, v.cluster.Status)
	r.metrics.reported(v.State, after.Status)
	if v.saysLater(step, actErr) {
		kube.PublishEvents(r.Events, after, plan.Events(v.State, step, nil, false))
		return false, nil
	}
	changed, err = kube.PatchStatus(ctx, r.Client, v.cluster, after)
	if changed && v.known != nil {
		v.known.reported = v.Now
	}
	if changed && actErr == nil && v.skipped == nil {
		r.noteStatus(v, after)
	}
	if apierrors.IsConflict(err) && actErr == nil {
		return false, cmp.Or(r.remember(ctx, v, step), err)
	}
	if err != nil {
		kube.ReportRefusedStatus(r.Events, v.cluster, err)
		return false, err
	}
	kube.PublishEvents(r.Events, after, plan.Events(v.State, step, actErr, changed))
	if refused := v.refusals(); refused != nil {
		kube.PublishEvents(r.Events, after, plan.RefusalEvents(v.reasonOf(refused), refusalText(refused), changed))
	}
	return changed, nil
}

// remember writes into the newest status what was done and can be seen nowhere else.
func (r *Reconciler) remember(ctx context.Context, v *view, step plan.Step) error {
	switch step.(type) {
	case plan.CompactHistory, plan.DefragmentMember, plan.RemoveMember:
	default:
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var newest v1beta2.EtcdCluster
		if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(v.cluster), &newest); err != nil {
			return client.IgnoreNotFound(err)
		}
		after := newest.DeepCopy()
		plan.RecordSpace(&after.Status, v.State, step)
		plan.RecordRemoval(&after.Status, step)
		if _, err := kube.PatchStatus(ctx, r.Client, &newest, after); err != nil {
			return err
		}
		r.noteStatus(v, after)
		kube.PublishEvents(r.Events, after, plan.Events(v.State, step, nil, true))
		return nil
	})
}
