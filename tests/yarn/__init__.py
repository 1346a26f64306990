"""YARN and HDFS on loopback, for the tests that `./lake dev test yarn` runs: the daemons, the step, and the tests."""
