package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// ErrAmbiguous is in the chain when the snapshots that fit are of more than one cluster.
var ErrAmbiguous = errors.New("snapshots of more than one cluster fit")

// Choice says which snapshot below a folder is meant. The zero Choice chooses nothing: the source names its object.
// It is comparable.
type Choice struct {
	// Folder: the source's key is a folder, and the newest snapshot below it that fits is meant.
	Folder bool
	// Before is the time after which no snapshot fits, RFC 3339; empty for any.
	Before string
	// ClusterID that the snapshot must be of, 16 hex digits; empty for any.
	ClusterID string
	// UID of the EtcdCluster, and Prefer, an etcd cluster ID, whose snapshots are meant if those of several EtcdClusters
	// with the same name fit. They may be empty.
	UID, Prefer string
	// Of is the cluster, as namespace/name, if the folder is that of its series; empty for any. Snapshots of other clusters below the folder
	// do not count.
	Of string
	// NoQuorum admits snapshots that were taken without quorum.
	NoQuorum bool
	// Revision or Time (RFC 3339) is the point to restore with the continuous archive. Both are empty for a snapshot.
	Revision int64
	Time     string
	// Name is the path, the key or the last part of the key of the one that fits; empty for any.
	Name string
	// Fallback is a folder. If the source's object does not exist or failed its restore test, the newest snapshot below
	// the folder is meant instead. Empty for none. It is only used without Folder.
	Fallback string
	// Backup is the name of the EtcdBackup whose newest snapshot is meant. If Fallback has a newer one of it than the source's object, that
	// one is meant: the status of the EtcdBackup may be from an old backup of Kubernetes. Empty for none. It is only used with Fallback.
	Backup string
	// Recorded is the key of the newest snapshot in the status of the EtcdBackup that the restore is about. It is asked for if a listing omits it,
	// and counts although newer ones without the signature that is required do not. Empty if none is known.
	Recorded string
	// Owner has the names, UIDs and times of the EtcdBackup and the EtcdCluster that the restore is about. A later snapshot with the same names
	// and another UID is from another Kubernetes, so it is not chosen unless Name names it. Times are in UTC. It may be empty.
	Owner snapshot.Owner
}

// Point reports whether a revision or a time is meant, and not a snapshot.
func (c Choice) Point() bool { return c.Revision > 0 || c.Time != "" }

// exact finds the object that the source names, a newer one of the same EtcdBackup, or the newest one below the fallback.
func exact(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, c Choice, by snapshot.Signers, now time.Time) (key, why string, err error) {
	index, err := snapshot.Scan(ctx, store, src.Key)
	if err != nil {
		return "", "", err
	}
	problem := " does not exist"
	item, exists := index.Find(src.Key)
	if !exists || item.Verdict != snapshot.Failed {
		var failed bool
		if !exists {
			item = snapshot.Item{Key: src.Key}
		}
		if exists, failed, err = unlisted(ctx, store, src.Key); err != nil {
			return "", "", fmt.Errorf("a listing omits the snapshot %s/%s, which the EtcdBackup names, and the store does not say that it is missing: %w", src.Bucket, src.Key, err)
		}
		if failed {
			item.Verdict = snapshot.Failed
		}
	}
	if exists {
		if problem, err = c.unfit(ctx, store, item, by); problem == "" {
			return c.orNewer(ctx, store, src, by, now, err)
		}
	}
	named := src.Bucket + "/" + src.Key
	src.Key = c.Fallback
	key, why, err = choose(ctx, store, src, Choice{Folder: true, UID: c.UID, Prefer: c.Prefer, Of: c.Of, NoQuorum: c.NoQuorum, Owner: c.Owner}, by, now)
	if err != nil {
		return "", "", fmt.Errorf("the snapshot %s, which the EtcdBackup names,%s, and there is no other: %w", named, problem, err)
	}
	return key, "the snapshot " + named + ", which the EtcdBackup names," + problem + "; instead of it " + why, nil
}

// orNewer returns the object that the source names, or a newer snapshot of the EtcdBackup, which its status does not know. err is passed on.
func (c Choice) orNewer(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, by snapshot.Signers, now time.Time, err error) (key, why string, _ error) {
	named, inSeries := snapshot.ParseKey(src.Key)
	if err != nil || c.Backup == "" || c.Fallback == "" || !inSeries {
		return src.Key, "", err
	}
	all, err := candidates(ctx, store, c.Fallback)
	if err != nil {
		return "", "", err
	}
	own, _, err := c.ofOneOwner(ctx, store, slices.DeleteFunc(all, func(e candidate) bool { return c.Of != "" && e.cluster != c.Of }), by)
	if errors.Is(err, ErrAmbiguous) {
		return src.Key, "the status of the EtcdBackup names it, and other EtcdClusters of the same name have snapshots in the folder", nil
	}
	if snapshot.OfSignature(err) {
		return src.Key, "the status of the EtcdBackup names it; " + err.Error(), nil
	}
	if err != nil {
		return "", "", err
	}
	newer := slices.DeleteFunc(own, func(e candidate) bool {
		return !e.Time.After(named.Time) || e.Verdict == snapshot.Failed || e.Future(now)
	})
	if len(newer) == 0 {
		return src.Key, "", nil
	}
	c.Recorded = src.Key
	p := pick{choice: c, fitting: newer, signers: by}
	if err := p.best(ctx, store, now); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // a newer one may be archived
		return "", "", fmt.Errorf("%s/%s: %w", src.Bucket, c.Fallback, err)
	}
	if p.chosen.Key == "" {
		return src.Key, p.whyNamed(), nil
	}
	return p.chosen.Key, joined("it is newer than the snapshot "+src.Bucket+"/"+src.Key+", which the status of the EtcdBackup names", p.whyNotSigned()), nil
}

// whyNamed says why no newer snapshot takes the place of the one that the status names. It is empty if none could have.
func (p *pick) whyNamed() string {
	passed := len(p.fitting) - p.others
	if passed == 0 {
		return ""
	}
	text := "the status of the EtcdBackup names it"
	if unusable := passed - p.foreign - p.unsignedNewer; unusable > 0 {
		text += fmt.Sprintf(", and of %d newer ones %d were taken without quorum and %d cannot be read", unusable, p.noQuorum, unusable-p.noQuorum)
	}
	if p.foreign == 0 {
		return joined(text, p.whyNotSigned())
	}
	return joined(text, p.whyNotSigned(), p.passedOver())
}

// unfit returns why a snapshot is not restored unless a person names it.
func (c Choice) unfit(ctx context.Context, store objstore.Store, item snapshot.Item, by snapshot.Signers) (why string, err error) {
	if item.Verdict == snapshot.Failed && by.Required() {
		return "", fmt.Errorf("%s: %w: the result of its restore test, which it failed, has no signature: name the snapshot to restore", item.Key, snapshot.ErrNotSigned)
	}
	if item.Verdict == snapshot.Failed {
		return " failed its restore test", nil
	}
	reading, err := read(ctx, store, item, by)
	if err == nil && snapshot.OfSignature(reading.Err) {
		err = reading.Err
	}
	if err == nil && reading.Err == nil && !snapshot.Agrees(item.Key, reading.Manifest) {
		return " is of another cluster by its manifest", nil
	}
	if err == nil && reading.Err == nil && reading.Manifest.NoQuorum && !c.NoQuorum {
		return " was taken without quorum", nil
	}
	return "", err
}

// choose finds the object that is meant and explains why. Only objects with a manifest count. Of the incarnations of one
// cluster it takes the newest snapshot, and says so. Between two clusters it does not choose, even if they have the same
// name. It reads as few manifests
// as possible: names have the time, the cluster and the verdict of a snapshot.
func choose(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, c Choice, by snapshot.Signers, now time.Time) (key, why string, err error) {
	folder := src.Bucket + "/" + src.Key
	all, err := candidates(ctx, store, src.Key)
	if err != nil {
		return "", "", err
	}
	if all, err = c.withRecorded(ctx, store, src.Bucket, all); err != nil {
		return "", "", err
	}
	fitting, err := c.fitting(src.Bucket, all)
	if err != nil {
		return "", "", err
	}
	if len(clustersOf(fitting)) > 1 {
		if fitting, err = truthful(ctx, store, fitting, by); err != nil {
			return "", "", fmt.Errorf("%s: %w", folder, err)
		}
	}
	none := fmt.Errorf("%s: of %d snapshots %s: %w", folder, len(all), c.none(), fs.ErrNotExist)
	if len(fitting) == 0 {
		return "", "", none
	}
	if clusters := clustersOf(fitting); len(clusters) > 1 {
		return "", "", fmt.Errorf("%s: %w: %s: write the folder of one of them", folder, ErrAmbiguous, strings.Join(clusters, ", "))
	}
	fitting, foreign, err := c.ofOneOwner(ctx, store, fitting, by)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", folder, err)
	}
	p := pick{choice: c, folder: folder, all: len(all), listed: all, fitting: fitting, foreign: foreign, signers: by}
	if err := p.best(ctx, store, now); err != nil {
		return "", "", fmt.Errorf("%s: %w", folder, err)
	}
	if foreign := p.passedOver(); p.chosen.Key == "" && foreign != "" {
		return "", "", fmt.Errorf("%s: %s: %w", folder, foreign, fs.ErrNotExist)
	}
	if p.chosen.Key == "" {
		return "", "", none
	}
	return p.chosen.Key, joined(p.because(), p.whyNotSigned(), p.whyNotRecorded(src.Bucket)), nil
}

// candidate is a snapshot with its cluster.
type candidate struct {
	snapshot.Item
	cluster, clusterID string
}

// foreignLimit is the maximum number of manifests of snapshots with free names that are read.
const foreignLimit = 1000

// candidates returns the snapshots below a prefix, newest first. The manifests of those whose name has no time and no
// cluster are read.
func candidates(ctx context.Context, store objstore.Store, prefix string) ([]candidate, error) {
	index, err := scan(ctx, store, prefix)
	if err != nil {
		return nil, err
	}
	var named []snapshot.Item
	for _, item := range index.Items {
		if !item.InSeries() && !snapshot.IsSafety(prefix, item.Key) && len(named) < foreignLimit {
			named = append(named, item)
		}
	}
	known := snapshot.Known{}
	if err := readAll(ctx, store, known, named, snapshot.Anyone); err != nil {
		return nil, err
	}
	var all []candidate
	for _, item := range index.Items {
		reading, read := known[item.Key]
		m := reading.Manifest
		switch {
		case snapshot.IsSafety(prefix, item.Key):
		case item.InSeries():
			all = append(all, candidate{item, item.Series.Namespace + "/" + item.Series.Cluster, fmt.Sprintf("%016x", item.Series.ClusterID)})
		case read && reading.Err == nil:
			item.Time = m.CreatedAt
			all = append(all, candidate{item, m.Cluster.Namespace + "/" + m.Cluster.Name, m.Cluster.ID})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return b.Time.Compare(a.Time) })
	return atHome(all), nil
}

// scan is snapshot.Scan, and asks for the manifests that the listing lacks.
func scan(ctx context.Context, store objstore.Store, prefix string) (snapshot.Index, error) {
	index, err := snapshot.Scan(ctx, store, prefix)
	if err != nil {
		return index, err
	}
	return index, index.Ask(ctx, store)
}

// fitting returns the snapshots that the choice admits, in their order.
func (c Choice) fitting(bucket string, all []candidate) ([]candidate, error) {
	before, err := c.before()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(e candidate) bool {
		if c.Of != "" && e.cluster != c.Of {
			return true
		}
		named := c.Name == "" || c.Name == e.Key || c.Name == bucket+"/"+e.Key || c.Name == path.Base(e.Key)
		late := !before.IsZero() && e.Time.After(before)
		return !named || late || c.ClusterID != "" && e.clusterID != c.ClusterID
	}), nil
}

// before returns the time of the choice, which is zero for any.
func (c Choice) before() (time.Time, error) {
	if c.Before == "" {
		return time.Time{}, nil
	}
	before, err := time.Parse(time.RFC3339, c.Before)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %q is no time", ErrConfig, c.Before)
	}
	return before, nil
}

// capturedLate returns whether a snapshot may hold writes from after the time of the choice. A name has the time at which the
// run began, and etcd sends the snapshot later. If the manifest does not have that time, the snapshot is older than its
// object in the store.
func (c Choice) capturedLate(item snapshot.Item, m snapshot.Manifest) bool {
	before, err := c.before()
	captured := m.CapturedAt
	if captured.IsZero() {
		captured = item.Stored
	}
	return err == nil && !before.IsZero() && captured.After(before)
}

// none says what no snapshot is.
func (c Choice) none() string {
	var asked []string
	if c.Name != "" {
		asked = append(asked, "is called "+c.Name)
	}
	if c.Before != "" {
		asked = append(asked, "was taken by "+c.Before)
	}
	if c.ClusterID != "" {
		asked = append(asked, "is of cluster ID "+c.ClusterID)
	}
	if len(asked) == 0 {
		return "none has a manifest"
	}
	return "none " + strings.Join(asked, " and ")
}

// clustersOf returns the clusters, as namespace/name, whatever their etcd IDs.
func clustersOf(entries []candidate) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.cluster)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
