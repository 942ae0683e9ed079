// Package pki makes and judges X.509 certificates: an authority, the certificates that it signs, and bundles of
// authorities. It is pure but for randomness: it knows no Kubernetes, no clock and no files. Everything is PEM, and
// every key is ECDSA P-256.
package pki
