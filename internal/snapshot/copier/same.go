package copier

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// sameStoreTries is how many names of SameStore are known before. Later ones are random.
const sameStoreTries = 8

// SameStore returns the name of an object that proves that two stores are one, for example under two names of its endpoint. It is empty if they are
// two. It writes a small object to the second one, looks for it in the first one under the same name, and deletes it. An object that was in the first
// one before proves nothing: a person may have rebuilt that from the second one. The names are those of drafts in the series, so no reader takes them
// for a snapshot, and FindLeftovers deletes them if the process is killed. They are made of pair, which names both locations: a store that refuses
// deletions does not get one in each run. mark is the prefix of the Attempt of all snapshots of the EtcdBackup.
func SameStore(ctx context.Context, first, second objstore.Store, series snapshot.Series, mark, pair string) (proof string, err error) {
	content, err := probe(series, mark)
	if err != nil {
		return "", err
	}
	for try := 0; ; try++ {
		name := probeName(series, mark, pair, try)
		gone, err := objstore.Gone(ctx, first, name)
		switch {
		case err != nil:
			return "", fmt.Errorf("look for the object %s of the second location: %w: %w", name, ErrSource, err)
		case !gone && try <= sameStoreTries:
			_ = second.Delete(ctx, name) // it is left from a run that was killed, unless the store refuses it
			continue
		}
		err = second.Put(ctx, name, objstore.NewMetadata(content))
		if errors.Is(err, fs.ErrExist) {
			return "", nil // it is in the second location only
		}
		if err != nil {
			return "", fmt.Errorf("write an object to find out whether both locations are one store: %w", err)
		}
		gone, err = objstore.Gone(ctx, first, name)
		_ = second.Delete(ctx, name) // a store that refuses it keeps one small object; a later run deletes one that is left
		if err != nil {
			return "", fmt.Errorf("look for the object %s of the second location: %w: %w", name, ErrSource, err)
		}
		if gone {
			return "", nil
		}
		return name, nil
	}
}

// probeName returns the name of an object of SameStore.
func probeName(series snapshot.Series, mark, pair string, try int) string {
	text := mark + "\n" + pair
	switch {
	case try >= sameStoreTries:
		text += "\n" + rand.Text()
	case try > 0:
		text += "\n" + strconv.Itoa(try)
	}
	digest := sha256.Sum256([]byte(text))
	return series.Key(time.Unix(0, 0).UTC(), 0) + snapshot.DraftMark + hex.EncodeToString(digest[:snapshot.DraftDigits/2])
}

// probe returns the content of an object of SameStore.
func probe(series snapshot.Series, mark string) ([]byte, error) {
	return snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, CreatedAt: time.Unix(0, 0).UTC(), Attempt: mark + "/same-store", Size: 1, SHA256: strings.Repeat("00", 32),
		Cluster: snapshot.Cluster{Namespace: series.Namespace, Name: series.Cluster, ID: series.ID()},
	}.Encode()
}
