"""Between cores: how shards become a sum, over which links, in how long.

Modelled: topologies of chips and directed links (Trn1's torus and hypercube, Inf2's rings, Trn2's
torus and UltraServer, the UltraCluster, any ring, torus, mesh, hypercube); collectives as schedules
of moves (ring, kangaring, mesh, rdh, ring by dimension, halving/doubling, hierarchical), checked,
executed on real data in a stated order, and timed step by step; dead links; pooled memory; the
``nccom-test`` look-alike.
Left out: congestion control and packets, CC-Cores, what the real scheduler fuses; times are models,
and ``published.compare()`` shows how far they are from every published table.
Sources: `aws-intranode`, `aws-internode`, `nccom-test-guide`, `aws-runtime-tips` (specs.SOURCES).

Read ``topology.py`` first, then ``schedule.py``, ``algorithms/ring.py``, ``executor.py`` (what a
schedule means) and ``accounting.py`` (what it costs).  Used by the notebooks ``07_topology`` and
``08_collectives``.

Decisions
---------
*A schedule is a table, not code*: one checker, executor, clock and player serve all algorithms, and
a learner's own; the price is memory, so above 512 ranks there are closed forms and one fast loop.
*A hop's 1-2 us is paid once per message* (``Latency.ONCE``): it is the cost of a DMA from memory to
memory; simulators that charge every link are matched with ``Latency.EACH``.
*RDH's ranks start at axes of their own*: AWS shows one rank of a chip, and ranks RDH first from 1
to 56 MB; with all ranks on one axis that cannot come out.  The price: on trn1, with two ranks, RDH
wins nowhere here, and whether it does on the machine is open (``axis_order``, ``selection.py``).
"""

from trainium_edu import names

_HOMES = {
    "topology": "Direction FabricError Topology fully_connected grid hypercube product ring torus",
    "machines": "HOP_LATENCY_NS group inf2_48xlarge machine one_instance trn1_32xlarge "
    "trn1n_32xlarge trn2_48xlarge ultracluster ultraserver",
    "embedding": "cube_addresses gray hamiltonian_cycles",
    "routing": "Ties route routes",
    "schedule": "Collective Moves Op Schedule ScheduleError check item_sizes",
    "collectives": "ALGORITHMS all_reduce plan run",
    "executor": "RanksDisagree check_agreement execute",
    "accounting": "Account Costs Hbm Latency account busiest_link_chunks hbm_touches link_loads "
    "memory_loads timeline",
    "alpha_beta": "Line crossovers inter_node lower_bound single_step_break_even_bytes sweep",
    "selection": "DOCUMENTED Selection choose line select",
    "cluster_time": "HierarchicalTime Stage flat_ring_time hierarchical_time",
    "bulk": "ring_all_reduce",
    "sums": "sum_in_ring sum_rows",
    "failures": "Impact impact without_link",
    "memory_pool": "Pool pool",
    "nccom": "NccomReport nccom_test",
    "published": "Calibration Comparison calibrate compare",
}
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES)
