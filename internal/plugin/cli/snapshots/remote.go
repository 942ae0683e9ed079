package snapshots

import "github.com/etcd-suite/etcd-operator/internal/objstore"

// downloading are the flags of download.
type downloading struct {
	snapshot, backup, file, via, member string
	identities                          []string
	keys                                PublicKeys
	now                                 bool
}

// remote is a snapshot that is read.
type remote struct {
	store objstore.Getter
	key   string
	// what and file are its name, and that of its file by default.
	what, file string
	size       int64
	identities []byte
	// hint is what may help if it cannot be read.
	hint  string
	close func()
}
