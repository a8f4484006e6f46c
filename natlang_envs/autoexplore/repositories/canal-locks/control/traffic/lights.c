/* Both lights show red for 40 seconds whenever the direction changes. */
enum { RED, GREEN };

int upstream_light(int direction, int seconds_since_change) {
    if (seconds_since_change < 40) return RED;
    return direction == 1 ? GREEN : RED;
}
