package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// The newest snapshot before the point was in an archive class, or the store had lost it. The restore was tried again without an end, although an
// earlier snapshot of the same timeline reached the point. An error of the bucket or of the disk here is the same for each snapshot. Another
// EtcdBackup of the folder may have another key.
func TestAnEarlierBaseIsTriedIfTheStoreDoesNotReturnTheNewest(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"in an archive class":           {fmt.Errorf("403 InvalidObjectState: %w", fs.ErrPermission), true},
		"lost by the store":             {fmt.Errorf("500 InternalError: %w", objstore.ErrUnavailable), true},
		"damaged":                       {dbfile.ErrCorrupt, true},
		"deleted":                       {fs.ErrNotExist, true},
		"the bucket does not exist":     {objstore.Mark(objstore.ErrNoBucket, fs.ErrPermission), false},
		"the spool may not be written":  {fmt.Errorf("%w: %w", source.ErrDisk, fs.ErrPermission), false},
		"no identity decrypts it":       {codec.ErrIdentity, true},
		"the time for the reading ends": {context.DeadlineExceeded, false},
		"unknown":                       {errors.New("unknown"), false},
	} {
		if got := replaceable(fmt.Errorf("fetch snapshot x: %w", test.err)); got != test.want {
			t.Errorf("%s: another base is tried: %t, want %t", name, got, test.want)
		}
	}
	if replaceable(nil) {
		t.Error("a base that was read is replaced")
	}
}
