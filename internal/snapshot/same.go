package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// SameStore reports whether two stores are one, for example under two names of its endpoint. It writes a small object to the second one, looks for
// it in the first one under the same name, and deletes it. The name is that of a draft in the series, so no reader takes it for a snapshot, and
// FindLeftovers deletes it if the process is killed. It is made of pair, which names both locations: a store that refuses deletions gets one
// such object, and not one in each run. mark is the prefix of the Attempt of all snapshots of the EtcdBackup.
func SameStore(ctx context.Context, first, second objstore.Store, series Series, mark, pair string) (bool, error) {
	name, err := putProbe(ctx, second, series, mark, pair)
	if err != nil {
		return false, fmt.Errorf("write an object to find out whether both locations are one store: %w", err)
	}
	gone, err := objstore.Gone(ctx, first, name)
	_ = second.Delete(ctx, name) // a store that refuses it keeps one small object; a later run deletes one that is left
	if err != nil {
		return false, fmt.Errorf("look for the object %s of the second location: %w: %w", name, ErrCopySource, err)
	}
	return !gone, nil
}

// putProbe writes the object of SameStore and returns its name.
func putProbe(ctx context.Context, store objstore.Store, series Series, mark, pair string) (string, error) {
	digest := sha256.Sum256([]byte(mark + "\n" + pair))
	name := series.Key(time.Unix(0, 0).UTC(), 0) + draftMark + hex.EncodeToString(digest[:draftDigits/2])
	content, err := Manifest{
		FormatVersion: FormatVersion, CreatedAt: time.Unix(0, 0).UTC(), Attempt: mark + "/same-store", Size: 1, SHA256: strings.Repeat("00", 32),
		Cluster: Cluster{Namespace: series.Namespace, Name: series.Cluster, ID: series.ID()},
	}.Encode()
	if err != nil {
		return "", err
	}
	if err := store.Put(ctx, name, objstore.NewMetadata(content)); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return name, nil
}
