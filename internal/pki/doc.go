// Package pki issues and checks X.509 certificates: a certificate authority (CA), the certificates that it signs, and
// bundles of CA certificates. Apart from randomness it is pure: it uses no Kubernetes, no clock and no files. All
// content is PEM, and all keys are ECDSA P-256.
package pki
