/* A gate moves only while the water on both sides differs by less than 5 cm and no boat blocks the light beam. */
int may_move(int difference_cm, int beam_broken) {
    return difference_cm < 5 && !beam_broken;
}
