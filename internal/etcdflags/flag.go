package etcdflags

// Flag is one flag of etcd.
type Flag struct {
	Name string
	// First and Last are the minor versions that have the flag. Empty is 3.4, and 3.7 or newer.
	First, Last string
	// Refused is set if the flag is the operator's. Users may not set it.
	Refused *Refusal
	// Field of the spec that sets the flag. A user may write the variable instead, but not both.
	Field string
	// Renamed is the name that a later version gives to the same option.
	Renamed string
	// Gate is the feature gate that takes the place of the flag since 3.6.
	Gate string
	// NoEffect: etcd accepts the flag and does nothing with it.
	NoEffect bool
}

// Refusal says why users may not set a flag, and what they do instead. Both are sentences.
type Refusal struct {
	Why, Instead string
	// Kept: a cluster that has the variable from before keeps it, because its members would lose data without it.
	Kept bool
}
