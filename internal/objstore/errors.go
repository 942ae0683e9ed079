package objstore

import "errors"

// ErrListing means that a listing is longer than an operator follows, or has more names than it holds in memory. The error names the limit.
var ErrListing = errors.New("the listing is too long")

// ErrMemory means that the names, manifests and headers of other objects take the memory at present.
var ErrMemory = errors.New("the operator cannot hold more names and manifests of stores in memory at present")
