package podrunner

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pod is one Pod from its creation to its deletion.
type pod struct {
	runner *Runner
	name   string
	spec   corev1.PodSpec
	dir    string
	// ctx ends when its processes must be killed.
	ctx  context.Context
	kill context.CancelFunc
	// stop is closed when the Pod is deleted, after grace is set.
	stop  chan struct{}
	grace time.Duration
	once  sync.Once

	address netip.Addr
	status  status

	mu      sync.Mutex
	current *process
	// seen are the Pod's annotations at the last observation.
	seen map[string]string
}

var errWaiting = errors.New("an object that the Pod needs does not exist yet")

// interval between two observations of the namespace's Pods and claims.
const interval = 50 * time.Millisecond

// Runner runs the Pods of one namespace.
type Runner struct {
	t         testing.TB
	client    client.WithWatch
	namespace string
	dir       string
	programs  map[string]string // by minor
	self      string
	names     *names

	mu   sync.Mutex
	pods map[types.UID]*pod
	// mount prepares the directory of a new claim; nil for nothing.
	mount func(dir string) error
}

// status writes the changes of a Pod's status. Only the Pod's own goroutine uses it.
type status struct {
	runner *Runner
	object *corev1.Pod
}
