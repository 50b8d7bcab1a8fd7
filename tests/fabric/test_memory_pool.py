"""Judges: networkx (hops, maximum flow into the reading chip), published capacities."""

import networkx as nx
import pytest

from tests.for_each import for_rows
from trainium_edu import fabric
from trainium_edu.specs import INSTANCES

TORUS = fabric.trn1_32xlarge()


@for_rows("spread", 1, 2, 4, 5, 8, 16)
@for_rows("home", 0, 6)
def test_hops_capacity_and_bandwidth(spread, home):
    found = fabric.pool(TORUS, home, spread)
    distance = nx.single_source_shortest_path_length(TORUS.to_networkx(), home)
    assert list(found.hops) == sorted(distance.values())[:spread]
    assert [distance[c] for c in found.chips] == list(found.hops)
    assert found.capacity_bytes == spread * 32 * 2**30
    # no scheme beats own memory plus all links in; equal shares over the least used ways
    links_in = TORUS.bandwidth_bytes_per_s[TORUS.dst == home].sum()
    far = found.bandwidth_bytes_per_s * (spread - 1) / spread
    assert far <= links_in * (1 + 1e-12)
    assert found.bandwidth_bytes_per_s / spread <= TORUS.hbm_bytes_per_s * (1 + 1e-12)


def test_whole_instance_is_the_published_memory_and_fills_all_four_links():
    found = fabric.pool(TORUS, 0, 16)
    assert found.capacity_bytes == int(INSTANCES["trn1.32xlarge"].memory_bytes)
    assert found.bandwidth_bytes_per_s == pytest.approx(16 / 4 * 96 * 2**30)  # 15 over 4: 4 at most
    own = fabric.pool(TORUS, 0, 1).bandwidth_bytes_per_s
    assert own == pytest.approx(TORUS.hbm_bytes_per_s)
    assert (fabric.pool(TORUS, 0, 1).latency_ns, found.latency_ns) == (0, 4 * 1500)
    assert found.read_ns(0) == 6000
