"""What a split assumes of the cache: page, size, whether it is on; each with where it was read, or that it was not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.bundle.view import View

SERVERS_SQL: Final = """
WITH stated AS (
    SELECT server, max(page_size) AS page, max(pool_tokens) AS pool, max(dp_size) AS dp, max(engine) AS engine
    FROM servers GROUP BY server
),
loaded AS (SELECT server, max(pool_tokens) AS pool FROM loads GROUP BY server),
set_page AS (
    SELECT server, max(try_cast(value AS BIGINT)) AS page FROM config
    WHERE key IN ('page_size', 'page-size', 'block_size', 'block-size') GROUP BY server
),
-- Tiers behind the device's pool: write-through keeps a copy of everything on the host (SIGNALS §10).
tiers AS (
    SELECT try_cast(max(value) FILTER (WHERE key = 'hicache_ratio') AS DOUBLE) AS ratio,
        try_cast(max(value) FILTER (WHERE key = 'hicache_size') AS DOUBLE) AS size,
        bool_or(key = 'hicache_storage_backend' AND lower(value) NOT IN ('', 'none', 'null')) AS storage,
        bool_or(key = 'enable_hierarchical_cache' AND lower(value) IN ('true', '1', '')) AS tiered
    FROM (SELECT replace(key, '-', '_') AS key, value FROM config)
),
off AS (
    SELECT count(*) > 0 AS off FROM config
    WHERE (key IN ('disable_radix_cache', 'disable-radix-cache') AND lower(value) IN ('true', '1', ''))
        OR (key IN ('enable_prefix_caching', 'enable-prefix-caching') AND lower(value) IN ('false', '0'))
        OR key IN ('no_enable_prefix_caching', 'no-enable-prefix-caching')
)
SELECT s.server, coalesce(s.page, c.page) AS page, coalesce(s.pool, l.pool) AS pool, s.dp, s.engine,
    (SELECT off FROM off) AS off, t.tiered, t.ratio, t.size, t.storage
FROM stated AS s LEFT JOIN loaded AS l ON l.server IS NOT DISTINCT FROM s.server
    LEFT JOIN set_page AS c ON c.server IS NOT DISTINCT FROM s.server
    CROSS JOIN tiers AS t
ORDER BY s.server
"""


@dataclass(frozen=True)
class Setting:
    """A cache. `page` None: unknown. `pools` are tokens of each place of the prompts; None: unknown, taken as endless.

    `alone` says that there is one rank only, so that nothing can be scattered; None where the source does not say.
    """

    page: int | None
    page_from: str
    pools: tuple[int | None, ...]
    pool_from: str
    alone: bool | None = None
    off: bool = False


def setting(
    view: View, places: Sequence[tuple[str | None, int | None]], page: int | None = None, pool: int | None = None
) -> Setting:
    """The setting the view's servers had; `page` and `pool` (tokens of one rank) override what was read."""
    rows = view.query(SERVERS_SQL)
    by_server = {row[0]: row[2] for row in rows}
    pages = {row[1] for row in rows if row[1]}
    page_from = "given" if page else "servers"
    if page is None:
        page = max(pages) if pages else None
        if page is None:
            page_from = "not stated"
        elif len(pages) > 1:
            page_from = f"servers, which differ ({', '.join(map(str, sorted(pages)))}); the largest was taken"
    if pool is not None:
        pools: list[int | None] = [pool] * len(places)
    else:
        pools = [by_server.get(server) for server, _ in places]
    behind = ""
    if pool is None and rows and rows[0][6]:
        ratio, size, storage = rows[0][7:10]
        if storage or size or not ratio:
            pools = [None] * len(places)
            behind = "a tier of unknown size stands behind the pool: taken as endless"
        else:
            pools = [None if p is None else int(p * max(1.0, ratio)) for p in pools]
            behind = f"servers, the host tier of {ratio:g} times the pool counted"
    known = [size for size in pools if size]
    if pool is not None:
        pool_from = "given"
    elif behind:
        pool_from = behind
    elif not known:
        pool_from = "not stated: taken as endless"
    else:
        pool_from = "servers" if len(known) == len(pools) else "servers, not of every rank"
    sizes = {row[3] for row in rows}
    alone = len(rows) == 1 and sizes == {1} if rows and None not in sizes else None
    return Setting(page, page_from, tuple(pools), pool_from, alone, any(row[5] for row in rows))
