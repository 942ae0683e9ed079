package members

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// ObserveShown reads which certificates the members serve with. The plan needs it only while a CA is replaced.
func (r *Questions) ObserveShown(ctx context.Context, v *view.View) {
	if !v.Certificates.Superseded || v.Certificates.Outdated {
		return
	}
	var looking sync.WaitGroup
	for i := range v.Members {
		m := &v.Members[i]
		if address := v.Addresses[m.Name]; address != "" && m.Pod == state.PodRunning {
			looking.Go(panics.Caught(func() {
				m.ShowsNew = r.shows(ctx, v, address, v1beta2.PeerPort, "peer") && r.shows(ctx, v, address, v1beta2.ClientPort, "server")
			}, func(error) {})) // as if it shows the old one
		}
	}
	looking.Wait()
}

// shows says whether a member serves one of its ports with the certificate that its Secret holds.
func (r *Questions) shows(ctx context.Context, v *view.View, address string, port int32, usage string) bool {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	for _, u := range state.Usages {
		if u.Name != usage {
			continue
		}
		held, err := v.Material.Pair(u).Leaf()
		if err != nil {
			return false
		}
		shown, err := r.Shown(ctx, net.JoinHostPort(address, strconv.Itoa(int(port))))
		return err == nil && bytes.Equal(shown.Raw, held.Raw)
	}
	return false
}
