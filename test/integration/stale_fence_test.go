package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// peerProxy carries what peers send to one member. cut drops what comes from one peer, or, if the member itself is cut off, from all.
type peerProxy struct {
	mu    sync.Mutex
	all   bool
	from  string
	conns map[net.Conn]string
}

func (p *peerProxy) drops(first string) bool {
	return p.all || p.from != "" && strings.Contains(strings.ToLower(first), "x-server-from: "+p.from)
}

func (p *peerProxy) cut(all bool, from string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.from = all, from
	for c, first := range p.conns {
		if p.drops(first) {
			_ = c.Close()
		}
	}
}

func (p *peerProxy) serve(l net.Listener, to string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			buffer := make([]byte, 4096)
			n, err := c.Read(buffer)
			if err != nil {
				return
			}
			p.mu.Lock()
			drop := p.drops(string(buffer[:n]))
			p.conns[c] = string(buffer[:n])
			p.mu.Unlock()
			if drop {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer out.Close()
			go func() { _, _ = io.Copy(c, out); _ = c.Close() }()
			_, _ = io.Copy(out, io.MultiReader(bytes.NewReader(buffer[:n]), c))
		}()
	}
}

// A member that its peers do not reach keeps the alarm that a quorum has turned off, and says so to the operator. The operator takes that for the
// fence of the second attempt, because it has the same ID.
func TestAMemberThatIsCutOffReportsAFenceThatIsOff(t *testing.T) {
	var proxies []*peerProxy
	var initial, advertised, listen []string
	for i := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		p := &peerProxy{conns: map[net.Conn]string{}}
		to := servers.FreeAddress(t)
		go p.serve(l, to)
		proxies, listen = append(proxies, p), append(listen, "http://"+to)
		advertised = append(advertised, "http://"+l.Addr().String())
		initial = append(initial, fmt.Sprintf("m%d=%s", i, advertised[i]))
	}
	c := servers.Etcd(t, servers.EtcdOptions{Minor: "3.6", Size: 3, ArgsOf: func(i int) []string {
		return []string{"--listen-peer-urls", listen[i], "--initial-advertise-peer-urls", advertised[i], "--initial-cluster", strings.Join(initial, ",")}
	}})
	members := []*etcd.Client{askAs(t, c.Members[0], nil), askAs(t, c.Members[1], nil), askAs(t, c.Members[2], nil)}
	put := func(i int, key string) (int64, error) {
		kv, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Members[i].ClientURL}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
		if err != nil {
			return 0, err
		}
		defer kv.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		answer, err := kv.Put(ctx, key, "value")
		if err != nil {
			return 0, err
		}
		return answer.Header.Revision, nil
	}

	// The first attempt: Switching, fenced, all members have it.
	restore := v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSwitching, Incarnation: 2, ClusterID: "bb", Revision: 1}
	id := state.RestoreFence(state.State{Restore: &restore})
	if _, err := members[0].Fence(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all members report the fence", func(ctx context.Context) error {
		for i, m := range members {
			if status, err := m.Status(ctx); err != nil || len(status.Alarms()) == 0 {
				return fmt.Errorf("member %d: %+v, %w", i, status, err)
			}
		}
		return nil
	})
	// It returns to Seeding, and takes the fence back while the peers do not reach member 0.
	status, err := members[0].Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprintf("%x", uint64(status.MemberID))
	proxies[0].cut(true, "")
	proxies[1].cut(false, own)
	proxies[2].cut(false, own)
	eventually(t, "the quorum of 1 and 2 takes the fence back", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return members[1].Unfence(ctx, id)
	})
	eventually(t, "member 0 has no leader", func(ctx context.Context) error {
		status, err = members[0].Status(ctx)
		if err == nil && status.LeaderID != 0 {
			err = errors.New("it has one")
		}
		return err
	})
	eventually(t, "1 and 2 acknowledge writes", func(context.Context) error { _, err := put(1, "before"); return err })

	// The second attempt. The operator reaches member 0 and the seed only. The Pods of 1 and 2 run.
	restore.Returns = 1
	s := state.State{
		Now: time.Now(), Namespace: "ns", Name: "example", UID: "uid-example", Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: status.Version},
		ClusterID: status.ClusterID.String(), Incarnation: 1, KnownVersion: status.Version, Restore: &restore,
		Request:  &state.RestoreRequest{Name: "back", UID: "uid-back", Revision: 1},
		Services: state.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: 1, ClientClusterID: status.ClusterID.String()},
	}
	for i := range 3 {
		m := state.Member{Name: state.InitialNames(s, 1, 3)[i], Incarnation: 1, Volume: state.VolumePresent, Pod: state.PodRunning, InService: true}
		if i == 0 {
			m.Answers, m.ClusterID, m.ID, m.Version, m.Alarms, m.Revision = true, status.ClusterID, status.MemberID, status.Version, status.Alarms(), status.Revision
		}
		s.KnownVoters, s.Members = append(s.KnownVoters, m.Name), append(s.Members, m)
	}
	s.Members = append(s.Members, state.Member{
		Name: state.InitialNames(s, 2, 1)[0], Incarnation: 2, Volume: state.VolumePresent, Pod: state.PodRunning, Answers: true, Serving: true, PodReady: true,
		ClusterID: 0xbb, ID: 77, Revision: 1000, Version: status.Version, Start: state.StartSeed,
	})
	step := plan.Plan(s)
	revision, err := put(2, "after")
	if _, adopts := step.(steps.AdoptSeed); adopts && err == nil {
		t.Errorf("the seed takes over (%s), and the old members acknowledge a write with revision %d. Member 0 reports %v at revision %d",
			steps.Describe(s, step).Message, revision, status.Alarms(), status.Revision)
	}
	t.Logf("the plan is %T: %s; %v", step, steps.Describe(s, step).Message, err)
}
