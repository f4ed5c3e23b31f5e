"""What `top` and `explain` show of inner RayJobs."""

from __future__ import annotations

from collections.abc import Iterator

from k8s_bridge.core.admission import condition, is_true
from k8s_bridge.ray import names
from k8s_bridge.ray.controller import RayController, Said
from k8s_bridge.ray.facts import Facts
from k8s_bridge.ray.observe import Observer
from k8s_bridge.ray.request import Refusal, Request
from k8s_bridge.ray.tables import cluster_of
from k8s_bridge.ray.unit import Key, State, Unit
from k8s_bridge.runtime.units import UnitDetail, UnitRow

_NEXT: dict[State, str] = {
    State.HELD: "a JobSet is created for its workers",
    State.REFUSED: "make another RayJob that asks for what can be given",
    State.CLUSTER: "the shared cluster's head comes up",
    State.DENIED: "its JobSet is created at the next attempt, once what refuses it lets it pass",
    State.QUEUED: "Kueue admits its Workload",
    State.ADMITTED: "its workers start and join the shared head",
    State.READY: "its submitter is let go",
    State.RELEASED: "Ray starts its driver",
    State.RUNNING: "it ends; then its workers are given back",
    State.EVICTED: "its submission is given up, and the next one waits for capacity",
    State.LOST: "its submission is given up, and the next one waits for capacity",
    State.REQUEUING: "KubeRay makes the next submission, which is held",
    State.FAILED: "its workers are made again",
    State.RESIZED: "its workers are asked for anew",
    State.EXHAUSTED: "somebody looks at why its workers failed",
    State.BYPASSED: "install the admission policies or the webhook, and label the namespace",
    State.FINISHED: "its workers are given back",
    State.DRAINING: "its JobSet is deleted",
}


class Details:
    """Rows and explanations, made at the moment of the request."""

    def __init__(self, controller: RayController, observer: Observer) -> None:
        self._controller = controller
        self._observer = observer

    def __call__(self, name: str) -> Iterator[UnitDetail]:
        """The unit called `name` (a RayJob's name, or namespace/name), or all that are for us for ""."""
        for key, said in tuple(self._controller.said.items()):
            if name in {str(key), key.name} or (not name and said.state is not State.FOREIGN):
                yield self._detail(key, said)

    def _detail(self, key: Key, said: Said) -> UnitDetail:
        unit = self._observer.unit(key)
        return UnitDetail(
            row=self._row(unit, said), facts=dict(_facts(unit)), next_step=_NEXT.get(said.state, "")
        )

    def _row(self, unit: Unit, said: Said) -> UnitRow:
        request = unit.request
        return UnitRow(
            kind="RayJob",
            name=str(unit.key),
            state=said.state.value,
            queue=request.queue if isinstance(request, Request) else "",
            priority=unit.workload.spec.priority if unit.workload else None,
            reason=said.reason,
            text=said.text,
            since=said.since,
            nodes=tuple(pod.metadata.name for pod in unit.workers),
            workloadmixing=self._controller.name,
        )


def _facts(unit: Unit) -> Iterator[tuple[str, str]]:
    job, request = unit.job, unit.request
    if job is not None:
        status = job.status
        yield "shared cluster", cluster_of(job)
        yield "KubeRay", f"{status.job_deployment_status or 'New'}, submission {status.job_id or 'none yet'}"
        yield "Ray", status.job_status or "does not know it"
        if words := Facts(unit).words:
            yield "last words", words
        yield "requeues", job.metadata.annotations.get(names.REQUEUES, "0")
    if isinstance(request, Refusal):
        yield "refused", f"{request.reason}: {request.text}"
    if isinstance(request, Request):
        gpus = f", {request.gpus} GPU(s)" if request.gpus else ""
        yield "pool", request.pool
        yield (
            "asks for",
            f"{request.workers} worker(s) of {request.cpus / 1000:g} CPU(s), {request.memory} MiB{gpus}",
        )
    if unit.jobset is not None:
        yield "JobSet", f"{unit.jobset.key}{' (suspended)' if unit.jobset.spec.suspend else ''}"
    if unit.workload is not None:
        yield "Workload", unit.workload.key
        for found in unit.workload.status.conditions:
            yield f"  {found.type}", f"{found.status} {found.reason} {found.message}".rstrip()
    for pod in unit.workers:
        up = is_true(condition(pod.status.conditions, "Ready"))
        where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
        yield f"worker {pod.metadata.name}", f"{pod.status.phase}{where}, {'joined' if up else 'not joined'}"
    for submitter in unit.submitters:
        gates = ", ".join(gate.name for gate in submitter.spec.scheduling_gates)
        yield (
            f"submitter {submitter.metadata.name}",
            f"{submitter.status.phase}{f', held by {gates}' if gates else ''}",
        )
