package source

import (
	"context"
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
	none := fmt.Errorf("%s: of %d snapshots %s: %w", folder, len(all), noneOf(c), fs.ErrNotExist)
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

// noneOf says what no snapshot is.
func noneOf(c Choice) string {
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
