package s3

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// A status promised to restore what a lifecycle rule had moved to a class that cannot be read.
func TestAListingReportsWhichObjectsCannotBeRead(t *testing.T) {
	cold := map[types.ObjectStorageClass]bool{types.ObjectStorageClassGlacier: true, types.ObjectStorageClassDeepArchive: true}
	for _, class := range append(types.ObjectStorageClass("").Values(), "") {
		if got := objectOf(types.Object{StorageClass: class}).Cold; got != cold[class] {
			t.Errorf("an object in the class %q cannot be read: %t, want %t", class, got, cold[class])
		}
	}
}
