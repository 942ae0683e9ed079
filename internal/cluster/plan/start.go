package plan

// Start is how a member's etcd comes up.
type Start string

// Starts. Every one but Rejoin makes data; Rejoin refuses to run without it, so that a member that has voted
// never votes again with an empty data directory.
const (
	// StartNew forms a new cluster together with the other initial members.
	StartNew Start = "New"
	// StartJoin joins a formed cluster that has just added the member.
	StartJoin Start = "Join"
	// StartRejoin goes on with the data on the volume.
	StartRejoin Start = "Rejoin"
	// StartSeed goes on with the data that an init container restores from a snapshot.
	StartSeed Start = "Seed"
	// StartForce goes on with the data on the volume as a cluster of one, all other members removed
	// (--force-new-cluster). Nobody but the operator is led to such a member, and it is soon made again.
	StartForce Start = "Force"
)
