"""The recipe book of the Coffee Company: reads, scales, declares, prices; see README.md."""
