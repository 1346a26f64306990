"""YARN and HDFS on loopback, for the tests that `make test-yarn` runs: the daemons, the step, and the tests."""
