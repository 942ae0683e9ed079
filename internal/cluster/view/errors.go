package view

import (
	"errors"
	"fmt"
)

// ErrForeign is for an object that has a name which the cluster needs, and belongs to something else.
var ErrForeign = errors.New("it exists and does not belong to this EtcdCluster: delete or rename it")

// ErrBehind is for a step that was planned on a cache that was behind. Nothing was done, and the next pass plans again.
var ErrBehind = errors.New("the API server has a newer state")

// ErrRemembered is for a step that was planned on what a silent member answered to an earlier pass. The members are asked
// again before such a step is taken.
var ErrRemembered = fmt.Errorf("a member that hangs was not asked in this pass: %w", ErrBehind)
