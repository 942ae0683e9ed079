package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed conf
var confFiles embed.FS

// parameters are the values of the templates in conf.
type parameters struct {
	Node, Unit, Pods, Socket string
	Dir, PKI, Bin            string
	DNS, AllPods             string
	PauseImage, ShellImage   string
	DNSImage                 string
}

func (c *Cluster) parameters(n node) parameters {
	return parameters{
		Node: n.String(), Unit: n.unit(), Pods: n.pods(), Socket: c.layout.socket(n),
		Dir: c.layout.node(n, ""), PKI: c.layout.pki(""), Bin: c.bin,
		DNS: dnsService, AllPods: allPods,
		PauseImage: pauseImage, ShellImage: shellImage, DNSImage: dnsImage,
	}
}

// render executes one of the templates in conf.
func render(name string, p parameters) ([]byte, error) {
	content, err := confFiles.ReadFile("conf/" + name)
	if err != nil {
		return nil, fmt.Errorf("read the embedded %s: %w", name, err)
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("parse the embedded %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}
