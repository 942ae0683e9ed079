package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// NetworkPeers are what every NetworkPolicy of an EtcdCluster allows, whatever the spec says. They come from the
// administrator: an operator cannot know the labels and the namespaces of the others.
type NetworkPeers struct {
	// Operator is cluster-operator itself. It connects to all ports of etcd.
	Operator []networkingv1.NetworkPolicyPeer `json:"operator"`
	// Clients connect to the client port: the other operators, and whom the administrator adds.
	Clients []networkingv1.NetworkPolicyPeer `json:"clients,omitempty"`
	// Metrics read the metrics of members.
	Metrics []networkingv1.NetworkPolicyPeer `json:"metrics,omitempty"`
}

// ParseNetworkPeers reads the flag. It returns nil for an empty text, and for one with an error: a policy without the
// operator would cut it off from its members.
func ParseNetworkPeers(text string) (*NetworkPeers, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var peers NetworkPeers
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&peers); err != nil {
		return nil, fmt.Errorf("read the peers of NetworkPolicies: %w", err)
	}
	if len(peers.Operator) == 0 {
		return nil, errors.New("the peers of NetworkPolicies have no operator: write the Pods of cluster-operator")
	}
	for _, peer := range slices.Concat(peers.Operator, peers.Clients, peers.Metrics) {
		if (peer.IPBlock != nil) == (peer.PodSelector != nil || peer.NamespaceSelector != nil) {
			return nil, errors.New("each peer of NetworkPolicies needs ipBlock alone, or podSelector, namespaceSelector or both")
		}
	}
	return &peers, nil
}
