package lifecycle_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
)

func ended(restarts int32, code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: lifecycle.EtcdContainer, RestartCount: restarts,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}},
	}
}

const walDamaged = `{"level":"fatal","ts":"2026-11-21T08:25:03Z","caller":"storage/util.go:95","msg":"failed to open WAL","error":"walpb: crc mismatch"}`

// The messages are from etcd 3.6.16 with random bytes in its files. The kubelet keeps the last 2 KiB of a message.
func TestAMemberIsCorruptWhenEtcdSaysSoAgainAndAgain(t *testing.T) {
	tests := map[string]struct {
		status corev1.ContainerStatus
		want   bool
	}{
		"its WAL is damaged":                              {ended(3, 1, walDamaged), true},
		"its database cannot be opened":                   {ended(5, 2, "go.etcd.io/etcd/server/v3/storage.newBackend({{0x7fffe077a9a2, 0x1}\n\t.../backend.go:55 +0x39b"), true},
		"its database is truncated":                       {ended(5, 2, "go.etcd.io/bbolt.(*DB).freepages.func2()\n\tgo.etcd.io/bbolt@v1.4.3/db.go:1246"), true},
		"its data differs from that of the other members": {ended(3, 1, `{"level":"fatal","msg":"x","error":"failed to find data: found data inconsistency with peers"}`), true},
		"it reported a damaged WAL only once":             {ended(1, 1, walDamaged), false},
		"its disk is full":                                {ended(9, 2, "panic: write: no space left on device\nstorage.newBackend("), false},
		"a flag is wrong":                                 {ended(9, 1, `{"level":"fatal","msg":"failed to verify flags","error":"unknown flag"}`), false},
		"its initial cluster differs from the membership": {ended(9, 1, `{"level":"fatal","msg":"discovery failed","error":"member count is unequal"}`), false},
		"it exited with code 0":                           {ended(9, 0, walDamaged), false},
		"it has not exited":                               {corev1.ContainerStatus{Name: lifecycle.EtcdContainer}, false},
	}
	for name, test := range tests {
		if got := lifecycle.SaysCorrupt(test.status); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// The messages are from etcd 3.4 to 3.7 on an empty data directory, with a --initial-cluster that does not name the member.
func TestAMemberIsEmptyWhenEtcdRefusesToStartWithoutData(t *testing.T) {
	for what, test := range map[string]struct {
		status corev1.ContainerStatus
		want   bool
	}{
		"etcd 3.4":           {ended(1, 1, `2026-11-27 12:46:42.356506 C | etcdmain: couldn't find local name "x" in the initial cluster configuration`), true},
		"etcd 3.5 to 3.7":    {ended(1, 1, `{"level":"fatal","msg":"discovery failed","error":"couldn't find local name \"x\" in the initial cluster configuration","stacktrace":"..."}`), true},
		"its WAL is damaged": {ended(9, 1, walDamaged), false},
		"it ended well":      {ended(1, 0, "couldn't find local name"), false},
		"it has not ended":   {corev1.ContainerStatus{Name: lifecycle.EtcdContainer}, false},
	} {
		if got := lifecycle.SaysEmpty(test.status); got != test.want {
			t.Errorf("%s: %v, want %v", what, got, test.want)
		}
	}
}

func TestLastWordsAreTheSameAtEachRestart(t *testing.T) {
	for text, want := range map[string]string{
		walDamaged: "failed to open WAL: walpb: crc mismatch",
		"{\"level\":\"panic\",\"ts\":\"now\"}\npanic: freepages: failed to get all reachable pages (page 4)\n\ngoroutine 7 [running]:\nmain.main()": "panic: freepages: failed to get all reachable pages (page 4)",
		"one\ntwo\n": "two",
		`{"level":"info","ts":"now","msg":"closed"}`: "closed",
		`{"level":"fatal","ts":"now","msg":"failed to commit tx","error":"no space left","stacktrace":"` + strings.Repeat("a frame,", 200) + `"}`: "failed to commit tx: no space left",
	} {
		if got := lifecycle.LastWords(text); got != want {
			t.Errorf("last words %q, want %q", got, want)
		}
	}
}

// What etcd logged when it was started on the data of the next minor version. Without it the operator does not know that the version in the
// status is an old one.
func TestEtcdThatIsOlderThanItsDataSaysWhatItNeeds(t *testing.T) {
	for message, want := range map[string]string{
		`2026-11-28 00:26:54.641457 C | etcdserver/membership: cluster cannot be downgraded (current version: 3.4.15 is lower than determined cluster version: 3.5).`:                                                                                    "3.5",
		`{"level":"fatal","caller":"membership/downgrade.go:69","msg":"invalid downgrade; server version is lower than determined cluster version","current-server-version":"3.5.35","determined-cluster-version":"3.6","stacktrace":"go.etcd.io/etcd"}`: "3.6",
		`{"level":"fatal","caller":"etcdmain/etcd.go:183","msg":"discovery failed","error":"version \"3.7.0\" is not supported","stacktrace":"go.etcd.io/etcd/server/v3/etcdmain.startEtcdOrProxyV2"}`:                                                   "3.7",
		`{"level":"fatal","msg":"discovery failed","error":"no space left on device"}`:                                                                                                                                                                   "",
	} {
		ended := corev1.ContainerStatus{LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: message}}}
		if got := lifecycle.SaysTooOld(ended); got != want {
			t.Errorf("%s\nneeds %q, want %q", message, got, want)
		}
	}
}
