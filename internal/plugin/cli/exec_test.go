package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A call is what the API server was asked to run.
type call struct {
	path, token string
	command     []string
}

// execServer answers exec as an API server does: a line on the standard output, and the exit status.
func execServer(t *testing.T, status string) (*rest.Config, *[]call) {
	t.Helper()
	var calls []call
	var lock sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		calls = append(calls, call{r.URL.Path, r.Header.Get("Authorization"), r.URL.Query()["command"]})
		lock.Unlock()
		upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		said := "value\n"
		if strings.Contains(r.URL.RawQuery, "defrag") {
			said = "\x1b]52;c;cm0gLXJmIH4=\x07"
		}
		_ = conn.WriteMessage(websocket.BinaryMessage, append([]byte{1}, said...))
		_ = conn.WriteMessage(websocket.BinaryMessage, append([]byte{3}, status...))
		_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, BearerToken: "hunter2"}, &calls
}

// kitAt is a kit whose streams reach a server.
func kitAt(t *testing.T, config *rest.Config) *kit {
	t.Helper()
	k := kitOf(t, example(), podOf("example-a"), podOf("example-b"))
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	k.Known.Core, k.Known.Config = set, config
	return k
}

// Every user of a machine sees the command lines of all programs. So the token may be in no one, and a file with a key in no directory.
func TestCtlStartsNoProgramAndWritesNoFile(t *testing.T) {
	config, calls := execServer(t, `{"status":"Success"}`)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("PATH", temp) // no kubectl
	out := kitAt(t, config).must(t, "ctl", "example", "--member", "example-a", "get", "x")
	want := []call{{
		"/api/v1/namespaces/ns/pods/example-a/exec", "Bearer hunter2",
		[]string{"etcdctl", "--key=/etc/etcd/server.key", "--endpoints=https://example-a.example.ns.svc:2379", "get", "x"},
	}}
	if diff := cmp.Diff(want, *calls, cmp.AllowUnexported(call{})); diff != "" {
		t.Error(diff)
	}
	if out != "value\n" {
		t.Errorf("%q", out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

// The author of an EtcdCluster chose an image whose etcdctl wrote to the clipboard of each administrator who defragmented the cluster.
func TestDefragPrintsNoControlCharactersOfAnImage(t *testing.T) {
	config, _ := execServer(t, `{"status":"Success"}`)
	out, err := kitAt(t, config).run(t, "defrag", "example", "--yes")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "]52;c;") {
		t.Errorf("%q, error %v", out, err)
	}
}

// A script distinguishes what etcdctl found from a cluster that does not answer by the exit code.
func TestCtlEndsWithTheExitCodeOfEtcdctl(t *testing.T) {
	config, _ := execServer(t, `{"status":"Failure","reason":"NonZeroExitCode","message":"command terminated","details":{"causes":[{"reason":"ExitCode","message":"4"}]}}`)
	_, err := kitAt(t, config).run(t, "ctl", "example", "endpoint", "health")
	if err == nil || ExitCode(t.Context(), err) != 4 || !strings.Contains(err.Error(), "exit code 4") {
		t.Errorf("%v, exit code %d", err, ExitCode(t.Context(), err))
	}
}

// A proxy between the user and the API server may not pass WebSockets. kubectl exec works there, and ctl must, too.
func TestCtlUsesSPDYIfWebSocketsAreRefused(t *testing.T) {
	var methods []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method+" "+r.Header.Get("Upgrade"))
		http.Error(w, "no upgrade", http.StatusForbidden)
	}))
	defer server.Close()
	_, err := kitAt(t, &rest.Config{Host: server.URL}).run(t, "ctl", "example", "endpoint", "health")
	if diff := cmp.Diff([]string{"GET websocket", "POST SPDY/3.1"}, methods); diff != "" || err == nil {
		t.Errorf("%v %s", err, diff)
	}
}
