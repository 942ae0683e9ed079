// Package queue decides when a pass for an EtcdCluster runs, and how many passes and replacements of members there are at the same time.
package queue

import (
	"time"
)

// PassTimeout bounds one pass; each call in it has a shorter limit of its own.
const PassTimeout = 30 * time.Second

// Concurrency is the default of Options.MaxConcurrent. A look mostly waits for members, so the number is larger than that of
// processors: clusters that hang hold up few others.
const Concurrency = 32
