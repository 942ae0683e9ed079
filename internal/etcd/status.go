package etcd

import (
	"context"
	"fmt"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// ParseID reads an ID of 16 hex digits.
func ParseID(text string) (ID, error) {
	id, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("read member ID %q: %w", text, err)
	}
	return ID(id), nil
}

// Status is what a member reports about itself.
type Status struct {
	ClusterID ID
	MemberID  ID
	// LeaderID is 0 while the member has no leader.
	LeaderID ID
	// Version of the etcd binary, for example "3.6.16".
	Version string
	// DBSize is the size of the database file in bytes, and DBSizeInUse how many of them are in use. DBQuota is the
	// maximum of DBSize; 0 if the member does not report it, as before etcd 3.6.
	DBSize, DBSizeInUse, DBQuota int64
	// Revision of the member's key-value store.
	Revision int64
	// RaftTerm and RaftIndex tell which of two members is more advanced.
	RaftTerm, RaftIndex uint64
	// AppliedIndex is the index of the last entry that the member has applied.
	AppliedIndex uint64
	// StorageVersion is the version of the member's data format, for example "3.6.0"; empty before etcd 3.6.
	StorageVersion string
	// Downgrade is the target of a downgrade in progress, for example "3.5.0"; empty if there is none, and before
	// etcd 3.6.
	Downgrade string
	Learner   bool
	// Errors as etcd reports them, including alarms.
	Errors []string
}

// What a member calls itself is shown in a status. maxVersion and maxText are more bytes than a version, a name or a URL has.
const (
	maxVersion = 64
	maxText    = 1000
)

// An answer is kept until the pass has those of all members. maxMembers are more than a cluster has, and maxTexts more than a member has URLs or alarms.
const (
	maxMembers = 100
	maxTexts   = 256
)

// errMembers is the error of an answer that names more members than a cluster of etcd has.
var errMembers = fmt.Errorf("the answer has more than %d members, which is not an answer of etcd", maxMembers)

// short returns the first texts of a member as they may be shown. A changed one equals no name and no URL of the operator's own.
func short(texts []string) []string {
	texts = texts[:min(len(texts), maxTexts)]
	shown := make([]string, len(texts))
	for i, text := range texts {
		shown[i] = legible.Short(text, maxText)
	}
	return shown
}

// Leader reports whether the member is the leader.
func (s Status) Leader() bool { return s.LeaderID != 0 && s.LeaderID == s.MemberID }

// Alarms returns the alarms that the member reports.
func (s Status) Alarms() []Alarm { return alarmsOf(s.Errors) }

// mostBytes is more than any database has. Sums and products of sizes up to it do not overflow.
const mostBytes = 1 << 50

// possible returns the size that a member reports, or the nearest one that a file can have.
func possible(size int64) int64 { return min(max(size, 0), mostBytes) }

// Status requests the member's status. A member without quorum answers too.
func (c Maintenance) Status(ctx context.Context) (Status, error) {
	response, err := c.maintenance().Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return Status{}, c.wrap("read status", clientv3.ContextError(ctx, err))
	}
	downgrade := ""
	if info := response.DowngradeInfo; info.GetEnabled() {
		downgrade = legible.Short(info.GetTargetVersion(), maxVersion)
	}
	return Status{
		ClusterID:   ID(response.Header.GetClusterId()),
		MemberID:    ID(response.Header.GetMemberId()),
		LeaderID:    ID(response.Leader),
		Version:     legible.Short(response.Version, maxVersion),
		DBSize:      possible(response.DbSize),
		DBSizeInUse: possible(response.DbSizeInUse), DBQuota: possible(response.DbSizeQuota),
		Revision:     response.Header.GetRevision(),
		RaftTerm:     response.RaftTerm,
		RaftIndex:    response.RaftIndex,
		AppliedIndex: response.RaftAppliedIndex, StorageVersion: legible.Short(response.StorageVersion, maxVersion), Downgrade: downgrade,
		Learner: response.IsLearner,
		Errors:  short(response.Errors),
	}, nil
}

// Serving returns nil if a linearizable read succeeds, which means that the member reaches a quorum.
func (c KV) Serving(ctx context.Context) error {
	_, err := c.client.Get(ctx, "health", clientv3.WithCountOnly()) // the key may exist, with a large value
	return c.wrap("linearizable read", err)
}

// Member is one entry of the membership.
type Member struct {
	ID ID
	// Name is empty until the member has started.
	Name       string
	PeerURLs   []string
	ClientURLs []string
	Learner    bool
}

// Members returns the membership, confirmed by a quorum. It fails without quorum.
func (c Membership) Members(ctx context.Context) ([]Member, error) {
	response, err := c.client.MemberList(ctx)
	if err != nil {
		return nil, c.wrap("list members", err)
	}
	all, err := members(response.Members)
	return all, c.wrap("list members", err)
}

// MembersKnown returns the membership that the member has applied. It answers without a quorum, which confirms nothing of it.
func (c Membership) MembersKnown(ctx context.Context) ([]Member, error) {
	response, err := c.client.MemberList(ctx, clientv3.WithSerializable())
	if err != nil {
		return nil, c.wrap("list members without a quorum", err)
	}
	all, err := members(response.Members)
	return all, c.wrap("list members without a quorum", err)
}

func members(in []*pb.Member) ([]Member, error) {
	if len(in) > maxMembers {
		return nil, errMembers
	}
	out := make([]Member, 0, len(in))
	for _, m := range in {
		out = append(out, Member{ID: ID(m.ID), Name: legible.Short(m.Name, maxText), PeerURLs: short(m.PeerURLs), ClientURLs: short(m.ClientURLs), Learner: m.IsLearner})
	}
	return out, nil
}
