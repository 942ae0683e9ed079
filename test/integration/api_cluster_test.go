package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

const (
	wantSize       = "spec.size: size must be 1 to 7: write 3 (tolerates the loss of one member) or 5 (tolerates the loss of two)"
	wantVersion    = `spec.version: version must be three numbers in quotes: write for example "3.6.16"`
	wantLong       = "<nil>: the name of an EtcdCluster can have at most 52 characters, because its members' names add 11: choose a shorter name"
	wantName       = "<nil>: the name of an EtcdCluster is also the name of a Service. Use lower-case letters, digits and '-'. Start with a letter, and end with a letter or digit"
	wantClientName = "spec.TLS.certManager.clientCommonName: clientCommonName must have only lower-case letters, digits, dots, hyphens and underscores, because other services may trust the same CA: write for example client"
	wantSuffix     = "<nil>: the name of a new EtcdCluster cannot end in -client, because <name>-client is the Service of another EtcdCluster: choose another name"
	wantLabels     = "spec.pod.labels: the label keys app, etcd_* and etcd.database.coreos.com/* are reserved for the operator: choose other keys"
	wantAnnotation = "spec.pod.annotations: the annotation keys etcd.version and etcd.database.coreos.com/* are reserved for the operator: choose other keys"

	wantOwnLabels = "spec.metadata.labels: the label keys app and etcd_* are reserved for the operator: choose other keys"
	wantNoDomain  = "the domains kubernetes.io, k8s.io, cert-manager.io and etcd.database.coreos.com are reserved: choose keys of another domain, of app.kubernetes.io, or without one. What is for Pods only belongs into pod."
	// after it: labels or annotations
	wantForPods = ", and what is for the client Service into service."
	wantKey     = "a key is a name of at most 63 characters, after a domain and a slash if it has one: write for example cost-center or example.com/team"
	wantValue   = "spec.metadata.labels: the value of a label has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"

	wantPath      = "spec.pod.volumeMounts: mountPath must be an absolute path without '//', '/.' and ':', and without a slash at its end: write for example /etc/jwt"
	wantOtherPath = "spec.pod.volumeMounts: /var/etcd has the data of etcd, and /etc/etcdtls the certificates, so nothing else may be mounted there or above: choose another mountPath, for example /etc/jwt"

	wantGrace     = `spec.recovery.memberReplacementGrace: memberReplacementGrace must be 30s to 999999h, because a restarting member needs 30 s: write for example "5m"`
	wantVolume    = "spec: quorumLoss: ForceNewCluster needs a volume, and pod.emptyDir has none: remove one of the two; without volumes, recover with an EtcdRestore"
	wantTag       = `spec.image.tag: tag must contain {version} once, beside letters, digits, '_', '.' and '-': write for example "{version}-0"`
	wantQuota     = "spec: etcd.quotaBackendBytes is more than a member's volume holds (default 8Gi): lower it, or raise pod.persistentVolumeClaimSpec.resources.requests.storage"
	wantElection  = "spec.etcd: electionTimeout (default 1s) must be at least five times heartbeatInterval (default 100ms), as etcd requires: raise electionTimeout, or lower heartbeatInterval"
	wantRetention = `spec.etcd.autoCompaction: retention does not fit mode: write a time from 1m for Periodic ("5m"), or a number of revisions for Revision ("1000")`

	wantClients = "spec: service.type NodePort or LoadBalancer is for clients outside of Kubernetes, which networkPolicy does not allow by default: write networkPolicy.clientsFrom, for example [{ipBlock: {cidr: 10.0.0.0/8}}]"

	wantNoSource = "spec.pod.persistentVolumeClaimSpec: a volume that is made from dataSource or dataSourceRef has the identity of another member: remove the field. To start from saved data, restore a snapshot with an EtcdRestore"

	wantClientTLS = "spec.TLS: acceptClients needs TLS for clients: write managed, certManager, or static with operatorSecret"
	wantTLS       = "spec.TLS.static: operatorSecret and member.serverSecret require each other: write both to turn on TLS for clients, or neither"
)

// mountedAt is a spec.pod whose etcd mounts a volume at a path.
func mountedAt(path string) string {
	return "{volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: " + path + "}]}"
}

func TestInvalidEtcdClusterIsRefused(t *testing.T) {
	runRefused(t, "EtcdCluster", map[string]refused{
		"no spec":                         {spec: "", want: "spec: Required value"},
		"no size":                         {spec: "{}", want: "spec.size: Required value"},
		"size 0":                          {spec: "{size: 0}", want: wantSize},
		"a negative size":                 {spec: "{size: -1}", want: wantSize},
		"size 8":                          {spec: "{size: 8}", want: wantSize},
		"size 12":                         {spec: "{size: 12}", want: wantSize},
		"a size in words":                 {spec: "{size: three}", want: `spec.size: in body must be of type integer: "string"`},
		"a version of two numbers":        {spec: `{size: 3, version: "3.6"}`, want: wantVersion},
		"a word as version":               {spec: "{size: 3, version: latest}", want: wantVersion},
		"two v before a version":          {spec: "{size: 3, version: vv3.6.16}", want: wantVersion},
		"a version of four numbers":       {spec: "{size: 3, version: 3.6.16.1}", want: wantVersion},
		"a space in a version":            {spec: `{size: 3, version: "3.6.16 "}`, want: wantVersion},
		"a version with build metadata":   {spec: "{size: 3, version: 3.6.16+build}", want: wantVersion},
		"a version that YAML has rounded": {spec: "{size: 3, version: 3.6}", want: `spec.version: in body must be of type string: "number"`},
		"a version that is too long":      {spec: "{size: 3, version: 3.6.16-" + strings.Repeat("a", 64) + "}", want: "spec.version: may not be more than 64 bytes"},
		"a repository that is too long":   {spec: "{size: 3, repository: " + strings.Repeat("a", 513) + "}", want: "spec.repository: may not be more than 512 bytes"},

		"an address of mail as the name of clients":   {spec: `{size: 3, TLS: {certManager: {issuerRef: {name: ca}, clientCommonName: "alice@example.com"}}}`, want: wantClientName},
		"a user of Kubernetes as the name of clients": {spec: `{size: 3, TLS: {certManager: {issuerRef: {name: ca}, clientCommonName: "system:admin"}}}`, want: wantClientName},

		"a memberReplacementGrace of 29 s": {spec: "{size: 3, recovery: {memberReplacementGrace: 29s}}", want: wantGrace},
		"an unknown quorumLoss":            {spec: "{size: 3, recovery: {quorumLoss: Always}}", want: `spec.recovery.quorumLoss: Unsupported value: "Always": supported values: "Wait", "ForceNewCluster"`},
		"ForceNewCluster with an emptyDir": {spec: "{size: 3, pod: {emptyDir: {}}, recovery: {quorumLoss: ForceNewCluster}}", want: wantVolume},

		"an unknown noSpace action":                {spec: "{size: 3, noSpace: {action: Delete}}", want: `spec.noSpace.action: Unsupported value: "Delete": supported values: "Compact", "Defragment", "Wait"`},
		"a negative keepRevisions":                 {spec: "{size: 3, noSpace: {keepRevisions: -1}}", want: "spec.noSpace.keepRevisions: in body should be greater than or equal to 0"},
		"defragmentation without a trigger":        {spec: "{size: 3, defragmentation: {}}", want: "spec.defragmentation: defragmentation needs a trigger: write schedule (a time), freePercent (an amount of free space), or both"},
		"minimumSize without freePercent":          {spec: "{size: 3, defragmentation: {schedule: '@daily', minimumSize: 1Gi}}", want: "spec.defragmentation: minimumSize requires freePercent: write freePercent too, or remove minimumSize"},
		"timeZone without schedule":                {spec: "{size: 3, defragmentation: {freePercent: 50, timeZone: Europe/Berlin}}", want: "spec.defragmentation: timeZone requires schedule: write schedule too, or remove timeZone"},
		"startingDeadlineSeconds without schedule": {spec: "{size: 3, defragmentation: {freePercent: 50, startingDeadlineSeconds: 600}}", want: "spec.defragmentation: startingDeadlineSeconds requires schedule: write schedule too, or remove startingDeadlineSeconds"},
		"a schedule of six fields":                 {spec: "{size: 3, defragmentation: {schedule: '0 0 3 * * 0'}}", want: `spec.defragmentation: schedule is not valid: write five fields (minute, hour, day of the month, month, day of the week 0-6), such as "0 3 * * 0", or one of @hourly, @daily, @weekly, @monthly, @yearly`},
		"the machine's time zone":                  {spec: "{size: 3, defragmentation: {schedule: '@daily', timeZone: Local}}", want: "spec.defragmentation: timeZone Local is not allowed, because it depends on the node: write an IANA name, such as Europe/Berlin"},
		"a freePercent of 5":                       {spec: "{size: 3, defragmentation: {freePercent: 5}}", want: "spec.defragmentation.freePercent: in body should be greater than or equal to 10"},
		"a freePercent of 100":                     {spec: "{size: 3, defragmentation: {freePercent: 100}}", want: "spec.defragmentation.freePercent: in body should be less than or equal to 95"},
		"a startingDeadlineSeconds of 1":           {spec: "{size: 3, defragmentation: {schedule: '@daily', startingDeadlineSeconds: 1}}", want: "spec.defragmentation.startingDeadlineSeconds: in body should be greater than or equal to 60"},

		"two repositories":                                  {spec: "{size: 3, repository: mirror/etcd, image: {repository: registry.k8s.io/etcd}}", want: "spec: repository and image.repository both name the image: remove repository"},
		"a tag for one version only":                        {spec: "{size: 3, image: {tag: 3.6.16-0}}", want: wantTag},
		"a tag with a space":                                {spec: `{size: 3, image: {tag: "{version} 0"}}`, want: wantTag},
		"a tag with the version twice":                      {spec: `{size: 3, image: {tag: "{version}-{version}"}}`, want: wantTag},
		"a digest that is not SHA-256":                      {spec: "{size: 3, image: {digest: md5:00}}", want: "spec.image.digest: digest must be sha256: and 64 hex digits in lower case"},
		"a digest without a version":                        {spec: `{size: 3, version: "", image: {digest: "` + digest("a") + `"}}`, want: "spec: image.digest belongs to one version: write version, too"},
		"an unknown pull policy":                            {spec: "{size: 3, image: {pullPolicy: Sometimes}}", want: `spec.image.pullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`},
		"a quota beyond the default volume":                 {spec: "{size: 3, etcd: {quotaBackendBytes: 9Gi}}", want: wantQuota},
		"a quota beyond the given volume":                   {spec: "{size: 3, etcd: {quotaBackendBytes: 3Gi}, pod: {persistentVolumeClaimSpec: {resources: {requests: {storage: 2Gi}}}}}", want: wantQuota},
		"a quota beyond an emptyDir":                        {spec: "{size: 3, etcd: {quotaBackendBytes: 3Gi}, pod: {emptyDir: {sizeLimit: 2Gi}}}", want: wantQuota},
		"a quota of 1 MiB":                                  {spec: "{size: 3, etcd: {quotaBackendBytes: 1Mi}}", want: "spec.etcd.quotaBackendBytes: quotaBackendBytes must be whole bytes, at least 16Mi: write for example 4Gi"},
		"a quota with a fraction of a byte":                 {spec: "{size: 3, etcd: {quotaBackendBytes: 16777216500m}}", want: "spec.etcd.quotaBackendBytes: quotaBackendBytes must be whole bytes, at least 16Mi: write for example 4Gi"},
		"an election timeout below five heartbeats":         {spec: "{size: 3, etcd: {heartbeatInterval: 201ms}}", want: wantElection},
		"an election timeout below five default heartbeats": {spec: "{size: 3, etcd: {electionTimeout: 499ms}}", want: wantElection},
		"an election timeout above 50 s":                    {spec: "{size: 3, etcd: {electionTimeout: 60s}}", want: "spec.etcd.electionTimeout"},
		"a heartbeat of 5 ms":                               {spec: "{size: 3, etcd: {heartbeatInterval: 5ms}}", want: "spec.etcd.heartbeatInterval"},
		"an unknown log level":                              {spec: "{size: 3, etcd: {logLevel: trace}}", want: `spec.etcd.logLevel: Unsupported value: "trace": supported values: "debug", "info", "warn", "error", "panic", "fatal"`},
		"a maxRequestBytes of 1 GiB":                        {spec: "{size: 3, etcd: {maxRequestBytes: 1Gi}}", want: "spec.etcd.maxRequestBytes: maxRequestBytes must be whole bytes, 1Ki to 100Mi: write for example 4Mi"},
		"a snapshotCount of 1":                              {spec: "{size: 3, etcd: {snapshotCount: 1}}", want: "spec.etcd.snapshotCount: in body should be greater than or equal to 100"},
		"a periodic retention without a unit":               {spec: `{size: 3, etcd: {autoCompaction: {mode: Periodic, retention: "5"}}}`, want: wantRetention},
		"a periodic retention of 1 s":                       {spec: "{size: 3, etcd: {autoCompaction: {mode: Periodic, retention: 1s}}}", want: wantRetention},
		"a retention of revisions in minutes":               {spec: "{size: 3, etcd: {autoCompaction: {mode: Revision, retention: 5m}}}", want: wantRetention},
		"options of etcd for a release that lacks them":     {spec: "{size: 3, version: 3.3.27, etcd: {logLevel: warn}}", want: "spec: etcd before 3.4 does not have all options of spec.etcd: remove etcd, and set options by pod.etcdEnv; or write a newer version"},
		"a quota in two fields":                             {spec: `{size: 3, etcd: {quotaBackendBytes: 3Gi}, pod: {etcdEnv: [{name: ETCD_QUOTA_BACKEND_BYTES, value: "1"}]}}`, want: "spec: etcd.quotaBackendBytes and ETCD_QUOTA_BACKEND_BYTES in pod.etcdEnv set the same option: remove one of the two"},
		"a compaction in two fields":                        {spec: `{size: 3, etcd: {autoCompaction: {mode: Periodic, retention: 5m}}, pod: {etcdEnv: [{name: ETCD_AUTO_COMPACTION_RETENTION, value: "1"}]}}`, want: "spec: etcd.autoCompaction and ETCD_AUTO_COMPACTION_MODE or ETCD_AUTO_COMPACTION_RETENTION in pod.etcdEnv set the same option: remove one of the two"},
		"a heartbeat in two fields":                         {spec: `{size: 3, etcd: {heartbeatInterval: 100ms}, pod: {etcdEnv: [{name: ETCD_HEARTBEAT_INTERVAL, value: "1"}]}}`, want: "spec: etcd.heartbeatInterval and ETCD_HEARTBEAT_INTERVAL in pod.etcdEnv set the same option: remove one of the two"},
		"an election timeout in two fields":                 {spec: `{size: 3, etcd: {electionTimeout: 2s}, pod: {etcdEnv: [{name: ETCD_ELECTION_TIMEOUT, value: "1"}]}}`, want: "spec: etcd.electionTimeout and ETCD_ELECTION_TIMEOUT in pod.etcdEnv set the same option: remove one of the two"},
		"a log level in two fields":                         {spec: `{size: 3, etcd: {logLevel: warn}, pod: {etcdEnv: [{name: ETCD_LOG_LEVEL, value: "1"}]}}`, want: "spec: etcd.logLevel and ETCD_LOG_LEVEL in pod.etcdEnv set the same option: remove one of the two"},
		"a request size in two fields":                      {spec: `{size: 3, etcd: {maxRequestBytes: 4Mi}, pod: {etcdEnv: [{name: ETCD_MAX_REQUEST_BYTES, value: "1"}]}}`, want: "spec: etcd.maxRequestBytes and ETCD_MAX_REQUEST_BYTES in pod.etcdEnv set the same option: remove one of the two"},
		"a snapshot count in two fields":                    {spec: `{size: 3, etcd: {snapshotCount: 10000}, pod: {etcdEnv: [{name: ETCD_SNAPSHOT_COUNT, value: "1"}]}}`, want: "spec: etcd.snapshotCount and ETCD_SNAPSHOT_COUNT in pod.etcdEnv set the same option: remove one of the two"},
		"loadBalancerClass without a load balancer":         {spec: "{size: 3, service: {loadBalancerClass: internal}}", want: "spec.service: loadBalancerClass requires type: LoadBalancer: set type, or remove loadBalancerClass"},
		"loadBalancerSourceRanges without a load balancer":  {spec: "{size: 3, service: {type: NodePort, loadBalancerSourceRanges: [10.0.0.0/8]}}", want: "spec.service: loadBalancerSourceRanges requires type: LoadBalancer: set type, or remove loadBalancerSourceRanges"},
		"a source range that is not in CIDR notation":       {spec: "{size: 3, service: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.1]}}", want: "spec.service.loadBalancerSourceRanges: loadBalancerSourceRanges must be addresses in CIDR notation: write for example 10.0.0.0/8"},
		"externalTrafficPolicy of a ClusterIP Service":      {spec: "{size: 3, service: {externalTrafficPolicy: Local}}", want: "spec.service: externalTrafficPolicy requires type: NodePort or LoadBalancer: set type, or remove externalTrafficPolicy"},
		"the operator's own annotation of a Service":        {spec: "{size: 3, service: {annotations: {etcd.database.coreos.com/cluster-id: x}}}", want: "spec.service.annotations: the annotation keys etcd.database.coreos.com/* are reserved for the operator: choose other keys"},
		"the operator's own label of a Service":             {spec: "{size: 3, service: {labels: {app: x}}}", want: "spec.service.labels: the label keys app, etcd_* and etcd.database.coreos.com/* are reserved for the operator: choose other keys"},
		"a load balancer whose clients are not named":       {spec: "{size: 3, service: {type: LoadBalancer}, networkPolicy: {}}", want: wantClients},
		"an empty list of clients":                          {spec: "{size: 3, networkPolicy: {clientsFrom: []}}", want: "spec.networkPolicy.clientsFrom: clientsFrom is empty: remove it to allow all Pods of the namespace, or write {namespaceSelector: {}} to allow all Pods"},
		"a client without a selector":                       {spec: "{size: 3, networkPolicy: {clientsFrom: [{}]}}", want: "spec.networkPolicy.clientsFrom: each entry of clientsFrom needs ipBlock alone, or podSelector, namespaceSelector or both"},
		"an empty list of readers of the metrics":           {spec: "{size: 3, networkPolicy: {metricsFrom: []}}", want: "spec.networkPolicy.metricsFrom: metricsFrom is empty: remove it to allow only cluster-operator, or write {namespaceSelector: {}} to allow all Pods"},
		"a reader with an address and a selector":           {spec: "{size: 3, networkPolicy: {metricsFrom: [{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}]}}", want: "spec.networkPolicy.metricsFrom: each entry of metricsFrom needs ipBlock alone, or podSelector, namespaceSelector or both"},
		"a second container named etcd":                     {spec: "{size: 3, pod: {containers: [{name: etcd, image: x}]}}", want: "spec.pod.containers: the container names etcd and restore are reserved for the operator: choose another name"},
		"a second volume named etcd-data":                   {spec: "{size: 3, pod: {volumes: [{name: etcd-data, emptyDir: {}}]}}", want: "spec.pod.volumes: the volume names etcd-data, member-peer-tls, member-server-tls and store-credentials are reserved for the operator: choose another name"},
		"a volume with two sources":                         {spec: "{size: 3, pod: {volumes: [{name: a, emptyDir: {}, secret: {secretName: x}}]}}", want: "spec.pod.volumes[0]: a volume needs one source: write one of configMap, secret, emptyDir, csi and persistentVolumeClaim"},
		"a terminationGracePeriodSeconds of 1":              {spec: "{size: 3, pod: {terminationGracePeriodSeconds: 1}}", want: "spec.pod.terminationGracePeriodSeconds: in body should be greater than or equal to 10"},

		"a name of 53 characters":         {name: strings.Repeat("a", 53), spec: "{size: 3}", want: wantLong},
		"the name of a client Service":    {name: "example-client", spec: "{size: 3}", want: wantSuffix},
		"a name with a dot":               {name: "example.one", spec: "{size: 3}", want: wantName},
		"a name that starts with a digit": {name: "1example", spec: "{size: 3}", want: wantName},

		"the label app":                                {spec: "{size: 3, pod: {labels: {app: mine}}}", want: wantLabels},
		"a label etcd_x":                               {spec: "{size: 3, pod: {labels: {etcd_x: mine}}}", want: wantLabels},
		"a label of this API's group":                  {spec: `{size: 3, pod: {labels: {etcd.database.coreos.com/incarnation: "2"}}}`, want: wantLabels},
		"the annotation etcd.version":                  {spec: "{size: 3, pod: {annotations: {etcd.version: 3.6.16}}}", want: wantAnnotation},
		"an annotation of the operator":                {spec: "{size: 3, pod: {annotations: {etcd.database.coreos.com/start: New}}}", want: wantAnnotation},
		"a foreignMemberGrace that is too long":        {spec: "{size: 3, recovery: {foreignMemberGrace: 9999999h}}", want: "spec.recovery.foreignMemberGrace"},
		"an empty foreignMemberGrace":                  {spec: "{size: 3, recovery: {foreignMemberGrace: \"\"}}", want: "spec.recovery.foreignMemberGrace"},
		"a keepReplacedVolumes that is too long":       {spec: "{size: 3, recovery: {keepReplacedVolumes: 999999h99999999m}}", want: "spec.recovery.keepReplacedVolumes"},
		"a memberReplacementGrace that is too long":    {spec: "{size: 3, recovery: {memberReplacementGrace: 99999999999999h}}", want: wantGrace},
		"the label app for all objects":                {spec: "{size: 3, metadata: {labels: {app: mine}}}", want: wantOwnLabels},
		"a label etcd_x for all objects":               {spec: "{size: 3, metadata: {labels: {etcd_x: mine}}}", want: wantOwnLabels},
		"a label of the operator for all objects":      {spec: `{size: 3, metadata: {labels: {etcd.database.coreos.com/incarnation: "2"}}}`, want: "spec.metadata.labels: " + wantNoDomain + "labels" + wantForPods + "labels"},
		"a label of Kubernetes for all objects":        {spec: "{size: 3, metadata: {labels: {topology.kubernetes.io/zone: a}}}", want: "spec.metadata.labels: " + wantNoDomain + "labels" + wantForPods + "labels"},
		"an annotation of Kubernetes for all objects":  {spec: "{size: 3, metadata: {annotations: {kubectl.kubernetes.io/restartedAt: a}}}", want: "spec.metadata.annotations: " + wantNoDomain + "annotations" + wantForPods + "annotations"},
		"an annotation of cert-manager":                {spec: "{size: 3, metadata: {annotations: {cert-manager.io/issuer-name: a}}}", want: "spec.metadata.annotations: " + wantNoDomain + "annotations" + wantForPods + "annotations"},
		"etcd.version for all objects":                 {spec: "{size: 3, metadata: {annotations: {etcd.version: a}}}", want: "spec.metadata.annotations: the annotation key etcd.version is reserved for the operator: choose another key"},
		"a label with a blank in its key":              {spec: `{size: 3, metadata: {labels: {"cost center": a}}}`, want: "spec.metadata.labels: " + wantKey},
		"a label with an empty part of its domain":     {spec: `{size: 3, metadata: {labels: {"a..b/c": a}}}`, want: "spec.metadata.labels: " + wantKey},
		"an annotation whose domain is too long":       {spec: "{size: 3, metadata: {annotations: {" + strings.Repeat("a.", 127) + "a/c: a}}}", want: "spec.metadata.annotations: " + wantKey},
		"an annotation with a blank in its key":        {spec: `{size: 3, metadata: {annotations: {"cost center": a}}}`, want: "spec.metadata.annotations: " + wantKey},
		"a label with a blank in its value":            {spec: `{size: 3, metadata: {labels: {team: "a b"}}}`, want: wantValue},
		"a label with a value of 64 characters":        {spec: "{size: 3, metadata: {labels: {team: " + strings.Repeat("a", 64) + "}}}", want: "spec.metadata.labels.team: may not be more than 63 bytes"},
		"33 labels for all objects":                    {spec: "{size: 3, metadata: {labels: {" + pairs(33) + "}}}", want: "spec.metadata.labels: must have at most 32 items"},
		"a mount over the data":                        {spec: "{size: 3, pod: " + mountedAt("/var/etcd/data") + "}", want: wantOtherPath},
		"a mount above the data":                       {spec: "{size: 3, pod: " + mountedAt("/var") + "}", want: wantOtherPath},
		"a mount over the certificates":                {spec: "{size: 3, pod: " + mountedAt("/etc/etcdtls") + "}", want: wantOtherPath},
		"a mount that leads to the data by dots":       {spec: "{size: 3, pod: " + mountedAt("/x/../var/etcd") + "}", want: wantPath},
		"a mount over the whole container":             {spec: "{size: 3, pod: " + mountedAt("/") + "}", want: wantPath},
		"a mount of no volume":                         {spec: "{size: 3, pod: {volumeMounts: [{name: a, mountPath: /a}]}}", want: "spec.pod: volumeMounts may only name volumes of pod.volumes: add the volume there"},
		"65 labels":                                    {spec: "{size: 3, pod: {labels: {" + pairs(65) + "}}}", want: "spec.pod.labels: must have at most 64 items"},
		"65 annotations":                               {spec: "{size: 3, pod: {annotations: {" + pairs(65) + "}}}", want: "spec.pod.annotations: must have at most 64 items"},
		"one environment variable twice":               {spec: "{size: 3, pod: {etcdEnv: [{name: A, value: one}, {name: A, value: two}]}}", want: `spec.pod.etcdEnv[1]: Duplicate value: {"name":"A"}`},
		"one pull secret twice":                        {spec: "{size: 3, pod: {imagePullSecrets: [{name: a}, {name: a}]}}", want: `spec.pod.imagePullSecrets[1]: Duplicate value: {"name":"a"}`},
		"a cluster domain that is too long":            {spec: "{size: 3, pod: {ClusterDomain: " + strings.Repeat("a", 254) + "}}", want: "spec.pod.ClusterDomain: may not be more than 253 bytes"},
		"a claim that copies a snapshot of a volume":   {spec: "{size: 3, pod: {persistentVolumeClaimSpec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a}}}}", want: wantNoSource},
		"a claim that copies another claim":            {spec: "{size: 3, pod: {persistentVolumeClaimSpec: {dataSourceRef: {kind: PersistentVolumeClaim, name: a}}}}", want: wantNoSource},
		"a claim for a block volume":                   {spec: "{size: 3, pod: {persistentVolumeClaimSpec: {volumeMode: Block}}}", want: "spec.pod.persistentVolumeClaimSpec: etcd needs a file system: remove volumeMode, or set it to Filesystem"},
		"emptyDir and a claim":                         {spec: "{size: 3, pod: {emptyDir: {}, persistentVolumeClaimSpec: {}}}", want: "spec.pod: emptyDir and persistentVolumeClaimSpec exclude each other: write emptyDir (data is lost with the Pod) or persistentVolumeClaimSpec (data is kept)"},
		"an invalid quantity":                          {spec: "{size: 3, pod: {resources: {limits: {cpu: much}}}}", want: "spec.pod.resources.limits.cpu: [numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$'"},
		"operatorSecret alone":                         {spec: "{size: 3, TLS: {static: {operatorSecret: client}}}", want: wantTLS},
		"operatorSecret with a peerSecret":             {spec: "{size: 3, TLS: {static: {operatorSecret: client, member: {peerSecret: peer}}}}", want: wantTLS},
		"operatorSecret with an empty serverSecret":    {spec: `{size: 3, TLS: {static: {operatorSecret: client, member: {serverSecret: ""}}}}`, want: wantTLS},
		"serverSecret alone":                           {spec: "{size: 3, TLS: {static: {member: {serverSecret: server}}}}", want: wantTLS},
		"serverSecret with an empty operatorSecret":    {spec: `{size: 3, TLS: {static: {operatorSecret: "", member: {serverSecret: server}}}}`, want: wantTLS},
		"acceptClients without TLS":                    {spec: "{size: 3, TLS: {acceptClients: Cluster}}", want: wantClientTLS},
		"acceptClients with TLS of peers only":         {spec: "{size: 3, TLS: {acceptClients: CA, static: {member: {peerSecret: peer}}}}", want: wantClientTLS},
		"an unknown value of acceptClients":            {spec: "{size: 3, TLS: {managed: {}, acceptClients: All}}", want: `spec.TLS.acceptClients: Unsupported value: "All": supported values: "CA", "Cluster"`},
		"two sources of certificates":                  {spec: "{size: 3, TLS: {managed: {}, certManager: {issuerRef: {name: a}}}}", want: "spec.TLS: certificates can have only one source: write one of static, managed and certManager"},
		"a certificate that is always due for renewal": {spec: "{size: 3, TLS: {managed: {duration: 24h, renewBefore: 24h}}}", want: "spec.TLS.managed: renewBefore must be shorter than duration, or certificates would be renewed again and again: lower renewBefore or raise duration"},
		"renewBefore longer than the default":          {spec: "{size: 3, TLS: {managed: {renewBefore: 2160h}}}", want: "spec.TLS.managed: renewBefore must be shorter than duration, or certificates would be renewed again and again: lower renewBefore or raise duration"},
		"renewBefore of seconds":                       {spec: "{size: 3, TLS: {managed: {renewBefore: 59s}}}", want: "spec.TLS.managed: renewBefore must be at least 1m, because members need time to load a new certificate: write for example 720h"},
		"a CA that is always due for renewal":          {spec: "{size: 3, TLS: {managed: {caDuration: 8760h}}}", want: "spec.TLS.managed: caRenewBefore must be shorter than caDuration, or the CA would be replaced again and again: lower caRenewBefore or raise caDuration"},
		"a negative caOverlap":                         {spec: "{size: 3, TLS: {managed: {caOverlap: -1s}}}", want: "spec.TLS.managed.caOverlap: spec.TLS.managed.caOverlap in body should match '^([0-9]+[hms])+$'"},
		"a negative caOverlap with cert-manager":       {spec: "{size: 3, TLS: {certManager: {issuerRef: {name: a}, caOverlap: -1s}}}", want: "spec.TLS.certManager.caOverlap: spec.TLS.certManager.caOverlap in body should match '^([0-9]+[hms])+$'"},
		"an election timeout of a minute":              {spec: "{size: 3, etcd: {electionTimeout: 60s}}", want: "spec.etcd.electionTimeout: electionTimeout must be 50ms to 50s: write for example 1s"},
		"a heartbeat of 1 ms":                          {spec: "{size: 3, etcd: {heartbeatInterval: 1ms}}", want: "spec.etcd.heartbeatInterval: heartbeatInterval must be 10ms to 9999ms: write for example 100ms"},
		"certificates that outlive their CA":           {spec: "{size: 3, TLS: {managed: {duration: 8760h}}}", want: "spec.TLS.managed: duration plus twice caOverlap must not exceed caRenewBefore, or a certificate would outlive its CA: lower duration or caOverlap, or raise caRenewBefore"},
		"an issuer without a name":                     {spec: "{size: 3, TLS: {certManager: {issuerRef: {}}}}", want: "spec.TLS.certManager.issuerRef.name: Required value"},
		"no issuer":                                    {spec: "{size: 3, TLS: {certManager: {}}}", want: "spec.TLS.certManager.issuerRef: Required value"},
		"a duration too short for cert-manager":        {spec: "{size: 3, TLS: {certManager: {issuerRef: {name: a}, duration: 59m}}}", want: "spec.TLS.certManager: duration must be at least 1h, as cert-manager requires: write for example 2160h"},
		"a renewBefore too short for cert-manager":     {spec: "{size: 3, TLS: {certManager: {issuerRef: {name: a}, renewBefore: 4m}}}", want: "spec.TLS.certManager: renewBefore must be at least 5m, as cert-manager requires, and shorter than duration: write for example 720h"},
		"a Secret name that is too long":               {spec: "{size: 3, TLS: {static: {member: {peerSecret: " + strings.Repeat("a", 254) + "}}}}", want: "spec.TLS.static.member.peerSecret: may not be more than 253 bytes"},
		"hibernation with emptyDir":                    {spec: "{size: 3, hibernate: true, pod: {emptyDir: {}}}", want: "spec: hibernate stops all Pods, and pod.emptyDir loses its data with its Pod: remove one of the two"},
		"an unknown whenDeleted":                       {spec: "{size: 3, persistentVolumeClaimRetentionPolicy: {whenDeleted: Keep}}", want: `spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Delete", "Retain"`},
	})
}

func TestValidEtcdClusterIsAccepted(t *testing.T) {
	runAccepted(t, "EtcdCluster", map[string]accepted{
		"size 1":                 {spec: "{size: 1}"},
		"a mount for etcd":       {spec: "{size: 1, pod: " + mountedAt("/etc/jwt") + "}"},
		"labels for all objects": {spec: `{size: 1, metadata: {labels: {cost-center: "4711", app.kubernetes.io/part-of: shop, example.com/Team_1: "", mykubernetes.io/x: a}, annotations: {example.com/owner: "Team A, floor 3"}}}`},
		"an even size":           {spec: "{size: 2}"},
		"size 7":                 {spec: "{size: 7}"},
		"a version":              {spec: "{size: 3, version: 3.5.33}"},
		"a version with v":       {spec: "{size: 3, version: v3.6.16}"},
		"a release candidate":    {spec: "{size: 3, version: 3.7.0-rc.0}"},
		"the default version of coreos/etcd-operator":               {spec: `{size: 3, version: "3.2.13"}`},
		"an empty version":                                          {spec: `{size: 3, version: ""}`},
		"an empty repository":                                       {spec: `{size: 3, repository: ""}`},
		"a repository with a port":                                  {spec: "{size: 3, repository: registry.example.com:5000/mirror/etcd}"},
		"a name of 52 characters":                                   {name: strings.Repeat("a", 52), spec: "{size: 3}"},
		"a name of one letter":                                      {name: "e", spec: "{size: 3}"},
		"a name with digits and hyphens":                            {name: "etcd-2-a", spec: "{size: 3}"},
		"other labels and annotations":                              {spec: `{size: 3, pod: {labels: {app.kubernetes.io/part-of: shop, application: x}, annotations: {etcd.versions: x}}}`},
		"64 labels":                                                 {spec: "{size: 3, pod: {labels: {" + pairs(64) + "}}}"},
		"hibernation":                                               {spec: "{size: 3, hibernate: true}"},
		"volumes that are retained":                                 {spec: "{size: 3, persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain}}"},
		"spread over racks":                                         {spec: "{size: 3, pod: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]}}"},
		"emptyDir":                                                  {spec: "{size: 3, pod: {emptyDir: {}}}"},
		"emptyDir in memory":                                        {spec: "{size: 3, pod: {emptyDir: {medium: Memory, sizeLimit: 1Gi}}}"},
		"a claim":                                                   {spec: "{size: 3, pod: {persistentVolumeClaimSpec: {resources: {requests: {storage: 1Gi}}}}}"},
		"an empty TLS block":                                        {spec: "{size: 3, TLS: {}}"},
		"an empty static TLS block":                                 {spec: "{size: 3, TLS: {static: {}}}"},
		"TLS between members only":                                  {spec: "{size: 3, TLS: {static: {member: {peerSecret: peer}}}}"},
		"TLS for clients only":                                      {spec: "{size: 3, TLS: {static: {operatorSecret: client, member: {serverSecret: server}}}}"},
		"clients of this cluster only":                              {spec: "{size: 3, TLS: {managed: {}, acceptClients: Cluster}}"},
		"clients of this cluster only, with Secrets":                {spec: "{size: 3, TLS: {acceptClients: Cluster, static: {operatorSecret: client, member: {serverSecret: server}}}}"},
		"TLS by the operator":                                       {spec: "{size: 3, TLS: {managed: {}}}"},
		"TLS by the operator with short durations":                  {spec: "{size: 3, TLS: {managed: {duration: 1h, renewBefore: 30m, caDuration: 10h, caRenewBefore: 2h, caOverlap: 0s}}}"},
		"any name of clients with a CA of the cluster":              {spec: `{size: 3, TLS: {managed: {clientCommonName: "Alice Smith"}}}`},
		"a name of clients with cert-manager":                       {spec: "{size: 3, TLS: {certManager: {issuerRef: {name: ca}, clientCommonName: shop_1.example}}}"},
		"TLS by cert-manager":                                       {spec: "{size: 3, TLS: {certManager: {issuerRef: {name: ca, kind: ClusterIssuer}, duration: 24h, renewBefore: 8h30m}}}"},
		"a memberReplacementGrace of a year":                        {spec: "{size: 3, recovery: {memberReplacementGrace: 8760h, foreignMemberGrace: 999999h, keepReplacedVolumes: 2592000s}}"},
		"a memberReplacementGrace and a consent to ForceNewCluster": {spec: "{size: 3, recovery: {memberReplacementGrace: 1h30m, quorumLoss: ForceNewCluster}}"},
		"an image of another registry":                              {spec: `{size: 3, image: {repository: registry.k8s.io/etcd, tag: "{version}-0", pullPolicy: IfNotPresent, digest: "` + digest("a") + `"}}`},
		"every option of etcd":                                      {spec: "{size: 3, etcd: {quotaBackendBytes: 4Gi, autoCompaction: {mode: Periodic, retention: 1h30m}, heartbeatInterval: 200ms, electionTimeout: 1s, logLevel: warn, maxRequestBytes: 4Mi, snapshotCount: 5000}}"},
		"a quota in bytes":                                          {spec: "{size: 3, etcd: {quotaBackendBytes: 8589934592}}"},
		"a quota of the whole emptyDir":                             {spec: "{size: 3, etcd: {quotaBackendBytes: 8Gi}, pod: {emptyDir: {}}}"},
		"times as Go clients write them":                            {spec: "{size: 3, etcd: {heartbeatInterval: 1.5s, electionTimeout: 12.25s}}"},
		"timeouts for a slow network":                               {spec: "{size: 3, etcd: {heartbeatInterval: 9s, electionTimeout: 50s}}"},
		"revisions to keep":                                         {spec: `{size: 3, etcd: {autoCompaction: {mode: Revision, retention: "1000"}}}`},
		"different options in etcd and pod.etcdEnv":                 {spec: `{size: 3, etcd: {logLevel: warn}, pod: {etcdEnv: [{name: ETCD_QUOTA_BACKEND_BYTES, value: "1"}]}}`},
		"a load balancer":                                           {spec: "{size: 3, service: {type: LoadBalancer, loadBalancerClass: internal, loadBalancerSourceRanges: [10.0.0.0/8, 'fd00::/8'], externalTrafficPolicy: Local, trafficDistribution: PreferClose, annotations: {a: b}, labels: {c: d}}}"},
		"containers beside etcd":                                    {spec: "{size: 3, pod: {runtimeClassName: gvisor, schedulerName: mine, hostUsers: false, terminationGracePeriodSeconds: 60, containers: [{name: proxy, image: x, volumeMounts: [{name: conf, mountPath: /conf}]}], initContainers: [{name: log, image: x, restartPolicy: Always}], volumes: [{name: conf, configMap: {name: conf}}]}}"},
		"empty names of TLS Secrets":                                {spec: `{size: 3, TLS: {static: {operatorSecret: "", member: {serverSecret: "", peerSecret: ""}}}}`},
	})
}

// digest returns the digest of an image, of one digit.
func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// pairs returns n entries of a YAML map.
func pairs(n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = "k" + strings.Repeat("x", i) + ": v"
	}
	return strings.Join(entries, ", ")
}

func TestTLSOfAFormedClusterCannotChange(t *testing.T) {
	const plain, static, managed = "{}", "{static: {member: {peerSecret: peer}}}", "{managed: {}}"
	const refusal = "after the cluster has formed, spec.TLS cannot be turned on or off or get another source of certificates. Save a snapshot and restore it into a new EtcdCluster instead"
	tests := map[string]struct {
		from, to string
		formed   bool
		want     string
	}{
		"TLS cannot be turned on":                            {plain, managed, true, refusal},
		"TLS cannot be turned off":                           {managed, plain, true, refusal},
		"TLS between members cannot be turned on":            {plain, static, true, refusal},
		"static cannot become managed":                       {static, managed, true, refusal},
		"managed cannot become certManager":                  {managed, "{certManager: {issuerRef: {name: a}}}", true, refusal},
		"TLS can be turned on before the cluster has formed": {plain, managed, false, ""},
		"durations can change":                               {managed, "{managed: {duration: 1000h}}", true, ""},
		"the names of static Secrets can change":             {static, "{static: {member: {peerSecret: other}}}", true, ""},
		"an empty TLS can become null":                       {plain, "null", true, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := kubetest.Namespace(t)
			apply := func(tls string) error {
				_, err := kubetest.Kubectl(t, fmt.Sprintf("{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: a, namespace: %s}, spec: {size: 3, TLS: %s}}", namespace, tls), "apply", "-f", "-")
				return err
			}
			if err := apply(test.from); err != nil {
				t.Fatal(err)
			}
			if test.formed {
				kubetest.MustKubectl(t, "", "patch", "etcdcluster/a", "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status":{"clusterID":"00000000000000aa"}}`)
			}
			err := apply(test.to)
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got the error %v, want one with %q", err, test.want)
			}
		})
	}
}
