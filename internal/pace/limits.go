package pace

import (
	"errors"
	"time"
)

const (
	// Floor is the lowest average, in bytes per second. It is half a megabit: a slow link has more.
	Floor = 64 << 10
	// CrowdedFloor is that of a transfer for whose end others wait. It is half of the lowest maxBytesPerSecond, which an attempt may have.
	CrowdedFloor = 512 << 10
	// Window is the time over which the average is taken. An outage of the store or of the network that is shorter ends nothing.
	Window = 5 * time.Minute

	// perObject is what a request counts at least, besides its bytes. The time until a store answers limits small objects, and not the bytes
	// that it sends. With the two floors, a store has 4 s for each object, and 2 s while others wait.
	perObject        = 256 << 10
	perObjectCrowded = 1 << 20
)

// ErrTooSlow means that a transfer moved less than the floor during a window.
var ErrTooSlow = errors.New("the transfer is too slow")
