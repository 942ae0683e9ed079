package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/encoding/protowire"
)

// ErrCompacted is in the chain of an error if the asked revision is compacted.
var ErrCompacted error = rpctypes.ErrCompacted

// ErrTooLarge is in the chain of an error if the cluster refuses a transaction by its limits: the bytes, or the number of operations.
var ErrTooLarge = errors.New("the transaction is too large for the cluster")

// ErrPageTooLong is in the chain of an error if a page of keys has more bytes than were allowed.
var ErrPageTooLong = errors.New("the keys have too many bytes")

// KeyRange is what Keys reads: at most Limit keys from Begin on, which are before End. A Revision of 0 is the present one.
type KeyRange struct {
	Begin, End      []byte
	Revision, Limit int64
	// NamesOnly reads no values.
	NamesOnly bool
	// Large allows MaxPage bytes, and otherwise SmallPage. Such a page takes several times its size while it is read.
	Large bool
}

// KeyValue is a key of a cluster.
type KeyValue struct {
	Key, Value []byte
	// ModRevision is the revision of its last write.
	ModRevision int64
	// Leased is true if the key ends with a lease.
	Leased bool
}

// Page is the beginning of a range of keys in ascending order. ClusterID and Revision are those of the cluster. More is true if the range has further keys.
type Page struct {
	Keys      []KeyValue
	ClusterID ID
	Revision  int64
	More      bool
}

// Keys returns the keys of a range. A quorum confirms it. The error is ErrCompacted if the revision is compacted, and ErrPageTooLong if a smaller limit may
// succeed.
func (c KV) Keys(ctx context.Context, of KeyRange) (Page, error) {
	most := SmallPage
	if of.Large {
		most = MaxPage
	}
	ctx = context.WithValue(ctx, longAnswers{}, most)
	answer := rangeAnswer{most: of.Limit}
	err := c.client.ActiveConnection().Invoke(ctx, pb.KV_Range_FullMethodName, &pb.RangeRequest{
		Key: of.Begin, RangeEnd: of.End, Revision: of.Revision, Limit: of.Limit, KeysOnly: of.NamesOnly,
	}, &answer)
	switch {
	case errors.Is(err, errTooLong):
		return Page{}, c.wrap("read keys", ErrPageTooLong)
	case err != nil:
		return Page{}, c.wrap("read keys", rpctypes.Error(err))
	}
	return answer.page, nil
}

// Count returns the number of keys at a revision; 0 is the present one. A quorum confirms it. The error is ErrCompacted if the revision is compacted.
func (c KV) Count(ctx context.Context, revision int64) (int64, error) {
	answer, err := c.client.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly(), clientv3.WithRev(revision))
	if err != nil {
		return 0, c.wrap("count keys", err)
	}
	return answer.Count, nil
}

// rangeAnswer is an answer that is decoded up to a number of keys, because the member chooses its bytes: an empty key of two bytes takes a hundred
// times as much memory.
type rangeAnswer struct {
	most int64
	page Page
}

// errKeys is the error of an answer that is not one to the question.
var errKeys = errors.New("the member returned keys that it was not asked for")

// unmarshal reads an etcdserverpb.RangeResponse.
func (a *rangeAnswer) unmarshal(message []byte) error {
	return fields(message, func(number protowire.Number, bytes []byte, value uint64) error {
		switch number {
		case 1: // the header
			return fields(bytes, func(number protowire.Number, _ []byte, value uint64) error {
				switch number {
				case 1:
					a.page.ClusterID = ID(value)
				case 3:
					a.page.Revision = int64(value)
				}
				return nil
			})
		case 2:
			if int64(len(a.page.Keys)) >= a.most {
				return errKeys
			}
			pair, err := keyValue(bytes)
			a.page.Keys = append(a.page.Keys, pair)
			return err
		case 3:
			a.page.More = value != 0
		}
		return nil
	})
}

// keyValue reads an mvccpb.KeyValue.
func keyValue(message []byte) (pair KeyValue, err error) {
	err = fields(message, func(number protowire.Number, text []byte, value uint64) error {
		switch number {
		case 1:
			pair.Key = bytes.Clone(text)
		case 3:
			pair.ModRevision = int64(value)
		case 5:
			pair.Value = bytes.Clone(text)
		case 6:
			pair.Leased = value != 0
		}
		return nil
	})
	return pair, err
}

// fields calls visit for each field of a message, with its bytes or its number.
func fields(message []byte, visit func(number protowire.Number, bytes []byte, value uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		var bytes []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			bytes, _ = protowire.ConsumeBytes(message[n:])
		case protowire.VarintType:
			value, _ = protowire.ConsumeVarint(message[n:])
		}
		if err := visit(number, bytes, value); err != nil {
			return err
		}
		message = message[n+size:]
	}
	return nil
}

// Change writes a key, or deletes it, if it was not written since.
type Change struct {
	Key, Value []byte
	Delete     bool
	// ModRevision that the key must have; 0 if it must not exist.
	ModRevision int64
}

// ApplyIfUnchanged carries out all changes in one transaction, or none and returns false if one of the keys has another ModRevision. After an error
// the changes may have been carried out.
func (c KV) ApplyIfUnchanged(ctx context.Context, changes ...Change) (applied bool, err error) {
	guards, operations := make([]clientv3.Cmp, len(changes)), make([]clientv3.Op, len(changes))
	for i, change := range changes {
		key := string(change.Key)
		guards[i] = clientv3.Compare(clientv3.ModRevision(key), "=", change.ModRevision)
		if operations[i] = clientv3.OpPut(key, string(change.Value)); change.Delete {
			operations[i] = clientv3.OpDelete(key)
		}
	}
	answer, err := c.client.Txn(ctx).If(guards...).Then(operations...).Commit()
	if errors.Is(err, rpctypes.ErrRequestTooLarge) || errors.Is(err, rpctypes.ErrTooManyOps) {
		return false, c.wrap("write keys", fmt.Errorf("%w: %w", ErrTooLarge, err))
	}
	if err != nil {
		return false, c.wrap("write keys", err)
	}
	return answer.Succeeded, nil
}

// EndOfPrefix returns the end of the range of all keys with a prefix.
func EndOfPrefix(prefix string) []byte { return []byte(clientv3.GetPrefixRangeEnd(prefix)) }
