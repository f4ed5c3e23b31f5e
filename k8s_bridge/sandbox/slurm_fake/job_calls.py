"""The REST calls about jobs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from starlette.responses import Response

from k8s_bridge.sandbox.slurm_fake import arrays, ending, options, submission, updates
from k8s_bridge.sandbox.slurm_fake.call import Call
from k8s_bridge.sandbox.slurm_fake.errors import Errno, SlurmError
from k8s_bridge.sandbox.slurm_fake.faults import Fault
from k8s_bridge.sandbox.slurm_fake.jobs import Job
from k8s_bridge.sandbox.slurm_fake.render import job_values, number

_NO_JOBS = {"jobs": [], "last_backfill": number(0), "last_update": number(0)}
_HELD = "Job is in held state, pending scheduler release"
_SUBMIT = "slurm_submit_batch_job()"
_SHARED_IS_LOST = "v0.0.45"


def listing(call: Call, _name: str) -> Response:
    """All jobs, or none when nothing changed since `update_time`."""
    since = int(call.query("update_time") or 0)
    if since and since - 1 >= call.cluster.jobs_changed:
        when = dt.datetime.fromtimestamp(since, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
        text = f"No job changes since update_time[{since}]={when}"
        return call.envelope.answer(_NO_JOBS, warnings=[{"description": text, "source": "op_handler_jobs"}])
    return _list(call, call.spoiled(call.cluster.jobs.values()))


def states(call: Call, _name: str) -> Response:
    """Ids and states only, each task of an array in a row of its own."""
    asked = [int(text.partition("_")[0]) for text in call.queries("job_id")]
    found = (call.cluster.jobs.get(job_id) for job_id in asked) if asked else call.cluster.jobs.values()
    jobs = call.spoiled(job for job in found if job)
    rows = (row for job in jobs for row in _state_rows(job, now=call.cluster.now))
    return call.envelope.listing("jobs", rows, fields={})


def one(call: Call, text: str) -> Response:
    """One job; for an array, and for the first component of a heterogeneous job, all of its rows."""
    own, _, task = text.partition("_")
    if not _is_id(own):
        return _bad_id(call)
    try:
        job = call.cluster.find(int(own))
    except SlurmError as error:
        return call.envelope.refusal(
            error, _NO_JOBS, text=f"Unable to query JobId={text}", source="_handle_job_get"
        )
    whole_array = job.array_id and (job.array_id == job.job_id or task)
    if whole_array:
        return _list(call, list(call.cluster.array(job.array_id)))
    return _list(call, [job] if job.het_offset else call.cluster.together(job))


def submit(call: Call, _name: str) -> Response:
    """Submit a batch job."""
    description = call.body.get("job") or {}
    try:
        job = _submitted(call, description)
    except SlurmError as error:
        text = "Batch job submission failed"
        return call.envelope.refusal(error, {}, text=text, source=_SUBMIT)
    warnings = options.unknown_warnings(description, at="#/job")
    if job.held:
        texts = (f"Job submission resulted in non-zero return code: {_HELD}", _HELD)
        warnings += [{"description": text, "source": _SUBMIT} for text in texts]
    payload = {"job_id": job.job_id, "step_id": "batch", "job_submit_user_msg": ""}
    return call.envelope.answer(payload, warnings=warnings)


def update(call: Call, text: str) -> Response:
    """Change a job; what slurmrestd does not know is ignored with a warning."""
    if not _is_id(text):
        return _bad_id(call)
    try:
        updates.update(call.cluster, int(text), call.body, user=call.user, template=call.job_template.record)
    except SlurmError as error:
        description = "Job update requested failed"
        return call.envelope.refusal(error, {"results": None}, text=description, source="slurm_update_job2()")
    return call.envelope.answer({"results": None}, warnings=options.unknown_warnings(call.body))


def cancel(call: Call, text: str) -> Response:
    """Cancel a job, or a task of an array. Always status 200: what went wrong stands in `status`."""
    own, _, task = text.partition("_")
    named = _is_id(own) and (not task or task.isdecimal())
    return _cancelled(call, [text]) if named else _bad_id(call)


def cancel_many(call: Call, _name: str) -> Response:
    """Cancel the jobs that the body names."""
    return _cancelled(call, map(str, call.body.get("jobs", ())))


def _submitted(call: Call, description: Mapping[str, Any]) -> Job:
    if not call.body.get("script"):
        raise SlurmError(Errno.REQUEST)
    if not description.get("environment"):
        raise SlurmError(Errno.SCRIPT)
    script = options.read_script(call.body.get("script", ""))
    template = call.job_template.record
    return submission.submit(call.cluster, description, user=call.user, script=script, template=template)


def _cancelled(call: Call, texts: Iterable[str]) -> Response:
    failures = [failure for text in texts if (failure := _cancel(call, text))]
    return call.envelope.answer({"status": failures})


def _cancel(call: Call, text: str) -> dict[str, Any] | None:
    own, _, task = text.partition("_")
    try:
        if signal := call.query("signal"):
            call.cluster.find(int(own)).signals.append(signal)
        elif task:
            arrays.cancel_task(call.cluster, int(own), task=int(task))
        else:
            ending.cancel(call.cluster, int(own), user=call.user)
    except SlurmError as error:
        known = int(own) in call.cluster.jobs
        return {
            "error": {"string": str(error), "code": int(error.number), "message": str(error)},
            "step_id": text,
            "job_id": number(int(own)) if known else {"set": False, "infinite": False, "number": 0},
            "federation": {"sibling": ""},
        }
    return None


def _list(call: Call, jobs: Iterable[Job]) -> Response:
    last = number(int(call.cluster.now - call.staleness))
    fields = {"last_backfill": last, "last_update": last}
    return call.envelope.listing("jobs", _records(call, jobs), fields=fields)


def _records(call: Call, jobs: Iterable[Job]) -> Iterator[str]:
    now = call.cluster.now
    # The list is taken at once: jobs come and go while an answer is being streamed.
    for position, job in enumerate(list(jobs)):
        values = job_values(job, now=now)
        if call.version == _SHARED_IS_LOST:
            values["shared"] = []
        if call.fault is Fault.MALFORMED_ITEM and position == 0:
            values |= {"job_id": "?", "job_state": 7}
        yield call.job_template.render(values)


def _state_rows(job: Job, *, now: float) -> Iterator[str]:
    quoted = '", "'.join(job.states(now))
    tail = f'", "state": ["{quoted}"]}}'
    if job.tasks:
        for task in job.tasks:
            yield f'    {{"job_id": "{job.job_id}_{task}{tail}'
    elif job.array_task is not None:
        yield f'    {{"job_id": "{job.job_id}_{job.array_task}{tail}'
    else:
        component = f"+{job.het_offset}" if job.het_id else ""
        yield f'    {{"job_id": "{job.job_id}{component}{tail}'


def _is_id(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


def _bad_id(call: Call) -> Response:
    item = {
        "description": "Rejecting request. Failure parsing parameters",
        "error_number": 9000,
        "error": "Query empty or not RFC7320 compliant",
        "source": "op_handler_job",
    }
    return call.envelope.answer({}, status=422, errors=[item])
