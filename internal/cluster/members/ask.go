package members

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// askPatiently asks a member. If it could not check the operator's password in that time, it gets more time for that and is
// asked again. hung: it did not answer in time.
func (r *Questions) askPatiently(ctx context.Context, cluster metav1.ObjectMeta, to target) (a Answer, hung bool) {
	a, hung = r.askInTime(ctx, cluster, to)
	late := errors.Is(a.Err, etcd.ErrLoginTimeout) || errors.Is(a.serving, etcd.ErrLoginTimeout)
	if !late || !to.ready || login(ctx, to) != nil {
		return a, hung
	}
	return r.askInTime(ctx, cluster, to)
}

func (r *Questions) askInTime(ctx context.Context, cluster metav1.ObjectMeta, to target) (Answer, bool) {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	a := r.ask(ctx, cluster, to)
	return a, errors.Is(ctx.Err(), context.DeadlineExceeded)
}

func login(ctx context.Context, to target) error {
	ctx, cancel := context.WithTimeout(ctx, passwordTimeout)
	defer cancel()
	connection, err := to.dial()
	if err != nil {
		return err
	}
	defer connection.Close()
	return connection.Login(ctx)
}

// Answer is what one member said.
type Answer struct {
	status  etcd.Status
	Err     error
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

// ask asks one member for its status, a linearizable read and, when that went well, the membership.
func (r *Questions) ask(ctx context.Context, cluster metav1.ObjectMeta, to target) (a Answer) {
	connection, err := to.dial()
	if err != nil {
		return Answer{Err: err}
	}
	defer connection.Close()
	r.Metrics.Polled(cluster.Namespace, cluster.Name)
	metrics := r.readStatus(ctx, connection, to.host, &a)
	if a.refusal = etcd.RefusalOf(a.Err); a.refusal != etcd.NotRefused {
		a.guarded = servesOthers(ctx, connection)
	}
	if a.guarded {
		return a
	}
	if a.Err != nil {
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
	ctx, cancel := context.WithTimeout(ctx, AskTimeout/2)
	defer cancel()
	return etcd.RefusalOf(connection.Serving(ctx)) != etcd.NotRefused
}

// applied asks a member's metrics: one that was started without a quorum serves nothing else. 0 when it does not answer.
func (r *Questions) applied(ctx context.Context, host string) (etcd.ID, uint64) {
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
func (r *Questions) readStatus(ctx context.Context, connection Etcd, host string, a *Answer) (metrics func() (etcd.ID, uint64)) {
	var id etcd.ID
	var index uint64
	read := make(chan struct{})
	late := time.AfterFunc(AskTimeout/2, panics.Caught(func() {
		defer close(read)
		id, index = r.applied(ctx, host)
	}, func(error) {})) // they are not known
	a.status, a.Err = connection.Status(ctx)
	if late.Stop() {
		return func() (etcd.ID, uint64) { return r.applied(ctx, host) }
	}
	return func() (etcd.ID, uint64) { <-read; return id, index }
}
