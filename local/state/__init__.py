"""The state of a running platform: services, stages, tables, problems; as `./lake status` prints it."""
