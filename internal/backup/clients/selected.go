package clients

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// Selectable is how many snapshots are kept for one EtcdRestore that has not chosen yet: the newest one that it admits, and those that it takes if that
// one cannot be used. It may be damaged, or taken without quorum, or hold writes from after the time.
const Selectable = 3

// Selection is what an EtcdRestore that has not chosen its snapshot yet admits: the newest snapshot up to a time or a revision.
type Selection struct {
	// Restore is the name of the EtcdRestore.
	Restore   string
	before    time.Time
	revision  int64
	clusterID string
	// Point means that the restore needs the continuous archive since that snapshot, too.
	Point bool
}

// Equal reports whether both admit the same for the same EtcdRestore.
func (s Selection) Equal(other Selection) bool {
	same := s.before.Equal(other.before)
	s.before, other.before = time.Time{}, time.Time{}
	return same && s == other
}

// SelectMore reports whether one of the selections is not among the known ones.
func SelectMore(selections, known []Selection) bool {
	byName := make(map[string]Selection, len(known))
	for _, s := range known {
		byName[s.Restore] = s
	}
	return slices.ContainsFunc(selections, func(s Selection) bool {
		before, is := byName[s.Restore]
		return !is || !s.Equal(before)
	})
}

// Selections returns what waiting EtcdRestores select from the folder of an EtcdBackup. The newest snapshot of all needs none, because it is always kept.
func (t *Clients) Selections(ctx context.Context, o state.JobSpec) ([]Selection, error) {
	restores, err := t.restores(ctx, o.Namespace)
	if err != nil {
		return nil, err
	}
	return t.selections(ctx, o, restores)
}

func (t *Clients) selections(ctx context.Context, o state.JobSpec, restores []v1beta2.EtcdRestore) ([]Selection, error) {
	var found []Selection
	for i := range restores {
		r := &restores[i]
		by := r.Spec.Select
		chosen := r.Status.Source != nil || r.Status.Prefixes != nil && r.Status.Prefixes.Source != nil
		if by == nil || chosen || by.Before == nil && by.Time == nil && by.Revision == 0 {
			continue
		}
		here, err := t.selectsFrom(ctx, o, r.Spec)
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return nil, err
		}
		s := Selection{Restore: r.Name, revision: by.Revision, clusterID: by.ClusterID, Point: by.Time != nil || by.Revision > 0}
		if at := cmp.Or(by.Before, by.Time); at != nil {
			s.before = at.Time
		}
		if here {
			found = append(found, s)
		}
	}
	return found, nil
}

// selectsFrom reports whether an EtcdRestore searches the series of an EtcdBackup.
func (t *Clients) selectsFrom(ctx context.Context, o state.JobSpec, spec v1beta2.EtcdRestoreSpec) (bool, error) {
	lives := o.SeriesOf(0).Lives()
	if spec.EtcdBackup == nil {
		named, problem := storage.Spec{Type: spec.BackupStorageType, Block: spec.Storage, Folder: true}.Location()
		return problem == nil && named.Bucket == o.Target.Bucket && (strings.HasPrefix(lives, named.Key) || strings.HasPrefix(named.Key, lives)), nil
	}
	var b v1beta2.EtcdBackup
	err := t.Secrets.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: spec.EtcdBackup.Name}, &b)
	if apierrors.IsNotFound(err) {
		return false, nil // the restore waits for it
	}
	if err != nil {
		return false, fmt.Errorf("read EtcdBackup %s: %w", spec.EtcdBackup.Name, err)
	}
	named, problem := state.TargetOf(b.Namespace, b.Name, b.Spec)
	of := state.JobSpec{Namespace: b.Namespace, Cluster: state.SourceName(b.Name, b.Spec), Target: named}
	return problem == nil && named.Bucket == o.Target.Bucket && of.SeriesOf(0).Lives() == lives, nil
}

// admits reports whether the EtcdRestore may choose a snapshot, or begin a replay with it. id is that of s.clusterID.
func (s *Selection) admits(c *Candidate, id etcd.ID) bool {
	switch {
	case s.clusterID != "" && uint64(id) != c.clusterID:
		return false
	case s.revision > 0:
		return c.revision <= s.revision
	}
	return !c.at.After(s.before)
}

// Candidate is a snapshot among those from which EtcdRestores select.
type Candidate struct {
	name      string
	at        time.Time
	clusterID uint64
	revision  int64
}

// Candidates returns the snapshots with these names, newest first. For each of thousands of EtcdRestores they are the same, so they are parsed and sorted once.
func Candidates(names []string) []Candidate {
	found := make([]Candidate, 0, len(names))
	for _, name := range names {
		if key, ok := snapshot.ParseKey(name); ok {
			found = append(found, Candidate{name, key.Time, key.ClusterID, key.Revision})
		}
	}
	slices.SortStableFunc(found, func(a, b Candidate) int { return b.at.Compare(a.at) }) // one EtcdBackup may have series of several incarnations
	return found
}

// Choices returns which of the snapshots the EtcdRestore may choose: the newest ones that it admits. A restore or a recovery from a lost quorum
// returns to fewer revisions, and then only an earlier history of the cluster has the later ones. So for a revision these are the newest ones of each history: of
// each cluster ID, and there of each part in which the revisions ascend. The oldest one of a part that is not the last is among them: without it, two parts
// may seem to be one.
func (s Selection) Choices(among []Candidate) (chosen []string) {
	type history struct {
		oldest int64 // revision so far
		last   string
		chosen int
	}
	wanted, err := etcd.ParseID(s.clusterID)
	if err != nil && s.clusterID != "" {
		return nil
	}
	if s.revision == 0 { // the newest ones come first
		among = among[sort.Search(len(among), func(i int) bool { return !among[i].at.After(s.before) }):]
	}
	histories := map[uint64]*history{}
	var h *history
	var of uint64
	for i := range among {
		c := &among[i]
		if !s.admits(c, wanted) {
			continue
		}
		id := uint64(0)
		if s.revision > 0 {
			id = c.clusterID
		}
		if h == nil || id != of {
			if h, of = histories[id], id; h == nil {
				h = &history{}
				histories[id] = h
			}
		}
		if s.revision > 0 && c.revision > h.oldest {
			if h.chosen > Selectable {
				chosen = append(chosen, h.last)
			}
			h.chosen = 0
		}
		if h.chosen < Selectable {
			chosen = append(chosen, c.name)
		}
		h.oldest, h.last, h.chosen = c.revision, c.name, h.chosen+1
		if s.revision == 0 && h.chosen == Selectable {
			break // there is only one history
		}
	}
	return chosen
}

// restores returns the EtcdRestores of a namespace that have not ended.
func (t *Clients) restores(ctx context.Context, namespace string) ([]v1beta2.EtcdRestore, error) {
	var list v1beta2.EtcdRestoreList
	if err := t.Secrets.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the EtcdRestores in namespace %s: %w", namespace, err)
	}
	return slices.DeleteFunc(list.Items, func(r v1beta2.EtcdRestore) bool {
		return meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionComplete) || meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionFailed)
	}), nil
}
