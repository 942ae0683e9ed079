#!/bin/sh
# Creates a CA and three certificates for one EtcdCluster with openssl. It prints the three Secrets for spec.TLS.static:
# <cluster>-peer, <cluster>-server and <cluster>-client. All of them are valid for 365 days.
#
#     tls-secrets.sh CLUSTER [NAMESPACE [CA-FOLDER]] | kubectl apply -f -
#
# Without CA-FOLDER the script deletes the key of the CA, so the CA cannot sign another certificate. With CA-FOLDER it keeps
# the CA there. Run it again with the same folder to get new certificates of the same CA, which members load without a restart.
# The script is for trying out TLS. In production, issue certificates with the names below from cert-manager or your own CA.
set -eu
cluster=${1:?usage: tls-secrets.sh CLUSTER [NAMESPACE [CA-FOLDER]]}
namespace=${2:-default}
kept=${3:+$(cd "$3" && pwd)}
days=365

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
umask 077

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

if [ -n "$kept" ] && [ -e "$kept/ca.key" ]; then
	cp "$kept/ca.key" "$kept/ca.crt" .
else
	key ca
	openssl req -x509 -new -key ca.key -subj "/CN=$cluster etcd CA" -days "$days" -out ca.crt
	if [ -n "$kept" ]; then cp ca.key ca.crt "$kept"; fi
fi

# certificate FILE COMMON-NAME [SUBJECT-ALTERNATIVE-NAMES]
certificate() {
	key "$1"
	openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
	{
		echo "keyUsage=critical,digitalSignature"
		# etcd also connects to itself and to its peers as a client, so its certificate must be valid for servers and clients.
		echo "extendedKeyUsage=serverAuth,clientAuth"
		if [ -n "${3:-}" ]; then echo "subjectAltName=$3"; fi
	} >"$1.ext"
	openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days "$days" -extfile "$1.ext" -out "$1.crt" 2>openssl.log ||
		{ cat openssl.log >&2; exit 1; }
}

# secret NAME FILE CA-KEY
secret() {
	printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  namespace: %s\nstringData:\n' "$1" "$namespace"
	for pair in "$2.crt=$2.crt" "$2.key=$2.key" "$3=ca.crt"; do
		printf '  %s: |\n' "${pair%%=*}"
		sed 's/^/    /' "${pair#*=}"
	done
}

members="DNS:*.$cluster.$namespace.svc,DNS:*.$cluster.$namespace.svc.cluster.local"
service="DNS:$cluster-client.$namespace.svc,DNS:$cluster-client.$namespace.svc.cluster.local"
certificate peer "$cluster-peer" "$members"
certificate server "$cluster-server" "$members,$service,DNS:$cluster-client,DNS:$cluster-client.$namespace,DNS:localhost,IP:127.0.0.1"
certificate etcd-client "$cluster-client"

secret "$cluster-peer" peer peer-ca.crt
secret "$cluster-server" server server-ca.crt
secret "$cluster-client" etcd-client etcd-client-ca.crt
