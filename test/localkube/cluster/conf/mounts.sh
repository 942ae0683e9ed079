# The node has its own /run, /var/lib and /var/log. Its programs write to their
# usual paths and leave nothing on this machine.
mount -t tmpfs -o mode=755 lk-run /run
mkdir /run/lock
mount --bind {{.Dir}}/lib /var/lib
mount --bind {{.Dir}}/log /var/log
mount --bind {{.Dir}}/volumes /var/lib/volumes
# The kubelet would set these for the whole machine. These files already have its
# values, so it does not change the machine's.
for s in {{.Dir}}/sysctl/*; do mount --bind "$s" "/proc/sys/$(basename "$s" | tr . /)"; done
