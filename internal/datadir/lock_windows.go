package datadir

import "os"

// lockShared does nothing, because Windows itself does not let others open what etcd has locked.
func lockShared(*os.File) error { return nil }
