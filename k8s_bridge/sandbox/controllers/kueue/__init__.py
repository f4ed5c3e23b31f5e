"""The sandbox's Kueue: quota, queueing, preemption, eviction and admission as version 0.17 shows them."""
