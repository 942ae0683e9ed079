package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Program returns the path of the first of names that exists in TEST_BIN. If none
// exists, it ends the test.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	dir := os.Getenv("TEST_BIN")
	if dir == "" {
		unavailable(t, "TEST_BIN is not set, so "+names[0]+" cannot be found")
	}
	for _, name := range names {
		if path := filepath.Join(dir, name); executable(path) {
			return path
		}
	}
	unavailable(t, "TEST_BIN "+dir+" does not contain "+strings.Join(names, " or "))
	return ""
}

// EtcdProgram returns the etcd server of a minor version such as "3.6":
// TEST_BIN/etcd-3.6, or TEST_BIN/etcd if it reports that version.
func EtcdProgram(t testing.TB, minor string) string {
	t.Helper()
	return versioned(t, "etcd", minor, "--version")
}

// EtcdutlProgram returns the etcdutl of a minor version, like EtcdProgram.
func EtcdutlProgram(t testing.TB, minor string) string {
	t.Helper()
	return versioned(t, "etcdutl", minor, "version")
}

// EtcdctlProgram returns the etcdctl of a minor version, like EtcdProgram.
func EtcdctlProgram(t testing.TB, minor string) string {
	t.Helper()
	return versioned(t, "etcdctl", minor, "version")
}

func versioned(t testing.TB, name, minor, flag string) string {
	t.Helper()
	path := Program(t, name+"-"+minor, name)
	if strings.HasSuffix(path, minor) {
		return path
	}
	out, err := exec.CommandContext(t.Context(), path, flag).CombinedOutput()
	if err != nil {
		t.Fatalf("read the version of %s: %v\n%s", path, err, out)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if !strings.Contains(first, ": "+minor+".") {
		unavailable(t, "TEST_BIN does not contain "+name+"-"+minor+", and "+path+" reports "+first)
	}
	return path
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func unavailable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why + ": run make integration, which builds the programs (CI=true: no test may be skipped)")
	}
	t.Skip(why + ": run make integration, which builds the programs")
}
