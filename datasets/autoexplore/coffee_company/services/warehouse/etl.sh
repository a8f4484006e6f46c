#!/usr/bin/env bash
# Nightly load of the warehouse. Started by bcc-warehouse.timer on db-01 at 01:45.
# May be run again at any time: a load replaces the days it covers.
set -euo pipefail

SOURCE_HOST=10.20.0.22        # the replica; the tills notice nothing
TARGET="postgresql:///warehouse"
STAGE=/var/lib/bcc/stage
# Tills may replay for eight hours and finance may correct for a week.
DAYS_BACK=${DAYS_BACK:-8}
# The replica must not be further behind than this when we begin.
MAX_LAG_SECONDS=300

log() { printf '%s %s\n' "$(date '+%H:%M:%S')" "$*"; }

exec 9>/run/lock/bcc-warehouse
flock --nonblock 9 || { log "another load is running"; exit 75; }

lag=$(psql -h "$SOURCE_HOST" -d orders -Atc \
    "select coalesce(extract(epoch from now() - pg_last_xact_replay_timestamp()), 0)::int")
if (( lag > MAX_LAG_SECONDS )); then
    # At night nobody sells except C09, so a lag is either a quiet hour or a fault. The receive
    # position tells them apart.
    behind=$(psql -h "$SOURCE_HOST" -d orders -Atc \
        "select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())::bigint")
    if (( behind > 0 )); then
        log "replica is ${lag}s and ${behind} bytes behind, giving up"
        exit 1
    fi
fi

run=$(psql "$TARGET" -Atqc "insert into warehouse.load_log (started) values (now()) returning id")
since=$(date -d "-${DAYS_BACK} days" +%F)
mkdir -p "$STAGE"
rm -f "$STAGE"/*.copy

# name of the source database, then the table to fill
for pair in orders:line orders:refund stock:delivery staff:shift loyalty:stamp roasting:batch; do
    database=${pair%%:*} table=${pair##*:}
    log "reading $database for fact_$table since $since"
    psql -h "$SOURCE_HOST" -d "$database" -v since="$since" -qAt \
        -f "/opt/bcc/warehouse/extract/$table.sql" > "$STAGE/$table.copy"
    # An empty extract has always been a broken one, except for refunds on quiet weeks.
    if [[ ! -s "$STAGE/$table.copy" && $table != refund ]]; then
        log "extract of $table is empty"
        psql "$TARGET" -qc "update warehouse.load_log set failed = '$table empty' where id = $run"
        exit 1
    fi
done

# One transaction: a reader sees yesterday's state or today's, nothing in between.
{
    echo "begin;"
    for file in "$STAGE"/*.copy; do
        table=$(basename "$file" .copy)
        echo "delete from fact_$table where day >= '$since';"
        echo "\\copy fact_$table from '$file' with (format csv)"
    done
    echo "update warehouse.load_log set ended = now() where id = $run;"
    echo "commit;"
} | psql "$TARGET" -v ON_ERROR_STOP=1 -q

failed=0
for check in /opt/bcc/warehouse/checks/*.sql; do
    rows=$(psql "$TARGET" -Atq -f "$check" | wc -l)
    if (( rows > 0 )); then
        log "check $(basename "$check") returned $rows rows"
        failed=1
    fi
done
(( failed == 0 )) || exit 2

for view in daily_sales supplier_lateness staff_cost; do
    psql "$TARGET" -qc "refresh materialized view concurrently $view"
done
log "load $run done"
