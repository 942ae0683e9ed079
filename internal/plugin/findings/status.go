package findings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// A Status is the report of kubectl etcd status. Scripts read it as JSON.
type Status struct {
	Namespace string    `json:"namespace"`
	Cluster   string    `json:"cluster"`
	Reason    string    `json:"reason"`
	Available string    `json:"available"`
	Ready     string    `json:"readyMembers"`
	Version   string    `json:"version"`
	Target    string    `json:"targetVersion,omitempty"`
	ClusterID string    `json:"clusterID,omitempty"`
	Findings  []Finding `json:"findings"`
	Members   []Member  `json:"members"`
	Snapshots Saves     `json:"snapshots"`
	// Standbys are this cluster while it follows another one, and those in its namespace that follow it.
	Standbys     []Standby              `json:"standbys,omitempty"`
	Certificates []observed.Certificate `json:"certificates,omitempty"`
	// PlainText is the traffic without TLS: "clients", "members".
	PlainText []string `json:"plainText,omitempty"`
	// SharedCA is where the CA of clients is from, if members accept each certificate of it and it may sign for other clusters, too.
	SharedCA string `json:"sharedCA,omitempty"`

	now time.Time
}

// A Member is one row of the table of members.
type Member struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Ready   bool   `json:"ready"`
	Fenced  bool   `json:"fenced,omitempty"`
	Version string `json:"version"`
	Size    int64  `json:"sizeBytes"`
	Volume  int64  `json:"volumeBytes,omitempty"`
	// RaftLag is how many raft entries the member has yet to apply. It is nil if the member was not asked.
	RaftLag *int64 `json:"raftLag,omitempty"`
	InUse   int64  `json:"inUseBytes,omitempty"`
	Quota   int64  `json:"quotaBytes,omitempty"`
	Alarms  string `json:"alarms,omitempty"`
	Pod     string `json:"pod"`
	Node    string `json:"node,omitempty"`
}

// Saves is what is known of a cluster's snapshots.
type Saves struct {
	Newest *observed.Saved `json:"newest,omitempty"`
	At     *time.Time      `json:"newestTime,omitempty"`
	Next   *time.Time      `json:"next,omitempty"`
	Series int             `json:"backups"`
}

// Inspect returns the report of a cluster.
func Inspect(o observed.Objects) Status {
	c := o.Cluster
	s := Status{
		Namespace: c.Namespace, Cluster: c.Name, Reason: v1beta2.ReasonPending, Available: "Unknown", Ready: c.Status.ReadyMembers, Version: c.Status.CurrentVersion,
		Target: c.Status.TargetVersion, ClusterID: c.Status.ClusterID, Findings: Findings(o), Members: members(o),
		Snapshots: saves(o), Standbys: standbys(o), Certificates: o.Certificates, PlainText: plainText(c), SharedCA: sharedCA(c), now: o.Now,
	}
	if ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady); ready != nil {
		s.Reason = ready.Reason
	}
	if available := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionAvailable); available != nil {
		s.Available = string(available.Status)
	}
	return s
}

func plainText(c v1beta2.EtcdCluster) []string {
	var plain []string
	if !c.Spec.TLS.SecureClient() {
		plain = append(plain, "clients")
	}
	if !c.Spec.TLS.SecurePeer() {
		plain = append(plain, "members")
	}
	return plain
}

// sharedCA returns where the CA is from, whose client certificates all open the cluster. It is empty if the CA is of this cluster only, or if
// members check a name.
func sharedCA(c v1beta2.EtcdCluster) string {
	tls := c.Spec.TLS
	if !tls.SecureClient() || tls.Managed != nil || tls.AcceptClients == v1beta2.AcceptClientsOfCluster || checksOwnName(c.Spec.Pod) {
		return ""
	}
	if tls.CertManager != nil {
		return cmp.Or(tls.CertManager.IssuerRef.Kind, "Issuer") + " " + tls.CertManager.IssuerRef.Name
	}
	return "Secret " + tls.ServerSecret(c.Name)
}

// checksOwnName reports whether the user lets members check a name of their own.
func checksOwnName(pod *v1beta2.PodPolicy) bool {
	return pod != nil && slices.ContainsFunc(pod.EtcdEnv, func(e corev1.EnvVar) bool {
		return e.Name == "ETCD_CLIENT_CERT_ALLOWED_HOSTNAME" && (e.Value != "" || e.ValueFrom != nil)
	})
}

func members(o observed.Objects) []Member {
	pods := map[string]Member{}
	for _, pod := range o.Pods {
		state := string(pod.Status.Phase)
		if reason, _ := podTrouble(pod); reason != "" {
			state = reason
		}
		pods[pod.Name] = Member{Name: pod.Name, Pod: state, Node: pod.Spec.NodeName}
	}
	var committed int64
	for _, look := range o.Looks {
		committed = max(committed, look.Committed)
	}
	var rows []Member
	for _, m := range o.Cluster.Status.MemberStatuses {
		row := pods[m.Name]
		if row.Pod == "" && !o.NoPods {
			row.Pod = "missing"
		}
		delete(pods, m.Name)
		row.Name, row.Role, row.Ready, row.Fenced, row.Version = m.Name, string(m.Role), m.Ready, m.Fenced, m.Version
		row.Size, row.Volume = m.DBSize, m.VolumeSize
		if look, ok := o.Looks[m.Name]; ok {
			lag := max(0, committed-look.Applied)
			row.RaftLag, row.Alarms, row.InUse, row.Quota = &lag, look.Alarms, look.InUse, look.Quota
			if row.Alarms == "CORRUPT" && fenced(o.Cluster) && !observed.HasReason(o.Cluster.Status.Conditions, v1beta2.ReasonDataCorrupt) {
				row.Alarms = "fence"
			}
		}
		rows = append(rows, row)
	}
	for _, pod := range o.Pods { // Pods that are no members yet, in the order of the API server
		if row, ok := pods[pod.Name]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

func saves(o observed.Objects) Saves {
	backups := observed.BackupsOf(o.Cluster.Name, o.Backups)
	found := Saves{Series: len(backups)}
	for _, b := range backups {
		if at := b.Status.NextTime; at != nil && (found.Next == nil || at.Time.Before(*found.Next)) {
			found.Next = &at.Time
		}
	}
	for _, s := range observed.Snapshots(backups) {
		if s.NoQuorum || s.RestoreTest == v1beta2.DrillFailed {
			continue
		}
		found.Newest = &s
		if at, ok := s.Taken(); ok {
			found.At = &at
		}
		break
	}
	return found
}

// FirstLines are the first three lines of the report: what is wrong, what it means, and what to do.
func (s Status) FirstLines() [3]string {
	if len(s.Findings) == 0 {
		return [3]string{
			fmt.Sprintf("OK:      EtcdCluster %s is ready: %s members serve etcd %s.", s.Cluster, s.Ready, s.Version),
			"Impact:  None.",
			"Fix:     Nothing to do.",
		}
	}
	f := s.Findings[0]
	kind := "Problem:"
	if f.Severity >= Progress {
		kind = "State:  "
	}
	return [3]string{
		fmt.Sprintf("%s %s: %s. %s", kind, f.Object, f.Reason, terminal.OneLine(f.Problem)),
		"Impact:  " + terminal.OneLine(f.Impact),
		"Fix:     " + terminal.OneLine(f.Fix),
	}
}
