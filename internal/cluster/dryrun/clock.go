package dryrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// clockKept is how long a comparison with the clock of the API server is used.
const clockKept = 5 * time.Minute

// ErrKept is for a volume whose time is not over by the clock of the API server.
var ErrKept = errors.New("the operator does not delete it")

// serverClock is how far the clock of the API server is ahead of the operator's, when that was read, and why it could not be read.
type serverClock struct {
	ahead time.Duration
	// at has no reading of the monotonic clock, which does not show that the clock was set. read has one.
	at, read time.Time
	problem  string
}

// holds reports whether a comparison still holds: it is not old, and the operator's clock was not set since.
func (c serverClock) holds(now time.Time) bool {
	age := now.Round(0).Sub(c.at)
	set := age - now.Sub(c.read)
	return !c.at.IsZero() && age >= 0 && age < clockKept && set < time.Second && set > -time.Second
}

// Times compare the clock of the operator with that of the API server.
type Times struct {
	*view.KubeAPI
	// Server is the clock of the API server; nil if its answers are not read.
	Server *clock.Server
	Memory view.Memory[serverClock]
}

// ServerTime returns the time of the API server. The answers of the API server have it. Where they are not read, it creates a
// PodDisruptionBudget in a dry run: the API server answers with the time of creation. problem is why it refuses to.
func (t *Times) ServerTime(ctx context.Context, v *view.View) (now time.Time, problem string, err error) {
	now = v.Now.Round(0)
	if ahead, known := t.Server.Ahead(v.Now); known {
		return now.Add(ahead), "", nil
	}
	last := t.Memory.OfView(v)
	if !last.holds(v.Now) {
		budget := objects.DisruptionBudget(v.State, steps.ApplyBudget{Incarnation: v.Incarnation, MinAvailable: 1})
		budget.Name = v.Name + rehearsalName
		given, _ := services.MetadataFor(v.State, "PodDisruptionBudget", v.Name)
		given.Stamp(budget)
		answer := t.Client.Create(ctx, budget, client.DryRunAll)
		said, err := refusedBy(answer)
		if err != nil {
			return time.Time{}, "", view.Wrap("create in a dry run", budget, err)
		}
		created := budget.CreationTimestamp.Time
		switch {
		case said != "":
		case answer != nil: // a quota, or a webhook that cannot take part in a dry run
			said = planning.Shorten(answer.Error(), MaxQuote)
		case created.IsZero():
			said = "its answer to a dry run has no time"
		}
		*last = serverClock{ahead: created.Sub(now), at: now, read: v.Now, problem: said}
	}
	return now.Add(last.ahead), last.problem, nil
}

// ObserveClock reads how far the clock of the API server is ahead, if that is known without another request, and corrects stored times.
func (t *Times) ObserveClock(v *view.View) {
	ahead, known := t.Server.Ahead(v.Now)
	if last := t.Memory.OfView(v); !known && last.problem == "" && last.holds(v.Now) {
		ahead = last.ahead
	}
	certificates.NoteClock(&v.State, ahead)
}

// ConfirmClock fails if a step cannot be undone, and was planned without the knowledge that the operator's clock differs from that of the
// API server. The next pass plans with it. If the clocks cannot be compared, the step is taken: repairs must not wait for that.
func (t *Times) ConfirmClock(ctx context.Context, v *view.View, step steps.Step) error {
	if !certificates.AsksClock(v.State, step) || v.ServerAhead != 0 {
		return nil
	}
	now, problem, err := t.ServerTime(ctx, v)
	if err != nil {
		return err
	}
	if problem == "" && clock.Differ(now.Sub(v.Now.Round(0))) {
		return fmt.Errorf("the clock of the API server differs from that of the operator: %w", view.ErrBehind)
	}
	return nil
}

// ConfirmOver fails if the time of a volume that was set aside is not over by the clock of the API server. If the operator's clock is
// wrong by a day, it would delete the only copy of the data from before a restore.
func (t *Times) ConfirmOver(ctx context.Context, v *view.View, name string) error {
	until, is := volumes.KeptUntil(v.State, name)
	if !is {
		return nil
	}
	now, problem, err := t.ServerTime(ctx, v)
	if err != nil {
		return err
	}
	const what = "PersistentVolumeClaim %s has the data from before a restore or recovery: "
	switch {
	case problem != "":
		return fmt.Errorf(what+"%w, because it cannot compare its clock with that of the API server: %s", name, ErrKept, problem)
	case volumes.StillKept(v.State, name, now):
		return fmt.Errorf(what+"%w before %s by the clock of the API server, which is behind the operator's. Correct the clock that is wrong",
			name, ErrKept, until.UTC().Format(time.RFC3339))
	}
	return nil
}
