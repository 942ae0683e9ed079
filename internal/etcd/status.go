package etcd

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// ID is a cluster's or a member's number; etcd prints it in hexadecimal.
type ID uint64

// String is the ID in 16 hex digits.
func (id ID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// Status is what one member says of itself.
type Status struct {
	ClusterID ID
	MemberID  ID
	// LeaderID is 0 while the member knows no leader.
	LeaderID ID
	// Version of the etcd binary, for example "3.6.16".
	Version string
	// DBSize in bytes of the database file, and how many of them are in use. DBQuota is what it may grow to; 0 where
	// the member does not say, as before etcd 3.6.
	DBSize, DBSizeInUse, DBQuota int64
	// Revision of the member's key-value store.
	Revision int64
	// RaftTerm and RaftIndex order members by how much they know.
	RaftTerm, RaftIndex uint64
	// AppliedIndex is how far of that the member has applied.
	AppliedIndex uint64
	// StorageVersion is the version that the member's data is of, for example "3.6.0"; empty before etcd 3.6.
	StorageVersion string
	// Downgrade is the version that the cluster is being brought down to, for example "3.5.0"; empty when it is not,
	// and before etcd 3.6.
	Downgrade string
	Learner   bool
	// Errors as etcd words them, alarms among them.
	Errors []string
}

// Leader says whether the member leads.
func (s Status) Leader() bool { return s.LeaderID != 0 && s.LeaderID == s.MemberID }

// Alarms that are on, as far as the member knows.
func (s Status) Alarms() []Alarm { return alarmsOf(s.Errors) }

// Status asks the member about itself. A member without quorum answers too.
func (c *Client) Status(ctx context.Context) (Status, error) {
	response, err := c.client.Status(ctx, c.endpoint)
	if err != nil {
		return Status{}, c.wrap("status", err)
	}
	downgrade := ""
	if info := response.DowngradeInfo; info.GetEnabled() {
		downgrade = info.GetTargetVersion()
	}
	return Status{
		ClusterID:   ID(response.Header.GetClusterId()),
		MemberID:    ID(response.Header.GetMemberId()),
		LeaderID:    ID(response.Leader),
		Version:     response.Version,
		DBSize:      response.DbSize,
		DBSizeInUse: response.DbSizeInUse, DBQuota: response.DbSizeQuota,
		Revision:     response.Header.GetRevision(),
		RaftTerm:     response.RaftTerm,
		RaftIndex:    response.RaftIndex,
		AppliedIndex: response.RaftAppliedIndex, StorageVersion: response.StorageVersion, Downgrade: downgrade,
		Learner: response.IsLearner,
		Errors:  response.Errors,
	}, nil
}

// Serving says whether a linearizable read succeeds, that is, whether a quorum stands behind the member.
func (c *Client) Serving(ctx context.Context) error {
	_, err := c.client.Get(ctx, "health")
	return c.wrap("linearizable read", err)
}

// Member is one entry of the membership.
type Member struct {
	ID ID
	// Name is empty while the member was added and has not started.
	Name       string
	PeerURLs   []string
	ClientURLs []string
	Learner    bool
}

// Members is the membership as a quorum knows it. It fails without quorum.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	response, err := c.client.MemberList(ctx)
	if err != nil {
		return nil, c.wrap("list members", err)
	}
	return members(response.Members), nil
}

func members(in []*pb.Member) []Member {
	out := make([]Member, 0, len(in))
	for _, m := range in {
		out = append(out, Member{ID: ID(m.ID), Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner})
	}
	return out
}
