#!/bin/sh
# Printed on the bridge every morning; the mate signs each line before the first departure.
cat <<END
bilge dry        ____
horn sounds      ____
life jackets 160 ____
ramp locks       ____
END
