#!/bin/bash
# Pid 1 of a node. Its mounts are its own, /run and changes of /var included; what it starts ends with it.
set -eu
hostname "$HOST"
mount --make-rshared /
mount -t proc proc /proc
mkdir "$PLACE/var" "$PLACE/var-work" "$PLACE/none"
mount -t overlay -o "lowerdir=/var,upperdir=$PLACE/var,workdir=$PLACE/var-work" overlay /var
mount -t tmpfs tmpfs /run
mkdir /run/netns
mount --bind "$PLACE/cpu" /sys/devices/system/cpu
mount --bind "$PLACE/none" /sys/devices/system/node

containerd --config "$PLACE/containerd.toml" >"$LOG-containerd.log" 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for image in $IMAGES; do ctr --namespace k8s.io images import "$image" >/dev/null; done
"$BIN/kube-proxy" $PROXY_OPTIONS >"$LOG-kube-proxy.log" 2>&1 &
"$BIN/kubelet" --config="$PLACE/kubelet.json" --kubeconfig="$KUBECONFIG" --root-dir="$PLACE/kubelet" \
  --cert-dir="$PLACE/pki" --container-runtime-endpoint=unix:///run/containerd/containerd.sock \
  --runtime-cgroups=/ --node-ip="$ADDRESS" --hostname-override="$HOST" >"$LOG-kubelet.log" 2>&1 &
# bash also reaps what others leave behind. Without the loop the end of one daemon would end the node.
while true; do wait -n || sleep 1; done
