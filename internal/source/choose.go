package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// Point reports whether a revision or a time is meant, and not a snapshot.
func (c Choice) Point() bool { return c.Revision > 0 || c.Time != "" }

// exact finds the object that the source names, a newer one of the same EtcdBackup, or the newest one below the fallback.
func exact(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, c Choice, by snapshot.Signers, now time.Time) (key, why string, err error) {
	index, err := catalog.Scan(ctx, store, src.Key)
	if err != nil {
		return "", "", err
	}
	problem := " does not exist"
	item, exists := index.Find(src.Key)
	if !exists || item.Verdict != snapshot.Failed {
		var failed bool
		if !exists {
			item = catalog.Item{Key: src.Key}
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
func (c Choice) unfit(ctx context.Context, store objstore.Store, item catalog.Item, by snapshot.Signers) (why string, err error) {
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

// foreignLimit is the maximum number of manifests of snapshots with free names that are read.
const foreignLimit = 1000

// candidates returns the snapshots below a prefix, newest first. The manifests of those whose name has no time and no
// cluster are read.
func candidates(ctx context.Context, store objstore.Store, prefix string) ([]candidate, error) {
	index, err := scan(ctx, store, prefix)
	if err != nil {
		return nil, err
	}
	var named []catalog.Item
	for _, item := range index.Items {
		if !item.InSeries() && !snapshot.IsSafety(prefix, item.Key) && len(named) < foreignLimit {
			named = append(named, item)
		}
	}
	known := catalog.Known{}
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

// scan is catalog.Scan, and asks for the manifests that the listing lacks.
func scan(ctx context.Context, store objstore.Store, prefix string) (catalog.Index, error) {
	index, err := catalog.Scan(ctx, store, prefix)
	if err != nil {
		return index, err
	}
	return index, index.Ask(ctx, store)
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
