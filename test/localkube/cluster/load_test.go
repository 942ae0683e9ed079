package cluster

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"
)

// A rebuilt image has the same name and other content. If it were skipped, all tests would run the old operator.
func TestOnlyAnImageWithTheSameNameAndContentIsNotImportedAgain(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "image.tar")
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	index := `{"manifests":[{"digest":"sha256:aa","annotations":{"io.containerd.image.name":"example.com/operator:dev"}}]}`
	w := tar.NewWriter(file)
	if err := w.WriteHeader(&tar.Header{Name: "index.json", Mode: 0o600, Size: int64(len(index))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(index)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]bool{
		"REF TYPE DIGEST\nexample.com/operator:dev application/json sha256:aa 10 MiB\n":  true,
		"REF TYPE DIGEST\nexample.com/operator:dev application/json sha256:bb 10 MiB\n":  false,
		"REF TYPE DIGEST\nexample.com/operator:old application/json sha256:aa 10 MiB\n":  false,
		"REF TYPE DIGEST\nexample.com/operator:dev2 application/json sha256:aa 10 MiB\n": false,
		"": false,
	} {
		if got := isPresent(list, archive); got != want {
			t.Errorf("present %t in\n%s", got, list)
		}
	}
	if isPresent("x", filepath.Join(t.TempDir(), "missing.tar")) {
		t.Error("a file that does not exist is present")
	}
}
