package cluster

import (
	"context"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// Options of the controller.
type Options struct {
	// SeedProgress asks how far a seed is; nil does so over the network.
	SeedProgress observe.SeedProgress
	// SeedImage is the image of restore-operator, which restores the first member of a restored cluster.
	SeedImage string
	// SeedEnv are the variables with which that init container reaches object stores. See package reach.
	SeedEnv map[string]string
	// Metrics is where the controller's metrics are registered; nil registers none.
	Metrics prometheus.Registerer
	// Server is the clock of the API server, if its answers are read.
	Server *clock.Server
	// Dial reaches a member; nil does so over the network.
	Dial members.Dial
	// Applied reads from a member's metrics its ID and the index of the last entry that it has applied. If it is nil, and Dial is nil, too, it does so
	// over the network.
	Applied func(ctx context.Context, address string) (etcd.ID, uint64, error)
	// Shard is the value of the label of the EtcdClusters to manage; empty for those without the label.
	Shard string
	// MaxReplacements is in how many EtcdClusters lost members are replaced at the same time; 0 means Replacements.
	// ReplacementsPerMinute is how many may begin in a minute; 0 means ReplacementsPerMinute.
	MaxReplacements, ReplacementsPerMinute int
	// MaxConcurrent is how many EtcdClusters are managed at the same time; 0 means Concurrency.
	MaxConcurrent int
	// Defects of etcd to add to the known ones, as JSON.
	Defects string
	// Issuers of cert-manager that EtcdClusters may name beside the Issuers of their namespace: kind/name or kind.group/name.
	Issuers []string
	// CertificateDomains are the DNS domains outside of Kubernetes in which cert-manager may be asked for names.
	CertificateDomains []string
	// NetworkPeers are what the NetworkPolicies of EtcdClusters allow, as JSON. If it is empty, the operator neither reads nor writes them.
	NetworkPeers string
	// EtcdRepository is the image of etcd, without its tag, for EtcdClusters that do not choose one; empty for the default of the API.
	// EtcdPullSecrets are the Secrets for it in the namespace of each EtcdCluster that names none.
	EtcdRepository  string
	EtcdPullSecrets []string
}

// AddFlags adds the flags of the controller with their defaults to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.SeedImage, "seed-image", "ghcr.io/etcd-suite/restore-operator:"+operator.Version,
		"image of restore-operator, whose init container restores the first member of a restored cluster")
	flags.IntVar(&o.MaxConcurrent, "max-concurrent-clusters", queue.Concurrency, "maximum number of EtcdClusters that are managed at the same time; further ones wait")
	flags.StringVar(&o.Shard, "shard", "", "manage only the EtcdClusters whose label "+v1beta2.LabelShard+" has this value; if empty, those without the label")
	flags.IntVar(&o.MaxReplacements, "max-replacements", queue.Replacements, "maximum number of EtcdClusters in which members that were lost are replaced at the same time; further ones wait")
	flags.StringVar(&o.Defects, "etcd-defects", "", "releases of etcd to advise against, beside the known ones: a JSON list of objects with from, fixed, effect and source. An invalid entry is logged and left out")
	flags.StringSliceVar(&o.CertificateDomains, "certificate-domains", nil, "DNS domains outside of Kubernetes, separated by commas, in which cert-manager may be asked for the names of TLS.certManager.extraNames. Empty means none")
	flags.StringSliceVar(&o.Issuers, "cert-manager-issuers", nil, "issuers of cert-manager that EtcdClusters may name beside the Issuers of their namespace, separated by commas: kind/name or kind.group/name, for example ClusterIssuer/etcd. The name * means all of the kind. An invalid entry is logged and left out")
	flags.StringVar(&o.NetworkPeers, "network-policy-peers", "", "peers that the NetworkPolicies of all EtcdClusters allow, as a JSON object with three lists as in \"from\" of a NetworkPolicy. operator has the Pods of cluster-operator, clients has others at port 2379, and metrics has others at port 2381. If the flag is empty or invalid, the operator neither reads nor writes NetworkPolicies")
	flags.StringVar(&o.EtcdRepository, "etcd-repository", "", "image of etcd, without its tag, for the EtcdClusters that leave repository at its default and have no image.repository; if empty, "+v1beta2.DefaultRepository+". A change restarts the members of these clusters one at a time")
	flags.StringSliceVar(&o.EtcdPullSecrets, "etcd-pull-secrets", nil, "names of Secrets with the credentials of the registry, separated by commas, for the Pods of EtcdClusters without pod.imagePullSecrets. They must exist in the namespace of each of these clusters. A change restarts the members of these clusters one at a time")
	flags.IntVar(&o.ReplacementsPerMinute, "replacements-per-minute", queue.ReplacementsPerMinute, "maximum number of such replacements that begin in one minute")
}

// logInvalid logs options with an error, which New leaves out.
func logInvalid(log logr.Logger, options Options) {
	if _, err := etcdversion.ParseDefects(options.Defects); err != nil {
		log.Error(err, "The list of --etcd-defects has invalid entries. The operator continues with the others. Correct the value clusterOperator.etcdDefects of the chart")
	}
	if _, err := certificates.ParseIssuers(options.Issuers); err != nil {
		log.Error(err, "The list of --cert-manager-issuers has invalid entries. The operator continues with the others. Correct the value clusterOperator.certManagerIssuers of the chart")
	}
	if _, err := objects.ParseNetworkPeers(options.NetworkPeers); err != nil {
		log.Error(err, "The flag --network-policy-peers is invalid. The operator continues without NetworkPolicies. Correct the value clusterOperator.networkPolicyPeers of the chart")
	}
}
