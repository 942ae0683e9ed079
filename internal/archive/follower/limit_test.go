package follower

import (
	"testing"
	"time"
)

// The header of an encrypted link is all that the operator knows of its size. Who can write to the first location can write any size into it, and with a second
// location that accepts a byte from time to time, the copy held three quarters of the memory of all copies for 48 days.
func TestAHeaderGivesACopyNoMoreTimeThanALargeLinkNeeds(t *testing.T) {
	for _, size := range []int64{0, 1 << 20, 64 << 20, 1 << 38, 1<<63 - 1} {
		limited, cancel := Copying{}.limit(t.Context(), size)
		end, bounded := limited.Deadline()
		if cancel(); !bounded || time.Until(end) > 30*time.Minute || time.Until(end) < 4*time.Minute {
			t.Errorf("a copy of %d bytes may take %s", size, time.Until(end))
		}
	}
}
