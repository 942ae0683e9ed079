package operator

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metrics are the options of the metrics endpoint. Without a certificate of its own, the server signs one at each start.
func (o *Options) metrics() metricsserver.Options {
	server := metricsserver.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure}
	if o.MetricsSecure {
		server.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return server
}
