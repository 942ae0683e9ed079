package objstore

import (
	"time"
)

// Limits bound one listing. Without them, a server that lists without an end uses up the memory of an operator, or keeps a worker for ever.
type Limits struct {
	// Names is the maximum number of names, unless the context is one of Unheld.
	Names int
	// Requests is how many requests in a row may return no name. Stores return some empty pages, for example for deleted objects.
	Requests int64
	// Silence is how long the store may return no name, and Total is how long it may take for all names. The time that the caller needs
	// between two names does not count.
	Silence, Total time.Duration
}

const (
	// MaxNames is how many names of one listing are held in memory.
	MaxNames = 500_000
	// PageSize is how many names a store is asked for in one answer. It is the maximum of S3 and GCS.
	PageSize = 1000
	// MaxName is the maximum length of a name in S3 and GCS, in bytes, and of every name that the operators write. A listing passes over longer
	// ones, which are not of the operators.
	MaxName = 1024
	// usualName is how many bytes a name has at most on average, if as many are held as are allowed.
	usualName = 256
)

// DefaultLimits are those of the operators. The longest honest listing is that of a continuous archive: 20,000,000 names in 20,000 pages.
var DefaultLimits = Limits{Names: MaxNames, Requests: 10_000, Silence: 10 * time.Minute, Total: 2 * time.Hour}
