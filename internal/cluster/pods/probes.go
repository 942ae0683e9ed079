package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

const (
	// PathWithAlarm is what the readiness probe of an earlier operator asks.
	PathWithAlarm = "/readyz"
	// pathReady is what the readiness probe asks of etcd 3.6 and newer.
	pathReady = "/readyz?exclude=data_corruption"
	// pathMetrics is what the readiness probe asks of etcd 3.4.
	pathMetrics = "/metrics"
)

// probes ask over plain HTTP. Liveness must not depend on quorum, or losing it would restart every member:
// /livez is there since 3.6, /health?serializable=true since 3.5. A member whose space is used up serves reads and
// deletions, which is the way out: it is neither restarted nor taken from the clients for that. 3.4 is never asked for
// /health: it writes each such question into its raft log, as a request of the v2 API, over which 3.6 panics.
// A member that reads its database when it starts, or is defragmented, answers nobody: how long it may is for the plan to say.
// A member with a CORRUPT alarm serves reads, and spec.readOnly is such an alarm, so it is not taken from the clients for that, either.
// Probes are no part of what a Pod is made for: Pods with other ones run on.
func probes(s state.State, incarnation int32) (startup, liveness, readiness *corev1.Probe) {
	get := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(v1beta2.MetricsPort)}}
	}
	live, ready := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(v1beta2.PeerPort)}}, get("/health?exclude=NOSPACE")
	runs, known := etcdversion.Parse(state.VersionFor(s, incarnation))
	switch {
	case known && !runs.Before(etcdversion.MustParse("3.6.0")):
		live, ready = get("/livez"), get(pathReady)
	case known && !runs.Before(etcdversion.MustParse("3.5.0")):
		live = get("/health?serializable=true&exclude=NOSPACE")
	case known:
		ready = get(pathMetrics)
	}
	const everySecond, everyTen = 1, 10
	return &corev1.Probe{ProbeHandler: live, PeriodSeconds: everySecond, TimeoutSeconds: 3, FailureThreshold: failures(lifecycle.StartupBudget(s), everySecond)},
		&corev1.Probe{ProbeHandler: live, PeriodSeconds: everyTen, TimeoutSeconds: 10, FailureThreshold: failures(lifecycle.LivenessBudget(s), everyTen)},
		&corev1.Probe{ProbeHandler: ready, PeriodSeconds: 1, TimeoutSeconds: 3, FailureThreshold: 3}
}

// ProbesAlarm reports whether a Pod is not ready while a CORRUPT alarm is on.
func ProbesAlarm(c corev1.Container) bool { return readinessPath(c) == PathWithAlarm }

// ReadyAlone reports whether a Pod is ready also while its etcd has no quorum.
func ReadyAlone(c corev1.Container) bool { return readinessPath(c) == pathMetrics }

func readinessPath(c corev1.Container) string {
	if probe := c.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		return probe.HTTPGet.Path
	}
	return ""
}

// failures are how many probes may fail within a time.
func failures(budget time.Duration, period int32) int32 {
	return int32(budget/time.Second)/period + 1
}
