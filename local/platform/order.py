"""In which order a platform's services are stopped, and how many seconds each has for it."""

from local.platform.connectors import SINK_GRACE_S
from local.platform.job import GRACE_S as JOB_GRACE_S

SUPERVISOR = "supervisor"
# Upstream last: what a service still wants to finish, those behind it are there to take. First of all who restarts it.
GRACE_S = {
    SUPERVISOR: 5,
    "job": JOB_GRACE_S,
    "sink": SINK_GRACE_S,
    "connect": 30,
    "kafka": 30,
    "s3": 10,
    "moto": 10,
    "postgres": 60,
}
STOP_ORDER = tuple(GRACE_S)
