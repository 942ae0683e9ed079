package members

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Connections reach the members.
type Connections struct {
	Dial Dial
}

// target is how to reach a member. It is made before a question is asked, because the view changes meanwhile.
type target struct {
	// host is the address of its Pod.
	host string
	dial func() (Etcd, error)
	// ready: its Pod is ready, so it has the quorum that it needs to check a password.
	ready bool
}

// ErrNoAddress is for a member whose Pod has no address to dial.
var ErrNoAddress = errors.New("its Pod does not run")

// With talks to one member.
func (c *Connections) With(ctx context.Context, v *view.View, member string, do func(Etcd) error) error {
	if v.Addresses[member] == "" {
		return fmt.Errorf("reach member %s: %w", member, ErrNoAddress)
	}
	connection, err := c.dial(v, member)
	if err != nil {
		return fmt.Errorf("reach member %s: %w", member, err)
	}
	defer connection.Close()
	if err := confirmIdentity(ctx, v, member, connection); err != nil {
		return err
	}
	return do(connection)
}

// reach returns how to reach a member at its Pod's address, under its DNS name: no DNS cache stands between it and the truth.
func (c *Connections) reach(v *view.View, member string) target {
	endpoint := etcd.Endpoint{
		URL:     state.ClientURL(v.State, member),
		Address: net.JoinHostPort(v.Addresses[member], strconv.Itoa(int(v1beta2.ClientPort))),
		Login:   loginFor(v, member),
	}
	config, ready := v.TLS, false
	for _, m := range v.Members {
		ready = ready || (m.Name == member && modes.MayBeReady(v.State, m))
	}
	return target{host: v.Addresses[member], ready: ready, dial: func() (Etcd, error) { return c.Dial(endpoint, config) }}
}

// loginFor is the operator's user at a member; nil without one.
func loginFor(v *view.View, member string) *etcd.Login {
	for _, m := range v.Members {
		if m.Name == member {
			return v.Logins.At(max(m.Incarnation, state.FirstIncarnation))
		}
	}
	return nil
}

// dial reaches a member.
func (c *Connections) dial(v *view.View, member string) (Etcd, error) {
	return c.reach(v, member).dial()
}

// confirmIdentity fails if the etcd at a member's address is not the one whose answer the step was planned on. The Pod may be
// deleted since, and its address may be that of another etcd, whose history would be compacted or which would get a member.
func confirmIdentity(ctx context.Context, v *view.View, member string, connection Etcd) error {
	ctx, cancel := context.WithTimeout(ctx, passwordTimeout)
	defer cancel()
	status, err := connection.Status(ctx)
	if err != nil {
		return fmt.Errorf("confirm that member %s is at its address: %w", member, err)
	}
	if m, _ := state.Find(v.State, member); status.ClusterID != m.ClusterID || status.MemberID != m.ID {
		return fmt.Errorf("member %s of cluster %s answers at the address of member %s: %w", status.MemberID, status.ClusterID, member, view.ErrBehind)
	}
	return nil
}
