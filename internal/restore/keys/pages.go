package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// errCluster is the error if another cluster answers.
var errCluster = errors.New("another etcd cluster answers at the address of the member")

// errOrder is the error if a member returns keys that it was not asked for.
var errOrder = errors.New("the member returned keys that it was not asked for")

// pages returns the keys with a prefix as they are now, or as they were at the comparison.
func (r *run) pages(prefix string, now bool) *pages {
	return &pages{run: r, values: now || !r.Write, begin: []byte(prefix), end: etcd.EndOfPrefix(prefix), limit: pageLimit, more: true, now: now}
}

// modRevision returns that of a key, 0 if there is none; known is false if the revision is compacted. The keys must be asked for in ascending order.
func (l *pages) modRevision(key []byte) (revision int64, known bool, err error) {
	for {
		pair, err := l.peek()
		if err != nil || l.compacted {
			return 0, false, err
		}
		switch {
		case pair == nil || bytes.Compare(pair.Key, key) > 0:
			return 0, true, nil
		case bytes.Equal(pair.Key, key):
			return pair.ModRevision, true, nil
		}
		l.pop()
	}
}

func (l *pages) pop() {
	if len(l.page) > 0 {
		l.page[0] = etcd.KeyValue{} // its value takes memory until the whole page is read
		l.page = l.page[1:]
	}
}

// peek returns the next key; nil after the last one.
func (l *pages) peek() (*etcd.KeyValue, error) {
	for len(l.page) == 0 && l.more {
		if err := l.read(); err != nil {
			return nil, err
		}
	}
	if len(l.page) == 0 {
		return nil, nil //nolint:nilnil // there is no further key
	}
	return &l.page[0], nil
}

// read reads the next page.
func (l *pages) read() error {
	revision := l.result.Revision
	if l.now || l.compacted {
		revision = 0
	}
	l.page = nil // an empty slice would keep the page before in memory
	page, err := l.ask(revision)
	switch {
	case errors.Is(err, etcd.ErrPageTooLong) && l.limit > 1:
		l.limit /= 2
		return nil
	case errors.Is(err, etcd.ErrPageTooLong) && !l.large && l.values:
		l.large = true
		return nil
	case errors.Is(err, etcd.ErrCompacted) && !l.compacted:
		l.compacted = true
		return nil
	case err != nil:
		return err
	case l.ClusterID != 0 && page.ClusterID != l.ClusterID:
		return fmt.Errorf("%w: %s, and not %s", errCluster, page.ClusterID, l.ClusterID)
	case page.More && len(page.Keys) == 0 || int64(len(page.Keys)) > l.limit:
		return fmt.Errorf("%w: %d, and more: %v", errOrder, len(page.Keys), page.More)
	}
	for _, pair := range page.Keys {
		if bytes.Compare(pair.Key, l.begin) < 0 || len(l.end) > 0 && bytes.Compare(pair.Key, l.end) >= 0 {
			return errOrder
		}
		l.begin = append(bytes.Clone(pair.Key), 0) // the key that follows it
	}
	if l.result.Revision == 0 {
		l.result.Revision = page.Revision
	}
	l.page, l.more, l.large, l.limit = page.Keys, page.More, false, min(l.limit+l.limit/8+1, pageLimit)
	return nil
}

// ask asks the cluster for the next page.
func (l *pages) ask(revision int64) (etcd.Page, error) {
	leave, err := l.turn(l.large)
	if err != nil {
		return etcd.Page{}, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(l.ctx, callTimeout)
	defer cancel()
	return l.cluster.Keys(ctx, etcd.KeyRange{Begin: l.begin, End: l.end, Revision: revision, Limit: l.limit, NamesOnly: !l.values, Large: l.large})
}
