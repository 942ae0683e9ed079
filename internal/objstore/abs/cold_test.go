package abs

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// A status promised to restore what a lifecycle rule had moved to a tier that cannot be read.
func TestAListingReportsWhichBlobsCannotBeRead(t *testing.T) {
	for _, tier := range container.PossibleAccessTierValues() {
		item := container.BlobItem{Properties: &container.BlobProperties{AccessTier: &tier}}
		if got, want := objectOf(&item).Cold, tier == container.AccessTierArchive; got != want {
			t.Errorf("a blob in the tier %s cannot be read: %t, want %t", tier, got, want)
		}
	}
	if objectOf(&container.BlobItem{Properties: &container.BlobProperties{}}).Cold {
		t.Error("a blob without a tier counts as one that cannot be read")
	}
}
