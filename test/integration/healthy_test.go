package integration

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// healthLimit is how long the operator waits for the answers of all members.
const healthLimit = 2 * time.Second

// healthOf asks a member as the operator does between full looks.
func healthOf(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	return etcd.Healthy(ctx, strings.TrimPrefix(url, "http://"))
}

// isHealthy and isNot wait until a member reports that, isNot with a cause that contains the given words.
func isHealthy(t *testing.T, what, url string) {
	t.Helper()
	eventually(t, what+" is healthy", func(ctx context.Context) error { return healthOf(ctx, url) })
}

func isNot(t *testing.T, what, url, cause string) {
	t.Helper()
	eventually(t, what+" is not healthy", func(ctx context.Context) error {
		err := healthOf(ctx, url)
		if err == nil {
			return errors.New("it says that it is healthy")
		}
		if !strings.Contains(err.Error(), cause) {
			return err
		}
		return nil
	})
}

// A full look at one of a thousand clusters comes every 50 s. Between looks, these answers are all that the operator reads.
func TestTheHealthOfAMemberShowsItsAlarmsItsQuorumAndThatItHangs(t *testing.T) {
	for _, minor := range []string{"3.5", "3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			const refused = "503 Service Unavailable"
			metrics := servers.PeerURL(t)
			alone := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Args: []string{"--listen-metrics-urls=" + metrics}}).Members[0]
			isHealthy(t, "a member that serves", metrics)

			alone.Signal(syscall.SIGSTOP)
			isNot(t, "a member that hangs", metrics, context.DeadlineExceeded.Error())
			alone.Signal(syscall.SIGCONT)
			isHealthy(t, "a member that hangs no longer", metrics)

			status, statusErr := askAs(t, alone, nil).Status(t.Context())
			id, applied, err := etcd.Applied(t.Context(), strings.TrimPrefix(metrics, "http://"))
			if err := errors.Join(statusErr, err); err != nil || id != status.MemberID || applied == 0 {
				t.Errorf("the metrics are of member %s at index %d, expected %s: %v", id, applied, status.MemberID, err)
			}

			withUsers(t, alone)
			alone.EnableAuth(t)
			isHealthy(t, "a member with authentication on", metrics)

			full := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Args: []string{"--quota-backend-bytes=100000"}}).Members[0]
			eventually(t, "etcd refuses a write", func(context.Context) error {
				if full.TryPut(t, "key", strings.Repeat("x", 20000)) == nil {
					return errors.New("it was accepted")
				}
				return nil
			})
			isNot(t, "a member with the alarm NOSPACE", full.ClientURL, refused)

			pair := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 2}).Members
			isHealthy(t, "a member with a leader", pair[0].ClientURL)
			pair[1].Stop()
			isNot(t, "a member without a leader", pair[0].ClientURL, refused)
			pair[1].Start()
			isHealthy(t, "a member that has a leader again", pair[0].ClientURL)
		})
	}
}
