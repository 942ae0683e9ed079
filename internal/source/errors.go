package source

import (
	"errors"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// ErrConfig is in the chain when the store could not be opened: its endpoint or its Secret is wrong.
var ErrConfig = errors.New("store cannot be opened")

// ErrDisk is in the chain when the disk here failed or is full; the rest of the chain says nothing about the object.
var ErrDisk = snapshot.ErrDisk
