package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// api is a minimal client of the Kubernetes API, for starting a cluster.
type api struct {
	client *http.Client
}

func (c *Cluster) api() (*api, error) {
	pair, err := tls.LoadX509KeyPair(c.layout.pki("admin.crt"), c.layout.pki("admin.key"))
	if err != nil {
		return nil, fmt.Errorf("read the administrator's certificate: %w", err)
	}
	caPEM, err := os.ReadFile(c.layout.pki("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the CA's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(caPEM)
	return &api{client: &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}},
	}}, nil
}

// get reads a path and decodes the JSON of the response into into, unless it is nil.
func (a *api) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, apiServer+path, nil)
	if err != nil {
		return fmt.Errorf("request %s from the API server: %w", path, err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the API server's response to %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server responded %s to %s", response.Status, path)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decode the API server's response to %s: %w", path, err)
	}
	return nil
}

type nodeList struct {
	Items []nodeObject `json:"items"`
}

type nodeObject struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Taints []struct {
			Key string `json:"key"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type          string    `json:"type"`
			Status        string    `json:"status"`
			Message       string    `json:"message"`
			LastHeartbeat time.Time `json:"lastHeartbeatTime"`
		} `json:"conditions"`
	} `json:"status"`
}

type podList struct {
	Items []podObject `json:"items"`
}

type podObject struct {
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Containers []struct {
			Ready bool `json:"ready"`
			State struct {
				Running *struct {
					StartedAt time.Time `json:"startedAt"`
				} `json:"running"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

// startedSince reports whether all containers of the Pod are ready and were
// started after since. A Pod of a stopped node looks ready for up to 20 s.
func (o podObject) startedSince(since time.Time) bool {
	for _, c := range o.Status.Containers {
		if !c.Ready || c.State.Running == nil || c.State.Running.StartedAt.Before(since.Truncate(time.Second)) {
			return false
		}
	}
	return len(o.Status.Containers) > 0
}

// missing lists the nodes on which none of these Pods is ready, or returns "".
func (l podList) missing(nodes []node, since time.Time) string {
	var without []string
	for _, n := range nodes {
		has := func(o podObject) bool { return o.Spec.NodeName == n.String() && o.startedSince(since) }
		if !slices.ContainsFunc(l.Items, has) {
			without = append(without, n.String())
		}
	}
	return strings.Join(without, ", ")
}

// notReady returns why Pods cannot run on the node, or "" if they can. It ignores
// what the node reported before since, because that may be from before a restart.
func (o nodeObject) notReady(since time.Time) string {
	for _, taint := range o.Spec.Taints {
		if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			return "has the taint " + taint.Key
		}
	}
	for _, condition := range o.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status != "True" {
			return "is not Ready: " + condition.Message
		}
		if condition.LastHeartbeat.Before(since.Truncate(time.Second)) {
			return "has not reported its status since it was started"
		}
		return ""
	}
	return "has not reported its status yet"
}

// unready returns which of the nodes are not ready and why, or "" if all are ready.
func (l nodeList) unready(nodes []node, since time.Time) string {
	var reasons []string
	for _, n := range nodes {
		reason := "is not registered"
		for _, o := range l.Items {
			if o.Metadata.Name == n.String() {
				reason = o.notReady(since)
			}
		}
		if reason != "" {
			reasons = append(reasons, n.String()+" "+reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// notReadyReason reads the status of the nodes and of their DNS. It returns what
// is not ready yet, or "" if everything is.
func (a *api) notReadyReason(ctx context.Context, nodes []node, since time.Time) (nodeList, string) {
	var list nodeList
	if err := a.get(ctx, "/api/v1/nodes", &list); err != nil {
		return list, err.Error()
	}
	if reason := list.unready(nodes, since); reason != "" {
		return list, reason
	}
	var dns podList
	if err := a.get(ctx, "/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-dns", &dns); err != nil {
		return list, err.Error()
	}
	if without := dns.missing(nodes, since); without != "" {
		return list, "DNS is not ready on " + without
	}
	return list, ""
}
