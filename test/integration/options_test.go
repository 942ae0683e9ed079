package integration

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// The operator leaves a variable out of a Pod if it sets the flag of the same option, because of this behaviour of etcd.
func TestEtcdDoesNotStartWithAVariableAndAFlagOfTheSameOption(t *testing.T) {
	t.Parallel()
	for _, minor := range []string{"3.4", "3.5", "3.6", "3.7"} {
		given := map[string]string{"ETCD_NAME=x": "--name=x"}
		if minor >= "3.6" {
			given["ETCD_FEATURE_GATES=CompactHashCheck=false"] = "--feature-gates=CompactHashCheck=false,InitialCorruptCheck=true"
		}
		for variable, flag := range given {
			t.Run(minor+" "+variable, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				dir := t.TempDir()
				command := exec.CommandContext(ctx, servers.EtcdProgram(t, minor), flag, "--data-dir="+filepath.Join(dir, "data"))
				command.Dir, command.Env = dir, append(os.Environ(), variable)
				said, err := command.CombinedOutput()
				if err == nil || ctx.Err() != nil || !strings.Contains(string(said), "shadowed by corresponding command-line flag") {
					t.Errorf("etcd ended with %v, context %v\n%s", err, ctx.Err(), said)
				}
			})
		}
	}
}

// Because of this behaviour of etcd, the operator reads the quota of a member before 3.6 from its Pod. It disarms no alarm
// while the quota of a running member is used up.
func TestEtcd35ReportsNoQuotaAndRaisesTheAlarmAgainWithoutRoom(t *testing.T) {
	t.Parallel()
	member := servers.Etcd(t, servers.EtcdOptions{Minor: "3.5", Args: []string{"--quota-backend-bytes=100000"}}).Members[0]
	value := strings.Repeat("x", 10_000)
	connection := ask(t, member)
	full := func(what string) etcd.Alarm {
		var alarm etcd.Alarm
		eventually(t, what, func(ctx context.Context) error {
			_ = member.TryPut(t, "key", value) // refused once the alarm is on
			status, err := connection.Status(ctx)
			if err != nil {
				return err
			}
			if status.DBQuota != 0 {
				t.Fatalf("the member reports the quota %d", status.DBQuota)
			}
			if alarms := status.Alarms(); len(alarms) == 1 && alarms[0].Kind == etcd.AlarmNoSpace {
				alarm = alarms[0]
				return nil
			}
			return errors.New("no alarm is on")
		})
		return alarm
	}
	alarm := full("the quota is used up")
	if err := connection.Disarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	full("the next write raises the alarm again")
}
