package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// Etcd is one member, as far as this operator talks to it. *etcd.Client is one.
type Etcd interface {
	Status(ctx context.Context) (etcd.Status, error)
	Serving(ctx context.Context) error
	Members(ctx context.Context) ([]etcd.Member, error)
	MembersKnown(ctx context.Context) ([]etcd.Member, error)
	AddLearner(ctx context.Context, peerURL string) error
	AddVoter(ctx context.Context, peerURL string) error
	Promote(ctx context.Context, id etcd.ID) error
	Remove(ctx context.Context, id etcd.ID) error
	MoveLeader(ctx context.Context, to etcd.ID) error
	EnableDowngrade(ctx context.Context, target string) error
	CancelDowngrade(ctx context.Context) error
	Compact(ctx context.Context, revision int64) error
	Defragment(ctx context.Context) error
	Disarm(ctx context.Context, alarm etcd.Alarm) error
	Fence(ctx context.Context, id etcd.ID) (revision int64, err error)
	Unfence(ctx context.Context, id etcd.ID) error
	Login(ctx context.Context) error
	HashKV(ctx context.Context, revision int64) (hash uint32, compactRevision int64, err error)
	Close()
}

// Dial opens a connection to one member.
type Dial func(endpoint etcd.Endpoint, config *tls.Config) (Etcd, error)

// askTimeout bounds what one member may take to answer, so that one that hangs is known as such and holds up nobody.
const askTimeout = 2 * time.Second

// answer is what one member said.
type answer struct {
	status  etcd.Status
	err     error
	serving error
	// guarded: it refused all for lack of permission, and the read only after a quorum had confirmed it.
	guarded bool
	// refusal is why it refused something.
	refusal    etcd.Refusal
	membership []etcd.Member
	// knows is the membership that the member has applied, if it has no leader. No quorum confirms it.
	knows []etcd.Member
	// applied is the index of the last entry that a member has applied which answers nobody but by its metrics.
	applied uint64
	// appliedBy is the ID of the member in these metrics; 0 if they lack it.
	appliedBy etcd.ID
}

// observeEtcd asks every member with an address, side by side. It returns false if some have yet to answer.
func (r *Reconciler) observeEtcd(ctx context.Context, v *view) bool {
	answers, asked := make([]answer, len(v.Members)), map[int]*question{}
	v.awaited = v.known.awaited()
	for i, m := range v.Members {
		if v.addresses[m.Name] == "" || (m.Pod != plan.PodRunning && !m.Released()) {
			answers[i].err = errNoAddress
			continue
		}
		asked[i] = r.questionFor(v, m.Name)
	}
	if questions := slices.Collect(maps.Values(asked)); !r.await(ctx, questions, v.patience) {
		r.leave(v, questions)
		return false
	}
	for i, q := range asked {
		answers[i], q.used = q.answer, true
	}
	v.known.keepAsked(asked)
	v.identify(answers)
	for i := range v.Members {
		hear(&v.Members[i], answers[i])
	}
	if membership := v.membership(answers); membership != nil {
		v.Enroll(membership)
	}
	v.HearWitness()
	r.silence.saw(client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, v.Members, v.Now)
	r.observeHashes(ctx, v)
	return true
}

// ask asks one member for its status, a linearizable read and, when that went well, the membership.
func (r *Reconciler) ask(ctx context.Context, cluster metav1.ObjectMeta, to target) (a answer) {
	connection, err := to.dial()
	if err != nil {
		return answer{err: err}
	}
	defer connection.Close()
	r.metrics.polled(cluster.Namespace, cluster.Name)
	metrics := r.readStatus(ctx, connection, to.host, &a)
	if a.refusal = etcd.RefusalOf(a.err); a.refusal != etcd.NotRefused {
		a.guarded = servesOthers(ctx, connection)
	}
	if a.guarded {
		return a
	}
	if a.err != nil {
		a.appliedBy, a.applied = metrics()
		return a
	}
	if a.status.Learner {
		return a
	}
	if a.status.LeaderID == 0 {
		a.knows, _ = connection.MembersKnown(ctx) // first: the next call takes the rest of the time
	}
	a.serving = connection.Serving(ctx)
	a.refusal = etcd.RefusalOf(a.serving)
	if a.serving != nil && !errors.Is(a.serving, etcd.ErrCorrupt) && a.refusal == etcd.NotRefused {
		return a
	}
	a.membership, a.serving = connection.Members(ctx) // a quorum answers that, whatever alarm is on and whoever may read
	return a
}

// servesOthers says whether a member that refuses the operator has a quorum behind it. It leaves time to read the metrics of one
// that has none.
func servesOthers(ctx context.Context, connection Etcd) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout/2)
	defer cancel()
	return etcd.RefusalOf(connection.Serving(ctx)) != etcd.NotRefused
}

// applied asks a member's metrics: one that was started without a quorum serves nothing else. 0 when it does not answer.
func (r *Reconciler) applied(ctx context.Context, host string) (etcd.ID, uint64) {
	if r.Applied == nil {
		return 0, 0
	}
	id, index, err := r.Applied(ctx, net.JoinHostPort(host, strconv.Itoa(int(v1beta2.MetricsPort))))
	if err != nil {
		return 0, 0 // it is as silent as it was
	}
	return id, index
}

// readStatus asks a member for its status. It returns what reads the member's metrics instead. A member that was started without a quorum
// accepts connections but answers no request, so its status takes all of the time. Its metrics are then read after half of the time.
func (r *Reconciler) readStatus(ctx context.Context, connection Etcd, host string, a *answer) (metrics func() (etcd.ID, uint64)) {
	var id etcd.ID
	var index uint64
	read := make(chan struct{})
	late := time.AfterFunc(askTimeout/2, panics.Caught(func() {
		defer close(read)
		id, index = r.applied(ctx, host)
	}, func(error) {})) // they are not known
	a.status, a.err = connection.Status(ctx)
	if late.Stop() {
		return func() (etcd.ID, uint64) { return r.applied(ctx, host) }
	}
	return func() (etcd.ID, uint64) { <-read; return id, index }
}

// dial reaches a member.
func (r *Reconciler) dial(v *view, member string) (Etcd, error) { return r.reach(v, member).dial() }

func hear(m *plan.Member, a answer) {
	m.Refusal = a.refusal
	if a.err != nil {
		if m.Pod == plan.PodRunning {
			m.Unanswered = etcd.Cause(a.err)
		}
		m.RaftIndex, m.Guarded = a.applied, a.guarded
		return
	}
	m.Answers = true
	if m.Released() {
		m.Pod = plan.PodRunning // its kubelet reports that up to a second later
	}
	m.ID, m.ClusterID = a.status.MemberID, a.status.ClusterID
	m.Learner, m.Leader = a.status.Learner, a.status.Leader()
	m.Version, m.DBSize, m.Revision = a.status.Version, a.status.DBSize, a.status.Revision
	m.RaftIndex, m.RaftTerm, m.Knows = a.status.RaftIndex, a.status.RaftTerm, a.knows
	m.DBSizeInUse, m.DBQuota, m.Alarms = a.status.DBSizeInUse, a.status.DBQuota, a.status.Alarms()
	m.StorageVersion, m.Downgrade, m.AppliedIndex = a.status.StorageVersion, a.status.Downgrade, int64(a.status.AppliedIndex)
	m.Serving = a.serving == nil && !a.status.Learner
	if a.serving != nil {
		m.Unanswered = "it cannot reach a quorum"
		if etcd.RefusalOf(a.serving) != etcd.NotRefused {
			m.Unanswered = etcd.Cause(a.serving)
		}
	}
}

// membership is what a member of the current incarnation, behind which a quorum stands, said of it.
func (v *view) membership(answers []answer) []etcd.Member {
	incarnation := max(v.Incarnation, plan.FirstIncarnation)
	for i, a := range answers {
		if v.Members[i].Incarnation == incarnation && len(a.membership) > 0 {
			return a.membership
		}
	}
	return nil
}
