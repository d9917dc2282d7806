"""What another setting would have done to the same traffic: runs, repeats, paired differences, the advice."""
