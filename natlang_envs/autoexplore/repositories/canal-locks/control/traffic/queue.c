/* Hire boats wait behind the working barges, but never longer than three lockings. */
int goes_first(int is_barge, int lockings_waited) {
    return is_barge || lockings_waited >= 3;
}
