package etcd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/apimachinery/pkg/types"
)

// A fence is etcd's CORRUPT alarm with the ID of a member that does not exist. raft replicates it, so from one entry of the log on, every
// member refuses to apply changes of keys and leases, also after a restart and in a snapshot that a follower receives. Reads, watches, hashes,
// snapshots and changes of the membership are served. Users and roles can still be changed (decision record 77).
//
// Before etcd 3.6, a fence does not hold: a NOSPACE alarm behind it lets deletions through, and while any alarm is on, a client without a user
// can add users.

// DisarmAdvice says how the fence of a switchover is taken back that no operator takes back any more.
const DisarmAdvice = "If its EtcdBackup does not exist any more, and no standby was promoted, first delete each EtcdRestore that waits to be promoted with its archive, and then run etcdctl alarm disarm"

// Each ID of a fence of this suite has one of two marks in its upper bits. One in 2^24 members has one of them.
const (
	fenceMark      ID = 0x46454e43 << 32 // "FENC": of cluster-operator
	fenceBits      ID = 0xffffffff << 32
	switchoverMark ID = 0x53574f << 40 // "SWO": of backup-operator
	switchoverBits ID = 0xffffff << 40
)

// Below the mark, the ID of a fence of a switchover has 16 bits of the etcd cluster, 12 of the archive, and 12 of the switchover.
const (
	clusterShift, archiveShift = 24, 12
	lowBits                    = 1<<archiveShift - 1
)

// FenceID derives the ID of a fence from the UID of the object that asks for it, so that two objects have two fences.
func FenceID(uid types.UID) ID {
	return fenceMark | ID(hashOf(string(uid)))
}

func hashOf(text string) uint32 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint32(sum[:])
}

// SwitchoverID derives the ID of the fence of a switchover from the ID of the etcd cluster, from its archive, and from the ID of the switchover.
//
// A fence is in the data of the members, and so in snapshots: the cluster shows whether it was set in this cluster, or in the one that a snapshot was taken of. The
// archive distinguishes it from those of another EtcdBackup. Each switchover has another one, so that a late request of an earlier one does not open it.
func SwitchoverID(cluster ID, archive, switchover string) ID {
	return switchoverMark | clusterBits(cluster) | archiveBits(archive) | ID(hashOf(switchover)&lowBits)
}

func clusterBits(cluster ID) ID { return ID(hashOf(cluster.String())&0xffff) << clusterShift }

func archiveBits(archive string) ID { return ID(hashOf(archive)&lowBits) << archiveShift }

// IsSwitchover reports whether an alarm is the fence of a switchover of that cluster. One of 65,536 fences of another cluster is taken for it.
func (a Alarm) IsSwitchover(cluster ID) bool {
	return a.Kind == AlarmCorrupt && a.Member>>clusterShift == (switchoverMark|clusterBits(cluster))>>clusterShift
}

// IsSwitchoverOf reports whether an alarm is the fence of a switchover of that cluster with that archive.
func (a Alarm) IsSwitchoverOf(cluster ID, archive string) bool {
	return a.Kind == AlarmCorrupt && a.Member&^lowBits == SwitchoverID(cluster, archive, "")&^lowBits
}

func (id ID) marked() bool { return id&fenceBits == fenceMark || id&switchoverBits == switchoverMark }

// IsFence reports whether an alarm is a fence of this suite, and no corruption.
func (a Alarm) IsFence() bool { return a.Kind == AlarmCorrupt && a.Member.marked() }

// Fence refuses changes of keys and leases from now on. It returns the last revision: etcd acknowledges no write above it before each fence is
// taken back. To fence again with the same ID changes nothing. The error is one of etcd or of the connection: after that, the fence may be on.
// It needs a quorum.
func (c Maintenance) Fence(ctx context.Context, id ID) (revision int64, err error) {
	if !id.marked() {
		return 0, fmt.Errorf("fence writes: %s is no ID of a fence", id)
	}
	answer, err := c.maintenance().Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: uint64(id), Alarm: pb.AlarmType_CORRUPT})
	if err != nil {
		return 0, c.wrap("fence writes", err)
	}
	if revision = answer.GetHeader().GetRevision(); revision != 0 {
		return revision, nil
	}
	status, err := c.Status(ctx) // etcd 3.4 answers without the revision. The member has applied the fence, so its revision is the last one.
	if err != nil {
		return 0, err
	}
	return status.Revision, nil
}

// Unfence takes one fence back. It is not an error if there is none with that ID. Other fences and a real CORRUPT alarm stay, and while one
// of them is on, etcd refuses changes. It needs a quorum.
func (c Maintenance) Unfence(ctx context.Context, id ID) error {
	if !id.marked() {
		return fmt.Errorf("take the fence back: %s is no ID of a fence", id)
	}
	_, err := c.maintenance().Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: uint64(id), Alarm: pb.AlarmType_CORRUPT})
	return c.wrap("take the fence back", err)
}
