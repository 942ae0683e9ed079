package etcdversion

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersionsAreOrderedAsEtcdReleasesThem(t *testing.T) {
	ordered := []string{"3.4.9", "3.4.45", "3.5.0-alpha.0", "3.5.0-beta.4", "3.5.0-rc.0", "3.5.0-rc.1", "3.5.0", "3.5.9", "3.5.10", "3.6.0-rc.10", "3.6.0", "3.6.16", "3.7.0", "4.0.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := Older(a, b); got != (i < j) {
				t.Errorf("Older(%s, %s) is %t", a, b, got)
			}
		}
	}
}

// kubeadm and registry.k8s.io write 3.6.16-0, quay.io has tags with an architecture, and distributions append more.
func TestTheSuffixOfADistributorDoesNotCount(t *testing.T) {
	for text, want := range map[string][2]string{
		"3.6.16":              {"3.6.16", ""},
		"v3.6.16":             {"3.6.16", ""},
		"3.6.16-0":            {"3.6.16", "-0"},
		"v3.6.16-0":           {"3.6.16", "-0"},
		"3.5.12-eks-1-30-11":  {"3.5.12", "-eks-1-30-11"},
		"3.6.4-debian-12-r3":  {"3.6.4", "-debian-12-r3"},
		"3.6.16-arm64":        {"3.6.16", "-arm64"},
		"3.6.16+build":        {"3.6.16", "+build"},
		"3.7.0-rc.1":          {"3.7.0-rc.1", ""},
		"3.7.0-rc.1-0":        {"3.7.0-rc.1", "-0"},
		"3.7.0-alpha.0+dirty": {"3.7.0-alpha.0", "+dirty"},
		"3.6":                 {"3.6", ""},
		"latest":              {"latest", ""},
		"":                    {"", ""},
	} {
		release, suffix := Split(text)
		if release != want[0] || suffix != want[1] {
			t.Errorf("%q is %q and %q, want %q", text, release, suffix, want)
		}
		parsed, ok := Parse(text)
		if plain, _ := Parse(want[0]); ok && parsed != plain {
			t.Errorf("%q is %v, and %q is %v", text, parsed, want[0], plain)
		}
		if ok && parsed.String() != want[0] {
			t.Errorf("%q is written as %s", text, parsed)
		}
	}
	if Older("3.6.16-0", "3.6.16") || Older("3.6.16", "3.6.16-0") || !Older("3.6.15-0", "3.6.16") {
		t.Error("a suffix makes another release of etcd")
	}
	if !Older("3.7.0-rc.1", "3.7.0-0") {
		t.Error("a release candidate is as new as its release")
	}
}

// If the two ways to read a version differed, a version would be newer in one rule than in another one.
func TestPlainVersionsAreReadAlikeWithoutTheRegularExpression(t *testing.T) {
	for _, text := range []string{
		"3.6.16", "0.0.0", "10.20.30", "999999999.0.1", "1000000000.0.1", "03.6.1", "3.06.1", "3.6.01", "3.6", "3.6.", ".6.1", "3..1",
		"3.6.1.0", "v3.6.16", "3.6.16-0", "3.6.16 ", " 3.6.16", "3.6.1x", "-3.6.1", "+3.6.1", "3.6.١", "", ".", "..",
	} {
		plain, ok := parsePlain(text)
		if want, valid := parseNotation(text); ok && (!valid || plain != want) {
			t.Errorf("%q is %v without the expression, and %v, %t with it", text, plain, want, valid)
		}
	}
	if _, ok := parsePlain("3.6.16"); !ok {
		t.Error("a plain version is read by the expression")
	}
}

func TestWhatIsNoVersionIsKept(t *testing.T) {
	for _, text := range []string{"", "latest", "3.6", "3.6.x", "03.6.1", "3.6.16 ", "v", "-0"} {
		if _, ok := Parse(text); ok {
			t.Errorf("%q is a version", text)
		}
	}
	if Minor("latest") != "latest" || Older("", "3.6.0") || Older("latest", "3.6.0") || !Older("3.6.0", "latest") {
		t.Error("text that is no version is taken for one")
	}
	if v, ok := ParseMinor("3.6"); !ok || v.Minor() != "3.6" {
		t.Errorf("a minor version is %v, %t", v, ok)
	}
}

// Two ways to compare versions disagree on 3.6.16-0 sooner or later: a restore then waits without end.
func TestVersionsOfEtcdAreComparedInOnePlace(t *testing.T) {
	others := []string{`"k8s.io/apimachinery/pkg/util/version"`, `"github.com/coreos/go-semver/semver"`, `"golang.org/x/mod/semver"`, `"github.com/blang/semver`, `"github.com/Masterminds/semver`}
	const root = "../.."
	for _, folder := range []string{"api", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "dbfiletest") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, other := range others {
				if bytes.Contains(source, []byte(other)) {
					t.Errorf("%s imports %s: compare versions of etcd with internal/etcdversion", path, other)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
