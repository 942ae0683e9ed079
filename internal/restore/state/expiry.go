package state

// Expires returns whether the restore may be deleted. One that failed is kept: if GitOps created it again, it would replace
// the data of the cluster days later. A cluster that was never formed would start empty without it.
func (s State) Expires() bool { return s.Restore.Status.Succeeded || s.Restore.Spec.DryRun }
