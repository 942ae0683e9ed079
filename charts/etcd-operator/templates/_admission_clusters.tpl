{{/*
What users may write into spec.pod of an EtcdCluster: what the Pod Security Standard "baseline" lets them write into a Pod. Containers and
settings that an EtcdCluster has already are kept, so that an older EtcdCluster can still be changed.
*/}}
{{- define "etcd-operator.clustersRules" }}
- apiGroups: [etcd.database.coreos.com]
  apiVersions: ["*"]
  operations: [CREATE, UPDATE]
  resources: [etcdclusters]
{{- end }}

{{- define "etcd-operator.clustersVariables" }}
- name: creates
  expression: request.operation == 'CREATE'
- name: containersBefore
  expression: "variables.creates ? [] : oldObject.spec.?pod.?containers.orValue([]) + oldObject.spec.?pod.?initContainers.orValue([])"
- name: containers # that are new or changed
  expression: >-
    (object.spec.?pod.?containers.orValue([]) + object.spec.?pod.?initContainers.orValue([])).filter(c, !(c in variables.containersBefore))
- name: podContexts
  expression: >-
    !object.spec.?pod.?securityContext.hasValue() || !variables.creates && oldObject.spec.?pod.?securityContext == object.spec.?pod.?securityContext ?
    [] : [object.spec.pod.securityContext]
- name: contexts
  expression: variables.podContexts + variables.containers.filter(c, has(c.securityContext)).map(c, c.securityContext)
{{- end }}

{{- define "etcd-operator.clustersValidations" }}
{{- $otherwise := "Remove it, or ask your administrator for the value admissionPolicies.allowPrivileged of the operators' chart." }}
- expression: >-
    variables.contexts.all(s, !s.?privileged.orValue(false) && s.?procMount.orValue('Default') == 'Default' &&
    !s.?windowsOptions.?hostProcess.orValue(false))
  message: A container of spec.pod may not be privileged, have another procMount than Default, or be a process of its node. {{ $otherwise }}
  reason: Forbidden
- expression: >-
    variables.contexts.all(s, s.?capabilities.?add.orValue([]).all(a, a in ['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL',
    'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT']))
  message: A container of spec.pod may add only the capabilities that a container runtime gives each container. {{ $otherwise }}
  reason: Forbidden
- expression: >-
    variables.contexts.all(s, s.?seccompProfile.?type.orValue('') != 'Unconfined' && s.?appArmorProfile.?type.orValue('') != 'Unconfined')
  message: The profile of seccomp or AppArmor in spec.pod may not be Unconfined. {{ $otherwise }}
  reason: Forbidden
- expression: >-
    !variables.creates && oldObject.spec.?pod.?annotations == object.spec.?pod.?annotations ||
    object.spec.?pod.?annotations.orValue({}).all(k, !k.startsWith('container.apparmor.security.beta.kubernetes.io/') ||
    object.spec.pod.annotations[k] == 'runtime/default' || object.spec.pod.annotations[k].startsWith('localhost/'))
  message: An annotation of spec.pod may not let a container run without AppArmor. {{ $otherwise }}
  reason: Forbidden
- expression: >-
    variables.contexts.all(s, s.?seLinuxOptions.?user.orValue('') == '' && s.?seLinuxOptions.?role.orValue('') == '' &&
    s.?seLinuxOptions.?type.orValue('') in ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'])
  message: spec.pod may not set the user, the role or another type of SELinux than that of containers. {{ $otherwise }}
  reason: Forbidden
- expression: >-
    variables.podContexts.all(s, s.?sysctls.orValue([]).all(p, p.name in ['kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range',
    'net.ipv4.ip_unprivileged_port_start', 'net.ipv4.tcp_syncookies', 'net.ipv4.ping_group_range', 'net.ipv4.ip_local_reserved_ports',
    'net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes',
    'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']))
  message: spec.pod may set only sysctls that change nothing outside of the Pod. {{ $otherwise }}
  reason: Forbidden
- expression: >-
    variables.containers.all(c, [c.?livenessProbe, c.?readinessProbe, c.?startupProbe, c.?lifecycle.?postStart, c.?lifecycle.?preStop].all(h,
    h.?httpGet.?host.orValue('') == '' && h.?tcpSocket.?host.orValue('') == ''))
  message: A probe or a hook in spec.pod may not name a host, because the node would connect to it. {{ $otherwise }}
  reason: Forbidden
{{- end }}
