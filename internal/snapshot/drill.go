package snapshot

// The names below keep callers compiling that still use the former names of the restore test.
type (
	DrillRequest = RestoreTestRequest
	Drilled      = RestoreTestResult
)

var Drill = TestRestore
