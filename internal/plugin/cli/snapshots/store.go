package snapshots

import (
	"context"
	"fmt"
	"io"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// opened is a store that this machine uses, with the content of its Secret.
type opened struct {
	store objstore.Store
	at    storage.Location
	data  map[string][]byte
}

// openStore opens a store with the Secret that its block names. Without one, the identity of the user is used, as the command line of the
// provider uses it. So no policy of the administrator is needed, which is about the identity of the operators. via is the URL that the user wrote; empty for that of
// the block. Others write the block, and may not be able to read the Secret. So the keys are for a URL of the block only if the Secret says so, as in an operator.
func openStore(ctx context.Context, p *session.Session, w *session.World, kind v1beta2.StorageType, block v1beta2.Storage, via, path string) (opened, error) {
	block = backups.AtEndpoint(block, via)
	at, problem := storage.Spec{Field: "storageType", Type: kind, Block: block, Path: path}.Location()
	if problem != nil {
		return opened{}, fmt.Errorf("the store cannot be opened: %s", problem.Message)
	}
	var data map[string][]byte
	if at.Secret != "" {
		secret, err := w.Core.CoreV1().Secrets(w.Namespace).Get(ctx, at.Secret, metav1.GetOptions{})
		if err != nil {
			return opened{}, fmt.Errorf("the credentials of the store cannot be read: %w. You need the right to read Secret %s", err, at.Secret)
		}
		data = maps.Clone(secret.Data)
		if via != "" {
			data["endpoint"] = []byte(via) // the user chose it, so it gets the keys
		}
	}
	open := connect.Open
	if p.Open != nil {
		open = p.Open
	}
	store, err := open(ctx, connect.Access{Location: at, Data: data, For: grant.Process()})
	if err != nil {
		return opened{}, fmt.Errorf("the store cannot be opened: %w", err)
	}
	return opened{store, at, data}, nil
}

// counted shows on a terminal how much of an object has been read.
func counted(p *session.Session, store objstore.Getter, key string, size int64) objstore.Getter {
	if !p.Terminal {
		return store
	}
	return countedStore{store, key, func(read int64) { p.Step(edit.Transferred(read, size)) }}
}

// clearLine moves to the start of the row and erases it.
const clearLine = "\r\x1b[K"

// shownEvery is after how many bytes the progress is shown again.
const shownEvery = 4 << 20

type countedStore struct {
	objstore.Getter
	key  string
	show func(int64)
}

// Get counts what is read of the one object.
func (c countedStore) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := c.Getter.Get(ctx, key)
	if err != nil || key != c.key {
		return body, err
	}
	return &countedBody{ReadCloser: body, show: c.show}, nil
}

type countedBody struct {
	io.ReadCloser
	show        func(int64)
	read, shown int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read-b.shown >= shownEvery {
		b.show(b.read)
		b.shown = b.read
	}
	return n, err
}
