package operator

import (
	"crypto/tls"
	"path/filepath"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metrics are the options of the metrics endpoint. Without a valid certificate in MetricsCertDir, the server signs one at each start. A wrong
// certificate must not stop an operator that repairs clusters: Prometheus refuses the signed one, and reports the operator as down.
func (o *Options) metrics() metricsserver.Options {
	server := metricsserver.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure}
	if o.MetricsSecure {
		server.FilterProvider = filters.WithAuthenticationAndAuthorization
		server.CertDir = o.validCertDir()
	}
	return server
}

// validCertDir returns MetricsCertDir if it has a certificate with its key, and reports why if it does not.
func (o *Options) validCertDir() string {
	if o.MetricsCertDir == "" {
		return ""
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(o.MetricsCertDir, "tls.crt"), filepath.Join(o.MetricsCertDir, "tls.key")); err != nil {
		ctrl.Log.WithName("metrics").Error(err, "The certificate of the metrics endpoint cannot be used, so the operator signs one. "+
			"Correct the Secret in metrics.certSecret, and restart the operator", "directory", o.MetricsCertDir)
		return ""
	}
	return o.MetricsCertDir
}
