package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"sigs.k8s.io/yaml"
)

// digestsFile is in the released chart only. The chart selects its images by these digests, so an overwritten tag does not run. It is no value:
// helm upgrade --reuse-values keeps the values of the earlier chart, and so would keep its images.
const digestsFile = "digests.yaml"

// imageDigest returns the digest of the index in an OCI archive, which a registry has after the push, too.
func imageDigest(archive string) (string, error) {
	dir, err := os.MkdirTemp("", "release-image-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := extract(archive, dir); err != nil {
		return "", fmt.Errorf("extract %s: %w", archive, err)
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", archive, err)
	}
	digest, err := onlyIndex(outer, archive)
	return digest.String(), err
}

// digests returns the file with the digest of each image of the release.
func (r release) digests() (map[string]string, error) {
	digests := map[string]string{}
	for _, operator := range operators {
		digest, err := imageDigest(r.path(r.archive(operator)))
		if err != nil {
			return nil, err
		}
		digests[operator] = digest
	}
	return digests, nil
}

// digestsText is the file as text.
func digestsText(digests map[string]string) []byte {
	var text strings.Builder
	text.WriteString("# The images of this release. A tag or a digest in the values takes their place.\n")
	for _, operator := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(&text, "%s: %s\n", operator, digests[operator])
	}
	return []byte(text.String())
}

// checkDigests returns an error if the chart selects other images than those that are about to be pushed.
func (r release) checkDigests() error {
	built, err := r.digests()
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(r.path(r.chartFile()))
	if err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	files, err := unzip(raw)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.chartFile(), err)
	}
	var charted map[string]string
	for _, f := range files {
		if strings.HasSuffix(f.name, "/"+digestsFile) {
			err = yaml.Unmarshal(f.content, &charted)
		}
	}
	if err != nil {
		return fmt.Errorf("read %s in %s: %w", digestsFile, r.chartFile(), err)
	}
	if !maps.Equal(built, charted) {
		return fmt.Errorf("the images have the digests %v, but %s selects %v: build the release again", built, r.chartFile(), charted)
	}
	return nil
}
