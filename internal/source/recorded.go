package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// The status of an EtcdBackup names its newest snapshot. Who can write to the bucket cannot change that, and a listing of the store may lag
// behind it. So a choice asks for that snapshot by its key, and says why another one takes its place.

// recorded returns the snapshot that the status names, if the choice admits it by its key.
func (c Choice) recorded(bucket string) (candidate, bool) {
	named, inSeries := snapshot.ParseKey(c.Recorded)
	if !inSeries || c.Name != "" {
		return candidate{}, false
	}
	e := candidate{catalog.Item{Key: c.Recorded, Series: named.Series, Time: named.Time}, named.Namespace + "/" + named.Cluster, named.ID()}
	admitted, err := c.fitting(bucket, []candidate{e})
	return e, err == nil && len(admitted) > 0
}

// withRecorded adds the snapshot that the status names to those that are listed, if the listing omits it. Without it, an older one would be the
// newest. The error says that the store does not tell whether it exists.
func (c Choice) withRecorded(ctx context.Context, store objstore.Store, bucket string, listed []candidate) ([]candidate, error) {
	e, admitted := c.recorded(bucket)
	if !admitted || slices.ContainsFunc(listed, func(l candidate) bool { return l.Key == e.Key }) {
		return listed, nil
	}
	exists, failed, err := unlisted(ctx, store, e.Key)
	if err != nil {
		return nil, fmt.Errorf("a listing omits the snapshot %s/%s, which the status of the EtcdBackup names, and the store does not say that it is missing: %w", bucket, e.Key, err)
	}
	if !exists {
		return listed, nil
	}
	if failed {
		e.Verdict = snapshot.Failed
	}
	all := append(slices.Clone(listed), e)
	slices.SortStableFunc(all, func(a, b candidate) int { return b.Time.Compare(a.Time) })
	return all, nil
}

// unlisted asks by its key for a snapshot that a listing omits, and whether it failed its restore test.
func unlisted(ctx context.Context, store objstore.Store, key string) (exists, failed bool, err error) {
	gone, err := objstore.Gone(ctx, store, key)
	if err != nil || gone {
		return false, false, err
	}
	failed, err = snapshot.FailedTest(ctx, store, key)
	return true, failed, err
}

// whyNotSigned says which newer snapshots were passed over because of their signatures. It is empty if none was.
func (p *pick) whyNotSigned() string {
	if p.unsignedNewer == 0 {
		return ""
	}
	return fmt.Sprintf("%d newer ones do not have the signature that is required, and do not count; the newest of them is %s: %s", p.unsignedNewer, p.unsignedNewest, p.unsignedWhy)
}

// whyNotRecorded says why an older snapshot than the one that the status names was chosen. It is empty if that is not so.
func (p *pick) whyNotRecorded(bucket string) string {
	e, admitted := p.choice.recorded(bucket)
	if !admitted || !e.Time.After(p.chosen.Time) {
		return ""
	}
	why := p.skipped
	switch {
	case why != "":
	case slices.ContainsFunc(p.listed, func(l candidate) bool { return l.Key == e.Key }):
		why = "is of another EtcdCluster with the same name, or names another cluster in its manifest"
	default:
		why = "does not exist, or has no manifest"
	}
	return "the status of the EtcdBackup names the newer snapshot " + e.Key + ", which " + why
}

// joined joins the parts of an explanation that are not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}
