package cli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func clientSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example-client-tls"}, Data: map[string][]byte{
		v1beta2.ClientCAKey: []byte("ca"), v1beta2.ClientCertKey: []byte("cert"), v1beta2.ClientKeyKey: []byte("key"),
	}}
}

// A private key that other users of the machine can read gives them all data of the cluster.
func TestEnvWritesAKeyThatOnlyTheUserReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	k := kitOf(t, example(), clientSecret())
	out := k.must(t, "env", "example", "--dir", dir, "--port", "12379")
	screen(t, "env", strings.ReplaceAll(out, dir, "DIR"))
	if strings.Contains(out+k.err.String(), "BEGIN") || !strings.Contains(k.err.String(), "private key") {
		t.Errorf("%s", k.err.String())
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	file := filepath.Join(dir, v1beta2.ClientKeyKey)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	k.must(t, "env", "example", "--dir", dir)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := kitOf(t, example()).run(t, "env", "example", "--dir", dir); err == nil || !strings.Contains(err.Error(), "example-client-tls") {
		t.Errorf("without the Secret: %v", err)
	}
}

// A key that remains on the machine after the tunnel is closed gives its next user all data of the cluster.
func TestPortForwardReachesTheMemberAndLeavesNoFile(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	k := kitAt(t, &rest.Config{Host: member(t)})
	ctx, cancel := context.WithCancel(t.Context())
	root, printed := command(k.Session, "1.2.3"), &watched{}
	k.Out = printed
	root.SetArgs([]string{"port-forward", "example", "--port", "0"})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	port := printed.await(t, regexp.MustCompile(`localhost:(\d+)`), ended)
	conn, err := net.Dial("tcp", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "ping" {
		t.Errorf("%q %v", answer, err)
	}
	if keys, err := filepath.Glob(filepath.Join(temp, "*", v1beta2.ClientKeyKey)); err != nil || len(keys) != 1 {
		t.Errorf("the variables name no key: %v %v", keys, err)
	}
	conn.Close()
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

// watched is an output that a test reads while it is written.
type watched struct {
	lock sync.Mutex
	text strings.Builder
}

func (w *watched) Write(text []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.text.Write(text)
}

// await returns what the group of a pattern matches, as soon as the output has it.
func (w *watched) await(t *testing.T, pattern *regexp.Regexp, ended <-chan error) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		w.lock.Lock()
		found := pattern.FindStringSubmatch(w.text.String())
		w.lock.Unlock()
		if found != nil {
			return found[1]
		}
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatalf("the command ended: %v", err)
		}
	}
}

// member is an API server with the client's Secret. Its tunnels answer with what they get.
func member(t *testing.T) string {
	t.Helper()
	secret, err := json.Marshal(clientSecret())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/portforward") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(secret)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return // a WebSocket: the client falls back to SPDY
		}
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
				go func() { _, _ = io.Copy(stream, stream) }()
			}
			return nil
		})
		if conn != nil {
			<-conn.CloseChan()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestCheckFailsIfTheSuiteCannotBeInstalled(t *testing.T) {
	k := kitOf(t)
	out, err := k.run(t, "check")
	if err == nil || ExitCode(t.Context(), err) != 1 || !strings.Contains(out, "Nodes          failed") {
		t.Errorf("%v\n%s", err, out)
	}
}
