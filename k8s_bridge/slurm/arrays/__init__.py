"""Job arrays: an elastic pool of slots. Pure.

A slot is a JobSet of the shape of one task. All tasks are pinned to the array's feature, which the nodes of
every slot carry: Slurm itself runs the next task on a slot that has become free, and no call and no pod is
spent on a task. The array decides how many slots there are to be and pins its tasks; each slot waits for
quota, serves, is evicted and given back by itself.
"""
