package connect

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Access is a Location and what is needed to open it.
type Access struct {
	storage.Location
	// Data of the Secret. Nil means the ambient identity.
	Data map[string][]byte
	// For is what may be used. The zero Scope refuses the ambient identity.
	For grant.Scope
	// Patience is how long the store may be silent before a request is tried again. 0 means stall.DefaultLimit.
	Patience time.Duration
}

// File is a directory, whose path is the bucket. Only tests use it: a user of the
// cluster must not choose a directory of the operator, so no spec leads to it.
const File v1beta2.StorageType = "File"
