/* A sluice opens in three stages so that moored boats are not torn loose: 20 percent, 60 percent, then fully. */
static const int stages[] = {20, 60, 100};

int next_stage(int open, int difference_cm) {
    if (difference_cm < 5) return 0; /* level: the gate may move */
    for (int i = 0; i < 3; i++)
        if (stages[i] > open) return stages[i];
    return open;
}
