package operator

import (
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// Options are the flags that all three operators have, and what each sets itself.
type Options struct {
	WatchNamespaces         []string
	LeaderElect             bool
	LeaderElectionNamespace string
	MetricsAddress          string
	// MetricsSecure serves the metrics over TLS, to clients whose token Kubernetes allows to get /metrics.
	MetricsSecure bool
	// MetricsCertDir has tls.crt and tls.key of the metrics endpoint. They are read again when they change. If it is empty, the operator
	// signs a certificate at each start.
	MetricsCertDir string
	ProbeAddress   string
	LogLevel       string
	LogFormat      string
	// Shard is the part of the objects that this operator manages; empty for those of no shard. It is part of the Lease's name,
	// so that each shard has a leader.
	Shard string
	// Server reads the clock of the API server from its answers. If it is nil, nothing does.
	Server *clock.Server
	// LeaseRetry is how often the leader renews its Lease. Another replica tries to get it after that time, or up to 2.2 times of it. Default: 2 seconds.
	LeaseRetry time.Duration
	// ByObject says what the cache holds of a kind.
	ByObject map[client.Object]cache.ByObject
}

// AddFlags adds the options with their defaults to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.WatchNamespaces, "watch-namespaces", nil, "namespaces to watch, separated by commas; if empty, the operator watches all namespaces")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "elect a leader, so that only one replica works at a time")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the leader election Lease; if empty, the namespace of the Pod")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics endpoint /metrics; 0 disables it")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve the metrics over TLS, only to clients whose token Kubernetes allows to get /metrics; if false, over plain HTTP to all")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key of the metrics endpoint; if empty or wrong, the operator signs a certificate at each start")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "address of the probe endpoints /healthz and /readyz")
	flags.StringVar(&o.LogLevel, "log-level", "info", "log level: error, info or debug")
	flags.StringVar(&o.LogFormat, "log-format", "json", "log format: json or text")
}

// AddVersionFlag adds the flag that prints the version.
func AddVersionFlag(flags *pflag.FlagSet) *bool {
	return flags.Bool("version", false, "print the version and exit")
}

func (o *Options) namespaces() map[string]cache.Config {
	if len(o.WatchNamespaces) == 0 {
		return nil
	}
	namespaces := make(map[string]cache.Config, len(o.WatchNamespaces))
	for _, name := range o.WatchNamespaces {
		namespaces[name] = cache.Config{}
	}
	return namespaces
}

// lease is the name of the Lease of an operator.
func (o *Options) lease(name string) string {
	if o.Shard != "" {
		name += "-" + o.Shard
	}
	return name + "." + v1beta2.Group
}

func (o *Options) logger() (logr.Logger, error) {
	level, err := zapcore.ParseLevel(o.LogLevel)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("invalid --log-level %q: write error, info or debug", o.LogLevel)
	}
	encoder := zap.JSONEncoder()
	switch o.LogFormat {
	case "json":
	case "text":
		encoder = zap.ConsoleEncoder()
	default:
		return logr.Logger{}, fmt.Errorf("invalid --log-format %q: write json or text", o.LogFormat)
	}
	return zap.New(zap.Level(level), encoder, zap.WriteTo(legible.Log(os.Stderr))), nil
}
