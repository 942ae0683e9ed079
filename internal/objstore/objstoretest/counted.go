package objstoretest

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Counted ends a test with a panic if a goroutine of an operator holds names, manifests or headers in a context without objstore.Hold. What a test
// calls itself may do that. TestMain of the packages that begin the work of an operator calls Counted.
func Counted() {
	objstore.ReportUncounted(func() {
		callers := make([]uintptr, 64)
		frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
		first := ""
		for more := true; more; {
			var frame runtime.Frame
			if frame, more = frames.Next(); strings.HasSuffix(frame.File, "_test.go") {
				return
			}
			if first == "" && (strings.Contains(frame.File, "internal/backup/") || strings.Contains(frame.File, "internal/restore/")) {
				first = frame.Function
			}
		}
		panic(fmt.Sprintf("%s holds what a store lists, and counts it nowhere: begin that work with objstore.Hold", first))
	})
}
