package download

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A user would wait without end, and would not know for what.
func TestAStalledDownloadIsNamedAndStartedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		stalls int32
		want   []string // parts of what the user reads
		fails  bool
	}{
		{"a download that does not stall says nothing", 0, nil, false},
		{"one stall is told with the module's name, and the next try succeeds", 1, []string{"example.com/Big v1.0.0", "try 2 of 3"}, false},
		{"after three stalls the error names the module and what to do", 3, []string{"example.com/Big v1.0.0", "Tried 3 times", "GOPROXY"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			proxy := newProxy(t, c.stalls)
			var told bytes.Buffer
			r := request(t, proxy.URL)
			if c.stalls == 0 {
				r.Stall = time.Minute // on a busy machine, the go command itself is silent for seconds
			}
			err := Modules(t.Context(), &told, r)
			if (err != nil) != c.fails {
				t.Fatalf("error %v; output:\n%s", err, told.String())
			}
			text := told.String()
			if err != nil {
				text += err.Error()
			}
			for _, part := range c.want {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in:\n%s", part, text)
				}
			}
			if c.stalls == 0 && text != "" {
				t.Errorf("printed without a reason: %s", text)
			}
		})
	}
}

// A mistake in the packages must not be taken for a bad network and repeated.
func TestAnErrorWithoutADownloadIsNotRepeated(t *testing.T) {
	r := request(t, "off")
	r.Packages = []string{"./nothing"}
	var told bytes.Buffer
	if err := Modules(t.Context(), &told, r); err == nil || !strings.Contains(err.Error(), "Tried 1 times") || told.Len() > 0 {
		t.Errorf("error %v, output %q", err, told.String())
	}
}

// A user on a bad network would have to run the command again by hand.
func TestADownloadThatStallsBeforeItsFirstModuleIsStartedAgain(t *testing.T) {
	t.Parallel()
	module := newProxy(t, 0)
	var asked atomic.Int32
	silentAtFirst := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-r.Context().Done()
			return
		}
		module.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(silentAtFirst.Close)
	var told bytes.Buffer
	r := request(t, silentAtFirst.URL)
	r.readGraphFirst(t)
	if err := Modules(t.Context(), &told, r); err != nil {
		t.Fatalf("the second try was not made: %v", err)
	}
	if !strings.Contains(told.String(), "try 2 of 3") {
		t.Errorf("the output does not name the second try: %q", told.String())
	}
}

// newProxy serves the module example.com/Big. Its first answers stop in the middle of the archive.
func newProxy(t *testing.T, stalls int32) *httptest.Server {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, content := range map[string]string{"go.mod": "module example.com/Big\n", "big.go": "package big\n"} {
		w, err := z.Create("example.com/Big@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, content)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/example.com/!big/@v/v1.0.0.info", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"Version":"v1.0.0"}`)
	})
	mux.HandleFunc("/example.com/!big/@v/v1.0.0.mod", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "module example.com/Big\n")
	})
	mux.HandleFunc("/example.com/!big/@v/v1.0.0.zip", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= stalls {
			_, _ = w.Write(archive.Bytes()[:10])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = w.Write(archive.Bytes())
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// request is for a module of its own, with an empty module cache.
func request(t *testing.T, proxy string) Request {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":  "module example.com/main\n\ngo 1.26\n\nrequire example.com/Big v1.0.0\n",
		"main.go": "package main\n\nimport _ \"example.com/Big\"\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "GOPROXY="+proxy, "GOMODCACHE="+t.TempDir(), "GOFLAGS=-mod=mod -modcacherw", "GONOSUMDB=*", "GONOSUMCHECK=1", "GOSUMDB=off")
	return Request{Dir: dir, Env: env, What: "main", Packages: []string{"."}, Stall: 2 * time.Second}
}

// readGraphFirst lets the go command read the go.mod files of all modules before it announces a download, as it does for a
// module of Go 1.16.
func (r Request) readGraphFirst(t *testing.T) {
	file := filepath.Join(r.Dir, "go.mod")
	content, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(content, []byte("go 1.26"), []byte("go 1.16"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
