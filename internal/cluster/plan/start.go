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
	// StartRejoin continues with the data on the volume.
	StartRejoin Start = "Rejoin"
	// StartSeed continues with the data that an init container restores from a snapshot.
	StartSeed Start = "Seed"
	// StartForce continues with the data on the volume as a cluster of one, without all other members
	// (--force-new-cluster). No Service selects such a member, and the operator restarts it without the flag.
	StartForce Start = "Force"
)
