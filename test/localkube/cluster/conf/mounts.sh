# The node's own /run, /var/lib, /var/log: its programs write where they always
# do, and nothing of it is on the host when they are gone.
mount -t tmpfs -o mode=755 lk-run /run
mkdir /run/lock
mount --bind {{.Dir}}/lib /var/lib
mount --bind {{.Dir}}/log /var/log
mount --bind {{.Dir}}/volumes /var/lib/local-path
# The kubelet sets these for the whole machine. It finds them as it wants them
# and leaves the machine's alone.
for s in {{.Dir}}/sysctl/*; do mount --bind "$s" "/proc/sys/$(basename "$s" | tr . /)"; done
