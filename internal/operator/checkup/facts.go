package checkup

// Facts are what the API server reports.
type Facts struct {
	// Schemas are the fields of spec and status that it serves, by kind: Schemas["EtcdCluster"]["spec"]["size"].
	Schemas map[string]map[string]map[string]bool
	Lease   Lease
	// Asked is the number of rights, and Denied are those that the operator lacks.
	Asked  int
	Denied []string
}

// A Lease is the one of the operator.
type Lease struct {
	Holder, Version string
	// Renewed means that its time changed while the check waited, so the holder runs.
	Renewed bool
	// Err is why it cannot be read.
	Err error
}

// versionLabel is the label of a Lease with the version of the operator that holds it.
const versionLabel = "app.kubernetes.io/version"
