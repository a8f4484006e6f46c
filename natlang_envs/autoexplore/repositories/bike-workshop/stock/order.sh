#!/bin/sh
# Orders every part of which fewer than five are left; the supplier delivers on the first Monday of the month.
set -eu
while IFS=, read -r part size count; do
  if [ "$count" -lt 5 ]; then
    echo "order: $part $size x $((12 - count))"
  fi
done < stock/count.csv
