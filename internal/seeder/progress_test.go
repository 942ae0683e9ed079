package seeder

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// Defect 9 of coreos/etcd-operator: its Service gave the whole snapshot to every client.
func TestSeedServesItsProgressAndNothingElse(t *testing.T) {
	s := &Seeder{Log: logr.Discard()}
	server := httptest.NewServer(s.handler())
	defer server.Close()
	s.progress.fetching(50, 100)
	ask := func(path string) (int, string) {
		response, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, strings.TrimSpace(string(body))
	}
	if code, body := ask(seed.ProgressPath); code != http.StatusOK || body != `{"percent":35}` {
		t.Errorf("status %d, body %s", code, body)
	}
	for _, path := range []string{"/", "/v1/backup/example", "/debug/pprof/"} {
		if code, body := ask(path); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

func TestProgressCoversTheDownloadAndTheRestore(t *testing.T) {
	var p progress
	data := filepath.Join(t.TempDir(), "data")
	check := func(want int32) {
		t.Helper()
		if got := p.percent(); got != want {
			t.Errorf("%d %%, want %d %%", got, want)
		}
	}
	check(0)
	p.fetching(1, 0)
	check(0)
	p.fetching(100, 100)
	check(70)
	p.restoring(data, 1000)
	check(70)
	database := filepath.Join(data+".restoring", "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(database), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(database, make([]byte, 500), 0o600); err != nil {
		t.Fatal(err)
	}
	check(85)
	if err := os.WriteFile(database, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	check(99)
}

// A planned promotion waits if etcd would refuse the operators after it, which cluster-operator sees only here: the data has the users of the source.
func TestAStandbySaysWhetherItsDataHasAuthenticationOn(t *testing.T) {
	for state, want := range map[auth.Switch]bool{auth.On: true, auth.SwitchOf(false): false, auth.State{}.Enabled: false} {
		var p progress
		p.following(standby.Status{Auth: auth.State{Enabled: state}})
		if said := p.report(time.Now()); said.Following == nil || said.Following.Authentication != want {
			t.Errorf("%v: %+v", state, said.Following)
		}
	}
}
