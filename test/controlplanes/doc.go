// Package controlplanes checks the manifests of docs/control-planes-*.md against the formats of Kamaji, k0smotron, vcluster, HyperShift and Cluster API.
// It is a module of its own, because it needs the Go types of Cluster API. The module proxy has no modules of the others, so formats/ has their
// fields that the pages use, as JSON Schemas that refuse all others. Each names the file, the repository and the commit that define the fields.
package controlplanes
