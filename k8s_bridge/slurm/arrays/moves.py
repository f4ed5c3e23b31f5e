"""What the states of an array and of a slot do."""

from __future__ import annotations

from api.v1alpha1.policy import NoRequeuePolicy
from k8s_bridge.core import naming
from k8s_bridge.slurm import parking
from k8s_bridge.slurm.arrays.facts import IDLE_GRACE, ArrayFacts, SlotFacts
from k8s_bridge.slurm.effects import (
    AllowRequeue,
    Cancel,
    CreateJobSet,
    Effect,
    NodesDelete,
    NodesDown,
    PinAndRelease,
    Repin,
    TakeHold,
)
from k8s_bridge.slurm.model import Job
from k8s_bridge.slurm.moves.capacity import TRESPASS_GRACE
from k8s_bridge.slurm.moves.capacity import await_quota as slot_awaits_quota
from k8s_bridge.slurm.moves.common import (
    ABSENCE_GRACE,
    LOOK_AGAIN,
    Verdict,
    annotate,
    delete_ghosts,
    eviction,
    lasted,
    policy_of,
    time_left,
    verdict,
)
from k8s_bridge.slurm.moves.grace import let_end, time_to_end
from k8s_bridge.slurm.moves.over import drain, give_back
from k8s_bridge.slurm.pods import losses
from k8s_bridge.slurm.predicates import held_by_other as job_held_by_other
from k8s_bridge.slurm.speech import say
from k8s_bridge.slurm.unit import State


def await_slots(facts: ArrayFacts, now: float) -> Verdict:
    """All tasks are over: the slots give themselves back."""
    return verdict(after=LOOK_AGAIN)


def rest(facts: ArrayFacts, now: float) -> Verdict:
    """Slots are kept for people to look at, each until the time on it."""
    return verdict()


def hold_tasks(facts: ArrayFacts, now: float) -> Verdict:
    """Nobody passes Kueue: tasks that could start anywhere are held again, split off or not."""
    text = say("Held", "held by k8s-bridge until Kueue admits its capacity")
    return verdict(*(TakeHold(job_id=r.job_id, text=text) for r in facts.escaped), after=LOOK_AGAIN)


def free_tasks(facts: ArrayFacts, now: float) -> Verdict:
    """Let the tasks go that a serving slot can run: pin and release them, and undo the wait of a requeue."""
    worn = facts.worn_out
    effects: list[Effect] = [_give_up(facts, record) for record in worn]
    for record in facts.to_free:
        if record not in worn:
            effects += _let_go(facts, record)
    return verdict(*effects, *_grow(facts, now), after=LOOK_AGAIN)


def serve(facts: ArrayFacts, now: float) -> Verdict:
    """Slurm runs one task after the other on the slots that serve; more slots are asked for if they help."""
    return verdict(*_grow(facts, now), text=_tally(facts), after=_pause(facts, now))


def report_astray(facts: ArrayFacts, now: float) -> Verdict:
    """Say so, once it has lasted a moment, and serve the others: what runs is not cut short."""
    served = serve(facts, now)
    if not lasted(facts, State.TRESPASS, TRESPASS_GRACE, now):
        return verdict(*served.effects, after=TRESPASS_GRACE)
    text = (
        f"{facts.astray} task(s) run on nodes that Kueue did not admit for them: they were released past it,"
        " and their partition has other nodes"
    )
    held = facts.job.held and not job_held_by_other(facts)
    reason = "Trespass" if held else "PastKueue"  # whose its hold is, or will be, must be told from the text
    return verdict(*served.effects, reason=reason, text=text, after=served.after)


def ask_slot(facts: ArrayFacts, now: float) -> Verdict:
    """Make the hold ours, then ask Kueue for the capacity of a first task."""
    return verdict(*_grow(facts, now), after=_pause(facts, now))


def report_denial(facts: ArrayFacts, now: float) -> Verdict:
    """Say why there is no JobSet, and try again now and then."""
    denial = facts.unit.denied
    if denial is None:
        raise LookupError("this move belongs to a JobSet that was refused")
    left = max(1.0, denial.until - now)
    return verdict(*_grow(facts, now), reason=denial.reason, text=denial.text, after=left)


def await_quota(facts: ArrayFacts, now: float) -> Verdict:
    """Kueue's words about the first slot are the reason."""
    first = slot_awaits_quota(facts.kept[0], now)
    return verdict(*_grow(facts, now), reason=first.reason, text=first.text, after=first.after)


def await_nodes(facts: ArrayFacts, now: float) -> Verdict:
    """The first slots come up."""
    return verdict(*_grow(facts, now), reason="Provisioning", text=_tally(facts), after=30.0)


def respect_hold(facts: ArrayFacts, now: float) -> Verdict:
    """Somebody else holds its tasks: never release them; slots that serve nothing give themselves back."""
    reason = facts.waiting[0].reason
    text = f"its tasks are held by their owner or an admin ({reason}); release them to go on"
    return verdict(reason="HeldByOther", text=text)


def clear_evicted(facts: SlotFacts, now: float) -> Verdict:
    """Down with the nodes, which requeues the task that ran there, then away with their records.

    When Kueue says nothing of it, nodes may merely be seen before their admission: watches lag.
    """
    if not facts.admission.eviction and not lasted(facts, State.EVICTED, ABSENCE_GRACE, now):
        return verdict(after=ABSENCE_GRACE)
    left = time_to_end(facts, facts.busy, state=State.EVICTED, now=now)
    if left:
        return let_end(facts, facts.busy, why=eviction(facts), left=left)
    return _clear(facts, tuple(n.name for n in facts.unit.nodes), why=eviction(facts))


def clear_lost(facts: SlotFacts, now: float) -> Verdict:
    """Pods are gone under a running task: requeue it, and only it."""
    known = facts.unit.jobset is None or facts.surely_gone or bool(facts.jobset_failed)
    if not known and not lasted(facts, State.LOST, ABSENCE_GRACE, now):
        return verdict(after=ABSENCE_GRACE)
    everything = facts.unit.jobset is None or facts.jobset_failed
    names = tuple(n.name for n in facts.unit.nodes if everything or n.name not in facts.live)
    why = f"lost: {facts.jobset_failed or f'pods are gone: {losses(facts.unit.pods, names)}'}"
    ending = tuple(name for name in names if name in facts.busy)
    left = 0.0 if everything else time_to_end(facts, ending, state=State.LOST, now=now)
    return let_end(facts, ending, why=why, left=left) if left else _clear(facts, names, why=why)


def let_finish(facts: SlotFacts, now: float) -> Verdict:
    """Nothing new starts on it; when it is idle it goes."""
    back = drain(facts, now) if facts.over else give_back(facts, now, why=facts.unwanted)
    return verdict(*back.effects, text=facts.unwanted, after=back.after)


def follow(facts: SlotFacts, now: float) -> Verdict:
    """A task runs on it."""
    return verdict(*delete_ghosts(facts), text=f"a task runs on {', '.join(facts.busy)}")


def await_task(facts: SlotFacts, now: float) -> Verdict:
    """Slurm starts a task on it within start_timeout, or the quota goes back for a while.

    Sooner, when it says that capacity is not what the tasks wait for.
    """
    timeout = policy_of(facts).start_timeout
    if lasted(facts, State.READY, timeout, now):
        text = f"Slurm started no task on it for {timeout:.0f} s"
        return verdict(*parking.park(facts, now, "StartTimeout"), reason="StartTimeout", text=text)
    if facts.idle_long and facts.withheld:
        text = f"Slurm starts no task on it: {facts.withheld}"
        return verdict(*parking.park(facts, now, facts.withheld), reason="Withheld", text=text)
    look = timeout if facts.idle_long else min(IDLE_GRACE, timeout)
    left = time_left(facts, State.READY, look, now)
    return verdict(*delete_ghosts(facts), text="waits for a task", after=left)


def _clear(facts: SlotFacts, names: tuple[str, ...], *, why: str) -> Verdict:
    effects: list[Effect] = [
        NodesDown(nodes=names, reason=f"k8s-bridge: {why}"[:200]),
        NodesDelete(nodes=names),
    ]
    if facts.unit.jobset is not None and set(names).intersection(facts.busy):
        effects.insert(0, annotate(facts, {naming.REQUEUES: str(facts.requeues + 1)}))
    return verdict(*effects, reason="Requeued", text=why, after=LOOK_AGAIN)


def _grow(facts: ArrayFacts, now: float) -> tuple[Effect, ...]:
    """One slot more, if that helps, it is the array's turn, and the last one is no reason to wait."""
    if not facts.short or not facts.unit.may_create or _paused_until(facts) > now:
        return ()
    create = CreateJobSet(job_id=facts.unit.job_id, slot=facts.next_slot, shape=facts.unit.shape)
    own = facts.job
    if own not in facts.waiting or not own.held or (facts.ours_by_text and own.reason == "JobHeldAdmin"):
        return (create,)
    text = say("Queued", "asked Kueue for the capacity of one task, and of more as there is quota")
    return (TakeHold(job_id=own.job_id, text=text), create)


def _paused_until(facts: ArrayFacts) -> float:
    unit = facts.unit
    return max(unit.seen.not_before if unit.seen else 0.0, unit.denied.until if unit.denied else 0.0)


def _pause(facts: ArrayFacts, now: float) -> float | None:
    """Until the next slot may be asked for, or a task that was requeued just now may start again."""
    waits = (_paused_until(facts) - now, facts.relaunch or 0.0)
    return min((left for left in waits if left > 0), default=None)


def _let_go(facts: ArrayFacts, record: Job) -> list[Effect]:
    constraints = facts.constraints(record)
    if not record.held:
        return [Repin(job_id=record.job_id, constraints=constraints)]
    nodes = tuple(n.name for slot in facts.serving for n in slot.unit.nodes)
    go = PinAndRelease(
        job_id=record.job_id,
        constraints=constraints,
        nodes=nodes,
        text=say("Released", f"on {len(facts.serving)} slot(s), more as there is quota"),
    )
    fails = policy_of(facts).no_requeue is NoRequeuePolicy.FAIL
    return [go] if record.requeue or fails else [AllowRequeue(job_id=record.job_id), go]


def _give_up(facts: ArrayFacts, record: Job) -> Effect:
    """The array's own id stands for all of it: its last task is named by number."""
    text = say("RequeueLimit", f"task {record.array_task_id} was requeued {record.restart_count} times")
    task = record.array_task_id if record.job_id == facts.unit.job_id else None
    return Cancel(job_id=record.job_id, task=task, text=text)


def _tally(facts: ArrayFacts) -> str:
    waiting = [slot for slot in facts.kept if not slot.admitted]
    said = f"{facts.running} task(s) run, {facts.left} wait; {len(facts.serving)} slot(s) serve"
    if facts.withheld:
        return f"{said}; Slurm starts none that waits: {facts.withheld}"
    if not waiting:
        return said
    words = waiting[0].admission.message or "no quota yet"
    return f"{said}, {len(waiting)} wait for quota: {words}"
