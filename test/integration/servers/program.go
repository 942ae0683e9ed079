package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Program returns the path of the first of names that TEST_BIN holds, and ends
// the test where there is none.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	dir := os.Getenv("TEST_BIN")
	if dir == "" {
		unavailable(t, "TEST_BIN names no directory with "+names[0])
	}
	for _, name := range names {
		if path := filepath.Join(dir, name); executable(path) {
			return path
		}
	}
	unavailable(t, "no "+strings.Join(names, " or ")+" in TEST_BIN "+dir)
	return ""
}

// EtcdProgram returns the etcd server of a minor version such as "3.6": either
// TEST_BIN/etcd-3.6, or TEST_BIN/etcd if that is what it says it is.
func EtcdProgram(t testing.TB, minor string) string {
	t.Helper()
	return versioned(t, "etcd", minor, "--version")
}

// EtcdutlProgram returns the etcdutl of a minor version, found like etcd's.
func EtcdutlProgram(t testing.TB, minor string) string {
	t.Helper()
	return versioned(t, "etcdutl", minor, "version")
}

// EtcdctlProgram returns the etcdctl of a minor version, found like etcd's.
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
		t.Fatalf("ask %s for its version: %v\n%s", path, err, out)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if !strings.Contains(first, ": "+minor+".") {
		unavailable(t, "no "+name+"-"+minor+" in TEST_BIN, and "+path+" is "+first)
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
		t.Fatal(why + ": run make integration, which builds the programs (CI=true: nothing may be skipped)")
	}
	t.Skip(why + ": run make integration, which builds the programs")
}
