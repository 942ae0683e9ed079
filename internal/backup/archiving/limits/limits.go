// Package limits has what archivers and copiers share: sizes, intervals, pauses after failures, and the places that they take in the process.
package limits

import "time"

// Segment is the size in bytes from which an archiver begins the next segment.
const Segment = 8 << 20

const (
	// Interval is between two looks at what an archiver has stored.
	Interval = time.Second
	// Retry is between two attempts to read an archive, or to delete parts of it.
	Retry = time.Minute
	// AskAgain is how often a base is asked for that does not help, and how often an archive is read again of which something may become readable.
	AskAgain = 10 * time.Minute
	// Slack is how much later than maxLag a change may reach the store before that is reported.
	Slack = 15 * time.Second
	// Prepare limits the requests before an archiver or a copier starts.
	Prepare = time.Minute
)

// Deletions is how many objects are deleted between two looks.
const Deletions = 100
