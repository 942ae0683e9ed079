package operator

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Version of the suite. The linker sets it.
var Version = "dev"

// versionLabel is the label of a Lease with the version of the operator that holds it.
const versionLabel = "app.kubernetes.io/version"

var notInLabels = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// leaseLabels are the labels of the Lease while this process leads.
func leaseLabels(version string) map[string]string {
	value := notInLabels.ReplaceAllString(version, "_")
	return map[string]string{versionLabel: strings.Trim(value[:min(len(value), 63)], "._-")}
}

// RegisterBuildInfo registers a metric that is always 1 and whose labels are the operator and the versions of it and of Go.
func RegisterBuildInfo(registry prometheus.Registerer, name string) error {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "etcd_operator_build_info",
		Help: "Always 1. The labels are the operator, its version, and the Go release that compiled it.",
	}, []string{"operator", "version", "goversion"})
	info.WithLabelValues(name, Version, runtime.Version()).Set(1)
	if err := registry.Register(info); err != nil {
		return fmt.Errorf("register the version as a metric: %w", err)
	}
	return nil
}
