package snapshot

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// SameStore reports whether two stores are one, for example under two names of its endpoint. It writes a small object to the second one, looks for
// it in the first one under the same name, and deletes it. The name is that of a draft in the series, with a random part: no reader takes it for
// a snapshot, and FindLeftovers deletes it if the process is killed. mark is the prefix of the Attempt of all snapshots of the EtcdBackup.
func SameStore(ctx context.Context, first, second objstore.Store, series Series, mark string, now time.Time) (bool, error) {
	random := make([]byte, draftDigits/2)
	_, _ = rand.Read(random) // it never fails
	name := series.Key(now, 0) + draftMark + hex.EncodeToString(random)
	content, err := Manifest{
		FormatVersion: FormatVersion, CreatedAt: now.UTC(), Attempt: mark + "/same-store", Size: 1, SHA256: strings.Repeat("00", 32),
		Cluster: Cluster{Namespace: series.Namespace, Name: series.Cluster, ID: series.ID()},
	}.Encode()
	if err != nil {
		return false, err
	}
	if err := second.Put(ctx, name, objstore.NewMetadata(content)); err != nil {
		return false, fmt.Errorf("write an object to find out whether both locations are one store: %w", err)
	}
	gone, err := objstore.Gone(ctx, first, name)
	if failed := second.Delete(ctx, name); failed != nil {
		return false, fmt.Errorf("delete the object %s, which the operator wrote to compare both locations: %w", name, failed)
	}
	if err != nil {
		return false, fmt.Errorf("look for the object %s of the second location: %w: %w", name, ErrCopySource, err)
	}
	return !gone, nil
}
