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
	// Name is the path, the key or the last part of the key of the one that fits; empty for any.
	Name string
}

// choose finds the object that is meant and says why it is that one. Only what has a manifest counts. Among the lives
// of one cluster the newest snapshot is taken, and said; between two clusters nothing is guessed.
func choose(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, c Choice) (key, why string, err error) {
	folder := src.Bucket + "/" + src.Key
	listing, err := snapshot.List(ctx, store, src.Key)
	if err != nil {
		return "", "", err
	}
	fitting, err := c.fitting(src.Bucket, listing.Snapshots)
	if err != nil {
		return "", "", err
	}
	if len(fitting) == 0 {
		return "", "", fmt.Errorf("%s: of %d snapshots %s: %w", folder, len(listing.Snapshots), c.none(), fs.ErrNotExist)
	}
	chosen := fitting[0]
	if clusters := clustersOf(fitting); len(clusters) > 1 {
		return "", "", fmt.Errorf("%s: %w: %s: write the folder of one of them", folder, ErrAmbiguous, strings.Join(clusters, ", "))
	}
	if name, err := newerUnreadable(listing, chosen); err != nil {
		return "", "", fmt.Errorf("%s: %s may be newer than %s: %w", folder, name, chosen.Key, err)
	}
	return chosen.Key, because(c, folder, chosen, fitting, listing), nil
}

// fitting are the snapshots that the choice admits, newest first as they come.
func (c Choice) fitting(bucket string, all []snapshot.Entry) ([]snapshot.Entry, error) {
	var before time.Time
	if c.Before != "" {
		var err error
		if before, err = time.Parse(time.RFC3339, c.Before); err != nil {
			return nil, fmt.Errorf("%w: %q is no time", ErrConfig, c.Before)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(e snapshot.Entry) bool {
		named := c.Name == "" || c.Name == e.Key || c.Name == bucket+"/"+e.Key || c.Name == path.Base(e.Key)
		late := !before.IsZero() && e.Manifest.CreatedAt.After(before)
		return !named || late || c.ClusterID != "" && e.Manifest.Cluster.ID != c.ClusterID
	}), nil
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
		return "with a manifest there is none"
	}
	return "none " + strings.Join(asked, " and ")
}

// clustersOf names the clusters, as namespace/name, whatever their etcd IDs.
func clustersOf(entries []snapshot.Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Manifest.Cluster.Namespace+"/"+e.Manifest.Cluster.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// newerUnreadable finds a snapshot that a newer version of the suite wrote after the chosen one, as far as its key
// tells: it might be the one that is meant.
func newerUnreadable(listing snapshot.Listing, chosen snapshot.Entry) (name string, err error) {
	for manifest, err := range listing.Unreadable {
		parsed, ok := snapshot.ParseKey(strings.TrimSuffix(manifest, ".json"))
		if ok && errors.Is(err, snapshot.ErrNewerFormat) && parsed.Time.After(chosen.Manifest.CreatedAt) {
			return manifest, err
		}
	}
	return "", nil
}

// because says in one sentence what was chosen among what.
func because(c Choice, folder string, chosen snapshot.Entry, fitting []snapshot.Entry, listing snapshot.Listing) string {
	text := fmt.Sprintf("the newest of %d snapshots below %s", len(fitting), folder)
	if c.Name != "" {
		text = "the one below " + folder + " that is called " + c.Name
	} else if len(fitting) < len(listing.Snapshots) {
		text = fmt.Sprintf("the newest of %d snapshots that fit, of %d below %s", len(fitting), len(listing.Snapshots), folder)
	}
	text += fmt.Sprintf(": taken at %s of cluster ID %s", chosen.Manifest.CreatedAt.UTC().Format(time.RFC3339), chosen.Manifest.Cluster.ID)
	others := map[string]int{}
	for _, e := range fitting {
		if e.Manifest.Cluster.ID != chosen.Manifest.Cluster.ID {
			others[e.Manifest.Cluster.ID]++
		}
	}
	if len(others) > 0 {
		text += fmt.Sprintf("; there are older ones of %d other cluster IDs of the same cluster name: select.clusterID chooses among them", len(others))
	}
	if n := len(listing.Unreadable); n > 0 {
		text += fmt.Sprintf("; %d manifests could not be read and do not count", n)
	}
	return text
}
