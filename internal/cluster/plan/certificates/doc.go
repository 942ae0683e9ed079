// Package certificates decides when certificates and the CA are issued, written, loaded and replaced, and reports what cannot be.
package certificates
