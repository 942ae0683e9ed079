package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// naming is a source that names its object.
type naming struct {
	choice  Choice
	store   objstore.Store
	src     v1beta2.RestoreSource
	signers snapshot.Signers
	now     time.Time
}

// exact finds the object that the source names, a newer one of the same EtcdBackup, or the newest one below the fallback.
func exact(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, c Choice, by snapshot.Signers, now time.Time) (key, why string, err error) {
	return naming{choice: c, store: store, src: src, signers: by, now: now}.find(ctx)
}

func (n naming) find(ctx context.Context) (key, why string, err error) {
	store, src, c := n.store, n.src, n.choice
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
		if problem, err = n.unfit(ctx, item); problem == "" {
			return n.orNewer(ctx, err)
		}
	}
	named := src.Bucket + "/" + src.Key
	src.Key = c.Fallback
	key, why, err = choose(ctx, store, src, Choice{Folder: true, UID: c.UID, Prefer: c.Prefer, Of: c.Of, NoQuorum: c.NoQuorum, Owner: c.Owner}, n.signers, n.now)
	if err != nil {
		return "", "", fmt.Errorf("the snapshot %s, which the EtcdBackup names,%s, and there is no other: %w", named, problem, err)
	}
	return key, "the snapshot " + named + ", which the EtcdBackup names," + problem + "; instead of it " + why, nil
}

// orNewer returns the object that the source names, or a newer snapshot of the EtcdBackup, which its status does not know. err is passed on.
func (n naming) orNewer(ctx context.Context, err error) (key, why string, _ error) {
	store, src, c := n.store, n.src, n.choice
	named, inSeries := snapshot.ParseKey(src.Key)
	if err != nil || c.Backup == "" || c.Fallback == "" || !inSeries {
		return src.Key, "", err
	}
	all, err := candidates(ctx, store, c.Fallback)
	if err != nil {
		return "", "", err
	}
	own, _, err := c.ofOneOwner(ctx, store, slices.DeleteFunc(all, func(s candidate) bool { return c.Of != "" && s.cluster != c.Of }), n.signers)
	if errors.Is(err, ErrAmbiguous) {
		return src.Key, "the status of the EtcdBackup names it, and other EtcdClusters of the same name have snapshots in the folder", nil
	}
	if snapshot.OfSignature(err) {
		return src.Key, "the status of the EtcdBackup names it; " + err.Error(), nil
	}
	if err != nil {
		return "", "", err
	}
	newer := slices.DeleteFunc(own, func(s candidate) bool {
		return !s.Time.After(named.Time) || s.Verdict == snapshot.Failed || s.Future(n.now)
	})
	if len(newer) == 0 {
		return src.Key, "", nil
	}
	c.Recorded = src.Key
	p := pick{choice: c, fitting: newer, signers: n.signers}
	if err := p.best(ctx, store, n.now); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // a newer one may be archived
		return "", "", fmt.Errorf("%s/%s: %w", src.Bucket, c.Fallback, err)
	}
	if p.chosen.Key == "" {
		return src.Key, p.whyNamed(), nil
	}
	return p.chosen.Key, joined("it is newer than the snapshot "+src.Bucket+"/"+src.Key+", which the status of the EtcdBackup names", p.whyNotSigned()), nil
}

// unfit returns why a snapshot is not restored unless a person names it.
func (n naming) unfit(ctx context.Context, item catalog.Item) (why string, err error) {
	if item.Verdict == snapshot.Failed && n.signers.Required() {
		return "", fmt.Errorf("%s: %w: the result of its restore test, which it failed, has no signature: name the snapshot to restore", item.Key, snapshot.ErrNotSigned)
	}
	if item.Verdict == snapshot.Failed {
		return " failed its restore test", nil
	}
	reading, err := read(ctx, n.store, item, n.signers)
	if err == nil && snapshot.OfSignature(reading.Err) {
		err = reading.Err
	}
	if err == nil && reading.Err == nil && !snapshot.Agrees(item.Key, reading.Manifest) {
		return " is of another cluster by its manifest", nil
	}
	if err == nil && reading.Err == nil && reading.Manifest.NoQuorum && !n.choice.NoQuorum {
		return " was taken without quorum", nil
	}
	return "", err
}
