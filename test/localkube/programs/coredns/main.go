// CoreDNS with the plugins of the local Kubernetes only. Upstream's main package links every plugin, among them the SDKs
// of three clouds, which are most of its download and build.
package main

import (
	"github.com/coredns/coredns/coremain"

	// The plugins that cluster/conf/addons.yaml uses.
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() { coremain.Run() }
