package switchover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// most is how many switchovers an archive may have. Each is asked for by a person.
const most = 10_000

// named returns the IDs of all switchovers that have an object with one of these names, newest first.
func named(ctx context.Context, store objstore.Store, root string, names ...string) (ids []ID, err error) {
	for object, err := range store.List(objstore.Unheld(ctx), root+folder) {
		if err != nil {
			return nil, fmt.Errorf("list the switchovers: %w", err)
		}
		id, name, _ := strings.Cut(strings.TrimPrefix(object.Key, root+folder), ".")
		if valid.MatchString(id) && slices.Contains(names, "."+name) {
			ids = append(ids, ID(id))
		}
		if len(ids) > most {
			return nil, fmt.Errorf("%w: %s has more than %d switchovers", archive.ErrCorrupt, root+folder, most)
		}
	}
	slices.Reverse(ids)
	return slices.Compact(ids), nil
}

// Settle decides about each switchover of an archive but one: those without a decision are called off. It returns the decision by which a standby became
// the cluster in place of the cluster with that ID, and the end that was claimed. handed is false if there is none.
//
// The source calls it before it ends the archive or takes writes. Otherwise, a standby could claim an end that the source has forgotten.
func Settle(ctx context.Context, store objstore.Store, root string, but ID, clusterID string, now time.Time) (e End, d Decision, handed bool, err error) {
	ids, err := named(ctx, store, root, beginName, endName)
	if err != nil {
		return e, d, false, err
	}
	for _, id := range ids {
		if id == but {
			continue
		}
		decision, decided, err := ReadDecision(ctx, store, root, id)
		if err == nil && !decided {
			decision, err = Decide(ctx, store, root, Decision{ID: id, At: now})
		}
		if err != nil {
			return e, d, false, err
		}
		if decision.Off() || handed {
			continue
		}
		end, found, err := ReadEnd(ctx, store, root, id)
		if err != nil {
			return e, d, false, err
		}
		if found && end.ClusterID == clusterID {
			e, d, handed = end, decision, true
		}
	}
	return e, d, handed, nil
}

// Standby is a standby that may claim an end.
type Standby struct {
	// Name is its EtcdRestore, as "<namespace>/<name>". Holder differs from that of any other standby, and is the same in each of its processes.
	Name, Holder string
	// Timeline and Revision are what it has. Start is the SHA-256 of the start of the timeline, and empty if it is not known.
	Timeline archive.Timeline
	Start    string
	Revision int64
	// Auth is the state of authentication in its database.
	Auth auth.State
}

// follows reports whether a standby has followed the source of an end, and is not ahead of it.
func (s Standby) follows(e End) bool {
	same := s.Start == "" || e.Start == "" || s.Start == e.Start
	return same && s.Timeline == e.Timeline && s.Revision <= e.Revision
}

// UsersError means that users, roles or authentication of the source have changed since the snapshot that a standby began with. An archive does not have these changes,
// but a newer snapshot has them.
type UsersError struct{ Source auth.State }

func (e *UsersError) Error() string {
	return "users, roles or authentication of the source have changed since the snapshot of the standby: it waits for a newer snapshot"
}

// Outlook is what a standby can expect of its source.
type Outlook struct {
	// End is the one that the standby may claim; nil if there is none.
	End *End
	// Near means that a switchover has begun, and that there is no decision about it: its end may come within seconds.
	Near bool
}

// Claimable returns the end of a source that a standby may claim when it has exactly all up to it, and which was not called off. The error says so if another standby has
// claimed it, and is a *UsersError if the standby has other users.
func Claimable(ctx context.Context, store objstore.Store, root string, s Standby) (o Outlook, err error) {
	ids, err := named(ctx, store, root, beginName, endName)
	if err != nil {
		return o, err
	}
	for _, id := range ids {
		d, decided, err := ReadDecision(ctx, store, root, id)
		if err != nil {
			return o, err
		}
		if decided && d.Off() {
			continue
		}
		end, has, err := ReadEnd(ctx, store, root, id)
		o.Near = o.Near || !decided
		switch {
		case err != nil:
			return o, err
		case !has || !s.follows(end):
			continue
		case decided && d.Holder != s.Holder:
			return o, fmt.Errorf("the source has handed its clients over to EtcdRestore %s. To promote this standby, too, set follow.promote to Now", d.Promoted)
		case s.Auth.Compare(end.Auth()) < 0: // later ones are of a snapshot that was taken since, so they are those of the source, too
			return o, &UsersError{end.Auth()}
		}
		o.End = &end
		return o, nil
	}
	return o, nil
}

// Claim decides that a standby becomes the cluster. ok is false if it does not.
func Claim(ctx context.Context, store objstore.Store, root string, s Standby, now time.Time) (d Decision, ok bool, err error) {
	o, err := Claimable(ctx, store, root, s)
	if err != nil || o.End == nil || o.End.Revision != s.Revision {
		return d, false, err
	}
	e := *o.End
	d, err = Decide(ctx, store, root, Decision{ID: e.ID, Promoted: s.Name, Holder: s.Holder, Revision: e.Revision, At: now})
	if err != nil {
		return d, false, &UndecidedError{err}
	}
	if d.Holder != s.Holder {
		return d, false, nil
	}
	// The EtcdBackup may have been deleted since, with the decision that had called the switchover off. It deletes the end first.
	if _, found, err := ReadEnd(ctx, store, root, e.ID); err != nil || !found {
		return d, false, err
	}
	return d, true, nil
}

// UndecidedError means that the store does not take the decision of a standby.
type UndecidedError struct{ Err error }

func (e *UndecidedError) Error() string { return e.Err.Error() }
func (e *UndecidedError) Unwrap() error { return e.Err }

// Purge deletes the switchovers of one writer that were called off, and calls those off that have no decision. It keeps each decision: without it, an end that arrives
// late could be claimed, and the next EtcdBackup would let a source take writes that was handed over.
func Purge(ctx context.Context, store objstore.Store, root, writer string, now time.Time) error {
	for object, err := range store.List(objstore.Unheld(ctx), root+folder) {
		if err != nil {
			return fmt.Errorf("delete the switchovers: %w", err)
		}
		id, name, _ := strings.Cut(strings.TrimPrefix(object.Key, root+folder), ".")
		if !valid.MatchString(id) || !strings.Contains(id, suffix(writer)+"-") || "."+name == decisionName {
			continue
		}
		d, err := Decide(ctx, store, root, Decision{ID: ID(id), At: now})
		if err == nil && d.Off() {
			err = store.Delete(ctx, object.Key)
		}
		if err != nil {
			return fmt.Errorf("delete the switchovers: %w", err)
		}
	}
	return nil
}
