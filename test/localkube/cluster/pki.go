package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
)

// A ca is the certificate authority that signs every certificate of the cluster, of
// servers and of clients. It is stored in the state directory.
type ca struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

const validity = 10 * 365 * 24 * time.Hour

func newCA() (*ca, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the CA's key: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "localkube"}, SerialNumber: big.NewInt(1),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the CA's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the CA's certificate: %w", err)
	}
	return &ca{key: key, cert: cert, pem: encode("CERTIFICATE", der)}, nil
}

// An identity is the subject of a certificate. Kubernetes reads the user name from
// the common name and the groups from the organizations.
type identity struct {
	user, group string
	names       []string // DNS names and IP addresses of a server
}

// A pair is a certificate and its key, in PEM.
type pair struct {
	cert, key []byte
}

func (a *ca) issue(id identity) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("create the key of %s: %w", id.user, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return pair{}, fmt.Errorf("create a serial number: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: id.user}, SerialNumber: serial,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if id.group != "" {
		template.Subject.Organization = []string{id.group}
	}
	for _, name := range id.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %s: %w", id.user, err)
	}
	keyPEM, err := encodeKey(key)
	return pair{cert: encode("CERTIFICATE", der), key: keyPEM}, err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("PRIVATE KEY", der), nil
}

// kubeconfig returns a kubeconfig for one user that refers to no other file.
func kubeconfig(a *ca, p pair) ([]byte, error) {
	type object = map[string]any
	return yaml.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "localkube",
		"clusters": []object{{"name": "localkube", "cluster": object{"server": apiServer, "certificate-authority-data": a.pem}}},
		"users":    []object{{"name": "localkube", "user": object{"client-certificate-data": p.cert, "client-key-data": p.key}}},
		"contexts": []object{{"name": "localkube", "context": object{"cluster": "localkube", "user": "localkube"}}},
	})
}

const apiServer = "https://" + controlAddress + ":6443"

// identities maps a file name in the state directory to the identity of its
// certificate: one for each node, for the administrator and for each program of
// the control plane.
func identities(nodes []node) map[string]identity {
	ids := map[string]identity{
		"admin":              {user: "admin", group: "system:masters"},
		"controller-manager": {user: "system:kube-controller-manager"},
		"scheduler":          {user: "system:kube-scheduler"},
		"proxy":              {user: "system:kube-proxy"},
		"directories":        {user: "directory-provisioner", group: "system:masters"},
		"local-path":         {user: "local-path-provisioner", group: "system:masters"},
		"apiserver-kubelet":  {user: "apiserver-kubelet", group: "system:masters"},
		"apiserver": {user: "kube-apiserver", names: []string{"localhost", "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "127.0.0.1", firstService, controlAddress}},
	}
	for _, n := range nodes {
		ids[n.String()] = identity{user: "system:node:" + n.String(), group: "system:nodes", names: []string{n.String(), n.address()}}
	}
	return ids
}

// writePKI writes the CA, the service account key, and a certificate, key and
// kubeconfig for each identity.
func (c *Cluster) writePKI() error {
	a, err := newCA()
	if err != nil {
		return err
	}
	caKey, err := encodeKey(a.key)
	if err != nil {
		return err
	}
	accounts, err := a.issue(identity{user: "service-accounts"})
	if err != nil {
		return err
	}
	files := map[string][]byte{"ca.crt": a.pem, "ca.key": caKey, "sa.crt": accounts.cert, "sa.key": accounts.key}
	for name, id := range identities(c.nodes()) {
		p, err := a.issue(id)
		if err != nil {
			return err
		}
		config, err := kubeconfig(a, p)
		if err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", name, err)
		}
		files[name+".crt"], files[name+".key"], files[name+".kubeconfig"] = p.cert, p.key, config
	}
	for name, content := range files {
		if err := writeFile(c.layout.pki(name), content, 0o600); err != nil {
			return err
		}
	}
	return writeFile(c.layout.kubeconfig(), files["admin.kubeconfig"], 0o600)
}

// writeFile writes a file and creates its parent directories.
func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the directory of %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
