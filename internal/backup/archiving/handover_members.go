package archiving

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// mayFence returns why the EtcdBackup must not stop the writes of a cluster, and not permit them again: it is an EtcdCluster of another namespace, which asks for no certificate
// and no user. The network may let the operator reach members that the namespace of the EtcdBackup does not reach. What a member answers never proves that it is no such
// cluster: one of the endpoints may be a server of the user. But if it names itself a member of one, it is refused.
func (t *runner) mayFence(ctx context.Context, o state.JobSpec, c locked, clusterID string) error {
	if ofOwnCluster(o) { // a status of another one with that ID must not keep it from taking writes again
		return nil
	}
	var all v1beta2.EtcdClusterList
	if err := t.Secrets.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("find out whose cluster this is: %w", err)
	}
	var members []etcd.Member
	for i := range all.Items {
		other := &all.Items[i]
		proven := other.Spec.TLS.SecureClient() && o.TLSSecret != "" || other.Status.Auth != nil && other.Status.Auth.Enabled && o.AuthSecret != ""
		if other.Namespace == o.Namespace || proven {
			continue
		}
		if isUnknown(*other) && members == nil {
			var err error
			if members, err = c.fences.MembersKnown(ctx); err != nil {
				return fmt.Errorf("find out whose cluster this is: %w", err)
			}
		}
		if owns(*other, clusterID, members) {
			return errors.New("it is an EtcdCluster of another namespace: only an EtcdBackup there may stop its writes")
		}
	}
	return nil
}

// isUnknown reports whether an EtcdCluster may run although its status has no cluster ID: it has just formed, or it was created again without its status and is paused. A
// standby has no members.
func isUnknown(c v1beta2.EtcdCluster) bool {
	return c.Status.ClusterID == "" && (c.Status.Restore == nil || c.Status.Restore.Step != v1beta2.RestoreSeeding)
}

// owns reports whether a cluster is that of an EtcdCluster, by its ID, or by the URLs of its members if the status has no ID.
func owns(c v1beta2.EtcdCluster, clusterID string, members []etcd.Member) bool {
	if c.Status.ClusterID == clusterID || c.Status.Restore != nil && c.Status.Restore.ClusterID == clusterID {
		return true
	}
	return isUnknown(c) && slices.ContainsFunc(members, func(m etcd.Member) bool {
		return slices.ContainsFunc(slices.Concat(m.PeerURLs, m.ClientURLs), func(text string) bool {
			_, own := etcd.OwnURL(text, c.Namespace, c.Name)
			return own
		})
	})
}

// ofOwnCluster reports whether the members that are asked can only be those of an EtcdCluster of the namespace.
func ofOwnCluster(o state.JobSpec) bool {
	return o.MayLackUser && !slices.ContainsFunc(o.URLs, func(text string) bool {
		own, is := etcd.OwnURL(text, o.Namespace, o.Cluster)
		return !is || own != text // with a DNS domain, which the user chooses
	})
}

// withMember calls do with a healthy voter.
func (t *runner) withMember(ctx context.Context, o state.JobSpec, do func(locked, etcd.Status) error) error {
	by, err := t.Access(ctx, o)
	if err != nil {
		return err
	}
	answers := t.Probe(ctx, o.URLs, by)
	member, err := clients.Choose(answers, o.ClusterID, false)
	if err != nil {
		return clients.ExplainAccess(by, err)
	}
	for _, a := range answers { // a fence must hold in each of them
		if a.Err == nil && a.Status.Version != "" && etcdversion.Older(a.Status.Version, member.Status.Version) {
			member.Status.Version = a.Status.Version
		}
	}
	client, err := by.Open(member.URL)
	if err != nil {
		return err
	}
	defer client.Close()
	now, err := client.Status(ctx) // another connection may lead to another server
	if err != nil {
		return err
	}
	if now.ClusterID != member.Status.ClusterID {
		return fmt.Errorf("%s led to a member of cluster %s, and then to one of %s: use endpoints that each lead to one member", member.URL, member.Status.ClusterID, now.ClusterID)
	}
	now.Version = member.Status.Version
	return do(locked{client}, now)
}

// callOffAlone decides about each switchover of an archive whose members do not answer, if none is asked for. Without the decision, a standby could take over after a
// person has disarmed the alarm. If etcd refuses the user of the EtcdBackup, users have changed, and a standby does not have them.
func (t *runner) callOffAlone(ctx context.Context, a *Archiver, spec Spec, why error) error {
	if spec.switchover == "" || spec.handsOver && !refusesUser(why, spec.job) || spec.promoted != nil || !spec.switchover.In(spec.job.ArchiveName()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handoverLimit)
	defer cancel()
	store, err := t.Store(ctx, spec.job)
	if err != nil {
		return err
	}
	if _, _, _, err = switchover.Settle(ctx, store, spec.job.ArchiveRoot(), "", "", t.Now().UTC()); err != nil {
		return err
	}
	d, decided, err := switchover.ReadDecision(ctx, store, spec.job.ArchiveRoot(), spec.switchover)
	if err == nil && decided && d.Off() {
		a.say(state.Switchover{ID: string(spec.switchover), Phase: v1beta2.SwitchoverCallingOff, Waits: state.Clip(why.Error())})
	}
	return err
}
