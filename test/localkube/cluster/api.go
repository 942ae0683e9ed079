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

// api is the little of Kubernetes' API that bringing a cluster up needs.
type api struct {
	client *http.Client
}

func (c *Cluster) api() (*api, error) {
	pair, err := tls.LoadX509KeyPair(c.layout.pki("admin.crt"), c.layout.pki("admin.key"))
	if err != nil {
		return nil, fmt.Errorf("read the administrator's certificate: %w", err)
	}
	authority, err := os.ReadFile(c.layout.pki("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the authority's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &api{client: &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}},
	}}, nil
}

// get reads a path; into is nil, or takes the JSON of the answer.
func (a *api) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, apiServer+path, nil)
	if err != nil {
		return fmt.Errorf("ask the API server for %s: %w", path, err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the API server: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the API server's answer to %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server says %s to %s", response.Status, path)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read the API server's answer to %s: %w", path, err)
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

// startedSince says whether the Pod's containers are ready, and were started
// since then: a Pod of a node that was off still looks ready for a while.
func (o podObject) startedSince(since time.Time) bool {
	for _, c := range o.Status.Containers {
		if !c.Ready || c.State.Running == nil || c.State.Running.StartedAt.Before(since.Truncate(time.Second)) {
			return false
		}
	}
	return len(o.Status.Containers) > 0
}

// missing says which of the nodes have none of these Pods ready; "" if all do.
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

// notReady says why Pods cannot run on the node, or "" if they can. What the
// node said before since, when it may have been another life, does not count.
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
			return "has said nothing since it was started"
		}
		return ""
	}
	return "has said nothing yet"
}

// unready says which of the nodes are not ready, and why; "" if all are.
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

// whyNotReady asks for the nodes and their DNS, and says what is not ready
// yet; "" if all is.
func (a *api) whyNotReady(ctx context.Context, nodes []node, since time.Time) (nodeList, string) {
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
