package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

var tabled = []string{"3.4", "3.5", "3.6", "3.7"}

// etcdSays runs an etcd that ends by itself, and returns its output.
func etcdSays(t *testing.T, minor string, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, servers.EtcdProgram(t, minor), args...)
	command.Dir, command.Env = t.TempDir(), append(os.Environ(), env...)
	said, _ := command.CombinedOutput() // it ends with an error in most tests
	if ctx.Err() != nil {
		t.Fatalf("etcd %s did not end:\n%s", minor, said)
	}
	return string(said)
}

// A flag that a new etcd brings belongs to the user or to the operator. Without an entry in the table it would be accepted without a word.
func TestEachFlagOfTheRealProgramsIsInTheTable(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`(?m)^\s*--([a-z0-9-]+)`)
	for _, minor := range tabled {
		help := named.FindAllStringSubmatch(etcdSays(t, minor, nil, "--help"), -1)
		if len(help) < 70 {
			t.Errorf("etcd %s --help names %d flags only", minor, len(help))
		}
		for _, match := range help {
			if _, known := etcdflags.Of(etcdflags.VariableOf(match[1])); !known { // 3.7 names two flags that it no longer has
				t.Errorf("etcd %s has --%s, and internal/etcdflags/table.go does not say whose it is", minor, match[1])
			}
		}
	}
}

// etcd names each variable that it does not know. So this compares also the flags that --help does not name.
func TestTheRealProgramsTakeTheVariablesThatTheTableHas(t *testing.T) {
	t.Parallel()
	for _, minor := range tabled {
		var given []string
		for _, f := range etcdflags.All() {
			if f.Name != "config-file" && f.Name != "version" { // with a file, etcd reads no variable; VERSION is special
				given = append(given, f.Variable()+"=?")
			}
		}
		said := etcdSays(t, minor, given)
		if !strings.Contains(said, `invalid value`) {
			t.Fatalf("etcd %s has not read the variables:\n%s", minor, said)
		}
		for _, f := range etcdflags.All() {
			unknown := slices.ContainsFunc(strings.Split(said, "\n"), func(line string) bool {
				return strings.Contains(line, "unrecognized environment variable") && strings.Contains(line, f.Variable()+"=?")
			})
			if f.Name != "config-file" && f.Name != "version" && unknown == f.In(minor+".0") {
				t.Errorf("etcd %s knows %s: %t, and the table says %t", minor, f.Variable(), !unknown, f.In(minor+".0"))
			}
		}
	}
}

// Because of this behaviour of etcd, the API refuses ETCD_CONFIG_FILE: the flags that guard the data of a member would be ignored.
func TestEtcdIgnoresAllFlagsIfItHasAConfigurationFile(t *testing.T) {
	t.Parallel()
	for _, minor := range tabled {
		dir := t.TempDir()
		file := filepath.Join(dir, "etcd.yaml")
		// The file has an error, so that etcd ends. The flags have a valid value of the same option.
		if err := os.WriteFile(file, []byte("name: x\ndata-dir: "+dir+"/x\nlisten-peer-urls: from-the-file\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		said := etcdSays(t, minor, []string{"ETCD_CONFIG_FILE=" + file}, "--listen-peer-urls=http://127.0.0.1:0")
		if !strings.Contains(said, "from-the-file") {
			t.Errorf("etcd %s has not read the file:\n%s", minor, said)
		}
	}
}

// Because of this behaviour of etcd, the operator turns the variables of before 3.6 into feature gates: 3.6 does not start with both,
// and 3.7 ignores the variable.
func TestEtcdDoesNotStartWithACheckInTwoNotations(t *testing.T) {
	t.Parallel()
	const variable, gates = "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true", "--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"
	if said := etcdSays(t, "3.6", []string{variable}, gates); !strings.Contains(said, "cannot specify both flags") {
		t.Errorf("etcd 3.6 says\n%s", said)
	}
	// An invalid heartbeat ends etcd 3.7 after it has read all variables.
	if said := etcdSays(t, "3.7", []string{variable, "ETCD_HEARTBEAT_INTERVAL=soon"}, gates); !strings.Contains(said, "unrecognized environment variable") {
		t.Errorf("etcd 3.7 says\n%s", said)
	}
}
