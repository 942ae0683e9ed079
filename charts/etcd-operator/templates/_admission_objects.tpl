{{/* What the operators may do with Secrets and with the objects around a cluster. */}}
{{- define "etcd-operator.secretsRules" }}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [secrets]
{{- end }}

{{- define "etcd-operator.secretsVariables" }}
- name: ofRestore
  expression: >-
    !variables.deletes && has(object.metadata.ownerReferences) && object.metadata.ownerReferences.size() == 1 &&
    object.metadata.ownerReferences.all(o, o.kind == 'EtcdRestore' && o.apiVersion.startsWith('etcd.database.coreos.com/') &&
    variables.name == 'etcdrestore-' + o.uid)
- name: ofRestoreBefore
  expression: >-
    !variables.creates && has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.size() == 1 &&
    oldObject.metadata.ownerReferences.all(o, o.kind == 'EtcdRestore' && o.apiVersion.startsWith('etcd.database.coreos.com/') &&
    variables.name == 'etcdrestore-' + o.uid)
- name: user # of a cluster, whose certificate a Secret of that name has
  expression: >-
    variables.name.startsWith(variables.cluster + '-') && variables.name.endsWith('-tls') && variables.name.size() > variables.cluster.size() + 5 ?
    variables.name.substring(variables.cluster.size() + 1, variables.name.size() - 4) : ''
- name: ofCluster # its user is none whose Secret has the name of a Secret of another cluster
  expression: >-
    variables.cluster != '' && (variables.name == variables.cluster + '-ca' || variables.user in ['peer', 'server', 'client', 'operator'] ||
    variables.user.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$') && !variables.user.matches('-(peer|server|client|operator)$'))
{{- end }}

{{- define "etcd-operator.secretsValidations" }}
{{- $added := .Values.admissionPolicies.secretAnnotations | default list | toJson | replace "\"" "'" }}
- expression: "(variables.deletes ? oldObject : object).type == 'Opaque'"
  message: An operator may only write Secrets of the type Opaque.
  reason: Forbidden
- expression: >-
    variables.isClusterOperator && !variables.deletes && variables.ofCluster && (variables.creates || variables.clusterBefore == variables.cluster) ||
    variables.isRestoreOperator && (variables.deletes || variables.ofRestore) && (variables.creates || variables.ofRestoreBefore)
  message: cluster-operator may only write the Secrets with the certificates of an EtcdCluster, and restore-operator only those with the signed URL of an EtcdRestore.
  reason: Forbidden
- expression: >-
    variables.deletes || !has(object.metadata.annotations) || object.metadata.annotations.all(k, k.startsWith('etcd.database.coreos.com/') || k in {{ $added }} ||
    !variables.creates && has(oldObject.metadata.annotations) && k in oldObject.metadata.annotations &&
    object.metadata.annotations[k] == oldObject.metadata.annotations[k])
  message: An operator may only give a Secret its own annotations, because other controllers copy a Secret to other namespaces by its annotations. If an admission webhook adds an annotation that you trust, add it to the value admissionPolicies.secretAnnotations of the operators' chart.
  reason: Forbidden
- expression: >-
    variables.deletes || !has(object.metadata.labels) || !('argocd.argoproj.io/secret-type' in object.metadata.labels) ||
    !variables.creates && has(oldObject.metadata.labels) && 'argocd.argoproj.io/secret-type' in oldObject.metadata.labels &&
    object.metadata.labels['argocd.argoproj.io/secret-type'] == oldObject.metadata.labels['argocd.argoproj.io/secret-type']
  message: An operator may not make a Secret one of the settings of Argo CD.
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.servicesRules" }}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [services]
{{- end }}

{{- define "etcd-operator.servicesValidations" }}
- expression: >-
    variables.isClusterOperator && !variables.deletes && variables.cluster != '' &&
    (variables.name == variables.cluster || variables.name == variables.cluster + '-client') && (variables.creates || variables.clusterBefore == variables.cluster)
  message: cluster-operator may only create and change the two Services of an EtcdCluster.
  reason: Forbidden
- expression: >-
    variables.deletes || has(object.spec.selector) && 'etcd_cluster' in object.spec.selector && object.spec.selector['etcd_cluster'] == variables.cluster
  message: A Service of an EtcdCluster selects the members of that EtcdCluster.
  reason: Forbidden
- expression: >-
    variables.deletes || (!has(object.spec.externalIPs) || !variables.creates && has(oldObject.spec.externalIPs) &&
    object.spec.externalIPs == oldObject.spec.externalIPs)
  message: cluster-operator may not set externalIPs of a Service.
  reason: Forbidden
- expression: variables.deletes || !has(object.spec.type) || object.spec.type != 'ExternalName'
  message: A Service of an EtcdCluster may not lead to the name of another server (type ExternalName).
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.budgetsRules" }}
- apiGroups: [policy]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [poddisruptionbudgets]
{{- end }}

{{- define "etcd-operator.budgetsValidations" }}
- expression: >-
    variables.isClusterOperator && (variables.deletes ? variables.clusterBefore != '' :
    variables.creates && has(request.dryRun) && request.dryRun && variables.owners.size() == 0 ||
    variables.cluster != '' && variables.name == variables.cluster && (variables.creates || variables.clusterBefore == variables.cluster))
  message: cluster-operator may only write the PodDisruptionBudget of an EtcdCluster.
  reason: Forbidden
- expression: >-
    variables.deletes || variables.cluster == '' || has(object.spec.selector) && has(object.spec.selector.matchLabels) &&
    'etcd_cluster' in object.spec.selector.matchLabels && object.spec.selector.matchLabels['etcd_cluster'] == variables.cluster
  message: A PodDisruptionBudget of an EtcdCluster selects the members of that EtcdCluster.
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.networkPoliciesRules" }}
- apiGroups: [networking.k8s.io]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [networkpolicies]
{{- end }}

{{- define "etcd-operator.networkPoliciesValidations" }}
- expression: >-
    variables.isClusterOperator && (variables.deletes ? variables.clusterBefore != '' && variables.name == variables.clusterBefore :
    variables.cluster != '' && variables.name == variables.cluster && (variables.creates || variables.clusterBefore == variables.cluster))
  message: cluster-operator may only write the NetworkPolicy of an EtcdCluster.
  reason: Forbidden
- expression: >-
    variables.deletes || (!has(object.spec.podSelector.matchExpressions) || object.spec.podSelector.matchExpressions.size() == 0) &&
    has(object.spec.podSelector.matchLabels) && 'etcd_cluster' in object.spec.podSelector.matchLabels &&
    object.spec.podSelector.matchLabels['etcd_cluster'] == variables.cluster
  message: A NetworkPolicy of an EtcdCluster selects the members of that EtcdCluster.
  reason: Forbidden
- expression: "variables.deletes || has(object.spec.policyTypes) && object.spec.policyTypes == ['Ingress']"
  message: A NetworkPolicy of an EtcdCluster limits only connections to its members.
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.certificatesRules" }}
- apiGroups: [cert-manager.io]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [certificates]
{{- end }}

{{- define "etcd-operator.certificatesVariables" }}
- name: issuer # without its name
  expression: >-
    variables.deletes ? '' : (has(object.spec.issuerRef.kind) && object.spec.issuerRef.kind != '' ? object.spec.issuerRef.kind : 'Issuer') + '.' +
    (has(object.spec.issuerRef.group) && object.spec.issuerRef.group != '' ? object.spec.issuerRef.group : 'cert-manager.io') + '/'
- name: service
  expression: variables.cluster + '-client.' + request.namespace
- name: members
  expression: "'*.' + variables.cluster + '.' + request.namespace"
- name: ofUser # of a user of spec.auth, whose name is the common name
  expression: >-
    !variables.deletes && variables.cluster != '' && has(object.spec.commonName) && variables.name == variables.cluster + '-' + object.spec.commonName &&
    object.spec.commonName.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$') && !['root', 'peer', 'server', 'client', 'operator'].exists(n,
    object.spec.commonName == n || n != 'root' && object.spec.commonName.endsWith('-' + n)) && has(object.spec.usages) &&
    object.spec.usages.all(u, u in ['digital signature', 'client auth']) && (!has(object.spec.dnsNames) || object.spec.dnsNames.all(n,
    n == 'client.' + variables.cluster + '.' + request.namespace + '.svc')) && (!has(object.spec.ipAddresses) || object.spec.ipAddresses.size() == 0)
- name: ofUserBefore
  expression: >-
    !variables.creates && variables.clusterBefore != '' && variables.name.startsWith(variables.clusterBefore + '-') &&
    !(variables.name in [variables.clusterBefore + '-peer', variables.clusterBefore + '-server', variables.clusterBefore + '-client', variables.clusterBefore + '-operator'])
{{- end }}

{{/* The allowed issuers in the form kind.group/name, as a list of CEL. */}}
{{- define "etcd-operator.issuers" -}}
{{- $issuers := list -}}
{{- range .Values.clusterOperator.certManagerIssuers -}}
{{- $of := splitList "/" . -}}
{{- $issuers = append $issuers (printf "%s%s/%s" (first $of) (ternary "" ".cert-manager.io" (contains "." (first $of))) (last $of)) -}}
{{- end -}}
{{- toJson $issuers | replace "\"" "'" -}}
{{- end -}}

{{- define "etcd-operator.certificatesValidations" }}
{{- $domain := printf ".%s" (default "cluster.local" .Values.admissionPolicies.clusterDomain) }}
- expression: >-
    variables.deletes || variables.issuer == 'Issuer.cert-manager.io/' || variables.issuer + object.spec.issuerRef.name in {{ include "etcd-operator.issuers" . }} ||
    variables.issuer + '*' in {{ include "etcd-operator.issuers" . }}
  message: cluster-operator may only name an Issuer of the namespace, or an issuer of the value clusterOperator.certManagerIssuers of the operators' chart.
  reason: Forbidden
- expression: >-
    variables.isClusterOperator && (variables.deletes ? variables.ofUserBefore : variables.cluster != '' && (variables.ofUser || variables.name in [
    variables.cluster + '-peer', variables.cluster + '-server', variables.cluster + '-client', variables.cluster + '-operator']) &&
    (variables.creates || variables.clusterBefore == variables.cluster))
  message: cluster-operator may only create and change the four Certificates of an EtcdCluster and those of its users, and delete those of users.
  reason: Forbidden
- expression: variables.deletes || object.spec.secretName == variables.name + '-issued' && (!has(object.spec.isCA) || !object.spec.isCA)
  message: A Certificate of an EtcdCluster is written to the Secret with the name of the Certificate and -issued, and is no CA.
  reason: Forbidden
- expression: >-
    variables.deletes || !has(object.spec.dnsNames) || object.spec.dnsNames.all(n, n in ['localhost', variables.cluster + '-client',
    variables.service, variables.service + '.svc', variables.service + '.svc{{ $domain }}', variables.members + '.svc', variables.members + '.svc{{ $domain }}',
    'client.' + variables.cluster + '.' + request.namespace + '.svc']
    {{- range .Values.clusterOperator.certificateDomains }} || variables.name == variables.cluster + '-server' && (n == '{{ . }}' || n.endsWith('.{{ . }}')){{ end }}) ||
    !variables.creates && has(oldObject.spec.dnsNames) && object.spec.dnsNames == oldObject.spec.dnsNames
  message: A Certificate of an EtcdCluster has the names of its members and Services only, in the domain of this Kubernetes. If that is not {{ trimPrefix "." $domain }}, write it into the value admissionPolicies.clusterDomain of the operators' chart. The domains of extraNames belong into clusterOperator.certificateDomains.
  reason: Forbidden
- expression: >-
    variables.deletes || ['peer', 'server'].all(u, variables.name != variables.cluster + '-' + u || object.spec.commonName == variables.name) &&
    (variables.name != variables.cluster + '-operator' || object.spec.commonName == 'root')
  message: Only the Certificates of clients and users have a common name that the author of the EtcdCluster chooses.
  reason: Forbidden
- expression: >-
    variables.deletes ||
    (!has(object.spec.ipAddresses) || object.spec.ipAddresses.all(a, a in ['127.0.0.1', '::1'])) &&
    (!has(object.spec.subject) || !variables.creates && has(oldObject.spec.subject) && object.spec.subject == oldObject.spec.subject) &&
    (!has(object.spec.uris) || !variables.creates && has(oldObject.spec.uris) && object.spec.uris == oldObject.spec.uris) &&
    (!has(object.spec.emailAddresses) || !variables.creates && has(oldObject.spec.emailAddresses) && object.spec.emailAddresses == oldObject.spec.emailAddresses) &&
    (!has(object.spec.otherNames) || !variables.creates && has(oldObject.spec.otherNames) && object.spec.otherNames == oldObject.spec.otherNames) &&
    (!has(object.spec.secretTemplate) || !variables.creates && has(oldObject.spec.secretTemplate) && object.spec.secretTemplate == oldObject.spec.secretTemplate ||
    (!has(object.spec.secretTemplate.labels) || object.spec.secretTemplate.labels.all(k, k != 'argocd.argoproj.io/secret-type' && has(object.metadata.labels) &&
    k in object.metadata.labels && object.metadata.labels[k] == object.spec.secretTemplate.labels[k])) &&
    (!has(object.spec.secretTemplate.annotations) || object.spec.secretTemplate.annotations.all(k, !variables.creates &&
    has(oldObject.spec.secretTemplate) && has(oldObject.spec.secretTemplate.annotations) && k in oldObject.spec.secretTemplate.annotations &&
    object.spec.secretTemplate.annotations[k] == oldObject.spec.secretTemplate.annotations[k]))) &&
    (!has(object.spec.literalSubject) || !variables.creates && has(oldObject.spec.literalSubject) && object.spec.literalSubject == oldObject.spec.literalSubject)
  message: cluster-operator may not set other names in a Certificate, no annotations of its Secret, and only labels of its Secret that the Certificate has, too.
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.kindsRules" }}
- apiGroups: [etcd.database.coreos.com]
  apiVersions: [v1beta2]
  operations: [CREATE, UPDATE, DELETE]
  resources: [etcdclusters, etcdbackups, etcdrestores]
{{- end }}

{{- define "etcd-operator.kindsValidations" }}
- expression: >-
    variables.deletes ? has(oldObject.spec.ttlSecondsAfterFinished) && (request.resource.resource == 'etcdbackups' && variables.isBackupOperator ||
    request.resource.resource == 'etcdrestores' && variables.isRestoreOperator) :
    !variables.creates && request.resource.resource == 'etcdbackups' && variables.isBackupOperator && object.spec == oldObject.spec
  message: backup-operator may only set finalizers of an EtcdBackup. An operator may only delete an EtcdBackup or EtcdRestore with ttlSecondsAfterFinished.
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.eventsRules" }}
- apiGroups: ["", events.k8s.io]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [events]
{{- end }}

{{- define "etcd-operator.eventsValidations" }}
- expression: >-
    !variables.deletes && (request.resource.group == '' ? object.involvedObject.kind == 'Lease' :
    has(object.regarding) && object.regarding.apiVersion.startsWith('etcd.database.coreos.com/'))
  message: An operator may only write events about objects of this suite, and about Leases.
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.leasesRules" }}
- apiGroups: [coordination.k8s.io]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [leases]
{{- end }}

{{- define "etcd-operator.leasesValidations" }}
- expression: >-
    !variables.deletes && (
    variables.isClusterOperator && variables.name.startsWith('cluster-operator') && variables.name.endsWith('.etcd.database.coreos.com') ||
    variables.isBackupOperator && variables.name == 'backup-operator.etcd.database.coreos.com' ||
    variables.isRestoreOperator && variables.name == 'restore-operator.etcd.database.coreos.com')
  message: An operator may only write its own Lease.
  reason: Forbidden
{{- end }}
