package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

const (
	// hashLimit is how long a member may take to read its database.
	hashLimit = 5 * time.Minute
	// pageLimit is how many keys are read at once.
	pageLimit = 1000
)

// measured returns what a side has at a revision, without a digest.
func (s side) measured(ctx context.Context, revision int64) (found moving.Side, err error) {
	ctx, cancel := context.WithTimeout(ctx, hashLimit)
	defer cancel()
	if found.Keys, err = s.Count(ctx, revision); err != nil {
		return found, err
	}
	found.Hash, found.Compacted, err = s.HashKV(ctx, revision)
	return found, err
}

// digest returns the digest of all keys at a revision. It reads them all.
func (s side) digest(ctx context.Context, revision int64) (string, error) {
	sum := sha256.New()
	of := etcd.KeyRange{Begin: []byte{0}, End: []byte{0}, Revision: revision, Limit: pageLimit}
	for more := true; more; {
		page, err := s.page(ctx, of)
		switch {
		case errors.Is(err, etcd.ErrPageTooLong) && of.Limit > 1:
			of.Limit /= 2
			continue
		case errors.Is(err, etcd.ErrPageTooLong) && !of.Large:
			of.Large = true
			continue
		case err != nil:
			return "", err
		}
		for _, pair := range page.Keys {
			add(sum, pair)
			of.Begin = append(bytes.Clone(pair.Key), 0)
		}
		more, of.Large, of.Limit = page.More && len(page.Keys) > 0, false, min(2*of.Limit, pageLimit)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (s side) page(ctx context.Context, of etcd.KeyRange) (etcd.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, hashLimit)
	defer cancel()
	return s.Keys(ctx, of)
}

// add adds a key to a digest. The lengths keep two keys apart that are written one after the other.
func add(sum hash.Hash, pair etcd.KeyValue) {
	fmt.Fprintf(sum, "%d %d %d %t ", len(pair.Key), len(pair.Value), pair.ModRevision, pair.Leased)
	sum.Write(pair.Key)
	sum.Write(pair.Value)
}
