{{/* What cluster-operator may do with Pods and volumes. */}}
{{- define "etcd-operator.podsRules" }}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [pods, pods/resize]
{{- end }}

{{- define "etcd-operator.podsVariables" }}
- name: memberBefore
  expression: >-
    !variables.creates && (variables.clusterBefore != '' || variables.ownersBefore.size() == 0 && variables.nameOfMember &&
    has(oldObject.spec.subdomain) && variables.name.startsWith(oldObject.spec.subdomain + '-'))
- name: resizes
  expression: has(request.subResource) && request.subResource == 'resize'
- name: containers
  expression: "!variables.creates ? [] : object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"
- name: volumes
  expression: "variables.creates && has(object.spec.volumes) ? object.spec.volumes : []"
{{- end }}

{{- define "etcd-operator.podsValidations" }}
{{- $policies := .Values.admissionPolicies }}
- expression: variables.isClusterOperator
  message: Only cluster-operator may write Pods.
  reason: Forbidden
- expression: >-
    variables.creates ? variables.cluster != '' && variables.name.startsWith(variables.cluster + '-') &&
    has(object.metadata.labels) && 'etcd_cluster' in object.metadata.labels && object.metadata.labels['etcd_cluster'] == variables.cluster :
    variables.memberBefore && (variables.deletes || variables.cluster != '' || variables.owners.size() == 0)
  message: cluster-operator may only write Pods of members, which an EtcdCluster owns.
  reason: Forbidden
- expression: variables.creates || variables.deletes || variables.resizes || object.spec == oldObject.spec
  message: cluster-operator may change labels, annotations and owners of a Pod, and nothing else.
  reason: Forbidden
- expression: >-
    !variables.creates || (!has(object.spec.hostNetwork) || !object.spec.hostNetwork) &&
    (!has(object.spec.hostPID) || !object.spec.hostPID) && (!has(object.spec.hostIPC) || !object.spec.hostIPC)
  message: A Pod of a member may not use the network, the processes or the IPC of its node.
  reason: Forbidden
- expression: >-
    variables.volumes.all(v, has(v.emptyDir) || has(v.persistentVolumeClaim) || has(v.secret) || has(v.configMap) || has(v.csi) ||
    has(v.projected) || has(v.downwardAPI) || has(v.ephemeral) || has(v.hostPath) && v.hostPath.path in {{ toJson $policies.hostPaths | replace "\"" "'" }})
  message: A Pod of a member may not mount a path of its node, or a volume of a type that spec.pod.volumes does not have. If an admission webhook adds a path that you trust, add it to the value admissionPolicies.hostPaths of the operators' chart.
  reason: Forbidden
{{- if not $policies.allowPrivileged }}
- expression: "variables.containers.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0))"
  message: A container of a member may not take a port of its node (hostPort). If your sidecars need that, set the value admissionPolicies.allowPrivileged of the operators' chart.
  reason: Forbidden
- expression: >-
    variables.containers.all(c, !has(c.securityContext) ||
    (!has(c.securityContext.privileged) || !c.securityContext.privileged) &&
    (!has(c.securityContext.procMount) || c.securityContext.procMount == 'Default') &&
    (!has(c.securityContext.windowsOptions) || !has(c.securityContext.windowsOptions.hostProcess) || !c.securityContext.windowsOptions.hostProcess) &&
    (!has(c.securityContext.capabilities) || !has(c.securityContext.capabilities.add) || c.securityContext.capabilities.add.all(a, a in
    ['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'IPC_LOCK', 'KILL', 'MKNOD', 'NET_ADMIN', 'NET_BIND_SERVICE', 'NET_RAW',
    'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'])))
  message: A container of a member may not be privileged, and may not add a capability that reaches its node. If your sidecars need that, set the value admissionPolicies.allowPrivileged of the operators' chart.
  reason: Forbidden
{{- end }}
- expression: >-
    !variables.creates || has(object.spec.automountServiceAccountToken) && !object.spec.automountServiceAccountToken &&
    variables.volumes.all(v, !has(v.projected) || !has(v.projected.sources) || v.projected.sources.all(s, has(s.secret) || has(s.configMap) ||
    has(s.downwardAPI) || has(s.clusterTrustBundle) || has(s.serviceAccountToken) &&
    has(s.serviceAccountToken.audience) && s.serviceAccountToken.audience in {{ toJson $policies.tokenAudiences | replace "\"" "'" }}))
  message: A Pod of a member may not mount a token or a certificate of a ServiceAccount. If an admission webhook adds a token for another audience than the Kubernetes API, add that audience to the value admissionPolicies.tokenAudiences of the operators' chart.
  reason: Forbidden
{{- end }}

{{- define "etcd-operator.volumesRules" }}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [persistentvolumeclaims]
{{- end }}

{{- define "etcd-operator.volumesVariables" }}
- name: memberBefore
  expression: >-
    !variables.creates && (variables.clusterBefore != '' || variables.ownersBefore.size() == 0 && (variables.nameOfMember ||
    has(oldObject.metadata.annotations) && 'etcd.database.coreos.com/cluster-uid' in oldObject.metadata.annotations))
- name: dryRun # creates nothing; it has no owner
  expression: has(request.dryRun) && request.dryRun && variables.owners.size() == 0
{{- end }}

{{- define "etcd-operator.volumesValidations" }}
- expression: variables.isClusterOperator
  message: Only cluster-operator may write PersistentVolumeClaims.
  reason: Forbidden
- expression: >-
    variables.creates ? variables.dryRun || variables.cluster != '' && variables.name.startsWith(variables.cluster + '-') :
    variables.memberBefore && (variables.deletes || variables.cluster != '' || variables.owners.size() == 0)
  message: cluster-operator may only write PersistentVolumeClaims of members, which belong to an EtcdCluster.
  reason: Forbidden
- expression: "!variables.creates || !has(object.spec.dataSource) && !has(object.spec.dataSourceRef)"
  message: A new PersistentVolumeClaim of a member is empty. It may not copy another volume.
  reason: Forbidden
{{- end }}
