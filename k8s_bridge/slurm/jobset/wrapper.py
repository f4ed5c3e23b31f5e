"""The shell around slurmd: a pod whose slurmd ended is a failed pod.

slurmd exits 0 on SIGTERM, and an Indexed Job would take a drained or deleted pod for a finished one and never
replace it. A JobSet never completes by itself: when the job is over, the bridge deletes it. So there is no
end of slurmd that means success, and the wrapper turns 0 into 1.

slurmd starts through the entrypoint of its image where there is one. Such an entrypoint joins its arguments
and has them split again by shell rules, so the arguments carry inner quotes; without an entrypoint the
wrapper does the same. SLURMD_ENTRYPOINT in the pod template names another entrypoint.

Told to end, it first lets the steps of jobs go on for SLURMD_GRACE seconds, where that is set: slurmd takes
them along when it ends.
"""

from __future__ import annotations

WRAPPER = """\
end() {
  for ((left = ${SLURMD_GRACE:-0}; left > 0; left--)); do
    grep -qs '^slurmstepd: \\[' /proc/[0-9]*/cmdline || break
    sleep 1
  done
  kill -TERM "$child"
}
trap end TERM INT
entry=${SLURMD_ENTRYPOINT:-$(command -v slurmd-entrypoint.sh entrypoint.sh | head -n 1)}
if [ -n "$entry" ]; then "$entry" "$@" & else eval "exec slurmd -D $*" & fi
child=$!
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
[ "$code" -ne 0 ] || code=1
exit "$code"
"""

COMMAND = ["/bin/bash", "-c", WRAPPER, "slurmd"]
"""`slurmd` is $0, so that the container's args are the wrapper's own."""
