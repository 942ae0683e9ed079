// Package material judges the contents of the Secrets with certificates, and makes new contents. The plan reads only the judgement, which is
// state.Certificates.
package material
