"""A two-node YARN on loopback with HDFS, each daemon a process, configured as on EMR.

A node's containers get its marks (local/services/processes.py): they are found, and stopped, with it.
"""

import re
import subprocess
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from contract.text import UTF_8_FLAG, UTF_8_LOCALE
from local.services.jvm import write_properties
from local.services.processes import PLATFORM_VARIABLE, SERVICE_VARIABLE, Command, Processes
from local.services.spark import job_class_path, s3a_settings
from local.setup.jars import jar_folder
from local.setup.java import java_binary, java_home, spark_home, trust_store_flags
from local.setup.ports import HOST, choose

HEAP_MB = 192
START_S = 120
# EMR's size for the containers of an m5.xlarge, and its rounding.
NODE_MB, NODE_CORES, STEP_MB = 12_288, 4, 32
NODES = ("node1", "node2")
_YARN, _HDFS = "org.apache.hadoop.yarn.server", "org.apache.hadoop.hdfs.server"
_PAGES = ("cluster", "node", "hdfs", "datanode")
_HDFS_PORTS = ("hdfs", "hdfs-http", "data", "data-http", "data-ipc")
_YARN_PORTS = ("rm", "rm-scheduler", "rm-tracker", "rm-admin", "rm-http")
_NODE_PORTS = ("", "-localizer", "-http")
# As in an EMR release: information on standard error, from driver and executors alike.
_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""
# No proxy of the caller's environment between us and loopback.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Daemon:
    """One of Hadoop's own programs; it is ready once its web server answers, at the port named `http`."""

    name: str
    main: str
    cluster: "Cluster"
    http: str

    def prepare(self) -> Command:
        cluster, conf = self.cluster, self.cluster.configuration(self.name)
        argv, environment = cluster.java(conf, self.main), cluster.environment(conf)
        return Command(argv=argv, folder=cluster.folder, environment=environment)

    def ready(self) -> bool:
        try:
            with _opener.open(f"http://{HOST}:{self.cluster.ports[self.http]}/jmx?qry=none", timeout=5):
                return True
        except OSError:
            return False


class Cluster:
    """The daemons, with their files in `folder`, and a program's configuration for using them."""

    def __init__(self, folder: Path, *, s3: str) -> None:
        self.folder = folder
        self._s3 = s3
        names = [*_HDFS_PORTS, *_YARN_PORTS, *(f"{node}{kind}" for node in NODES for kind in _NODE_PORTS)]
        self.ports = choose(names, earlier={})
        self.processes = Processes(folder, folder / "logs")
        self._web = folder / "web"
        for page in _PAGES:
            (self._web / "webapps" / page).mkdir(parents=True)
        (folder / "hdfs" / "data").mkdir(parents=True, mode=0o700)

    def start(self) -> None:
        """Start everything and wait until both nodes have joined. Raises PlatformError."""
        self._format()
        self._run(
            Daemon("namenode", f"{_HDFS}.namenode.NameNode", cluster=self, http="hdfs-http"),
            Daemon("resourcemanager", f"{_YARN}.resourcemanager.ResourceManager", cluster=self, http="rm-http"),
        )
        self._run(
            Daemon("datanode", f"{_HDFS}.datanode.DataNode", cluster=self, http="data-http"), *self._nodes(*NODES)
        )

    def start_nodes(self, *names: str) -> None:
        """Start NodeManagers and wait until YARN counts them."""
        self._run(*self._nodes(*names))

    def _nodes(self, *names: str) -> list[Daemon]:
        main = f"{_YARN}.nodemanager.NodeManager"
        return [Daemon(name, main, cluster=self, http=f"{name}-http") for name in names]

    def end_applications(self) -> None:
        """Stop running applications, as `yarn application -kill` does."""
        conf = self.configuration("client")
        cli = self.java(conf, "org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application")
        run = partial(subprocess.run, env=self.environment(conf), capture_output=True, text=True, check=True)
        listed = run([*cli, "-list", "-appStates", "RUNNING"]).stdout
        run([*cli, "-kill", *re.findall(r"^application_\w+", listed, re.MULTILINE)])

    def stop(self) -> None:
        for name in self.processes.find():
            self.processes.stop(name, grace_s=0)

    def _run(self, *daemons: Daemon) -> None:
        for daemon in daemons:
            self.processes.start(daemon.name, daemon.prepare())
        for daemon in daemons:
            self.processes.wait_until(daemon.name, daemon.ready, timeout_s=START_S)

    def _format(self) -> None:
        conf = self.configuration("format")
        argv = self.java(conf, f"{_HDFS}.namenode.NameNode", "-format", "-force")
        subprocess.run(argv, env=self.environment(conf), capture_output=True, check=True)

    def java(self, conf: Path, main: str, *arguments: str) -> list[str]:
        # Guice accesses java.lang, which Java 17 closes.
        flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--add-opens", "java.base/java.lang=ALL-UNNAMED"]
        flags += [UTF_8_FLAG, f"-Xmx{HEAP_MB}m", *trust_store_flags()]
        path = [str(conf), str(self._web), f"{jar_folder('yarn')}/*", f"{spark_home()}/jars/*"]
        return [str(java_binary()), *flags, "-cp", ":".join(path), main, *arguments]

    def environment(self, conf: Path) -> dict[str, str]:
        return {
            **UTF_8_LOCALE,
            "JAVA_HOME": str(java_home()),
            "HADOOP_CONF_DIR": str(conf),
            "SPARK_HOME": str(spark_home()),
            "SPARK_CONF_DIR": str(conf),
            "SPARK_LOCAL_IP": HOST,
            "USER": "hadoop",
            "HADOOP_USER_NAME": "hadoop",
        }

    def configuration(self, name: str) -> Path:
        """Write a program's configuration; return its folder. `name` is a daemon's, or any name for a client."""
        conf = self.folder / "conf" / name
        conf.mkdir(parents=True, exist_ok=True)
        s3a = {key.removeprefix("spark.hadoop."): value for key, value in s3a_settings(self._s3).items()}
        s3a["fs.s3a.aws.credentials.provider"] = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
        s3a |= {"fs.defaultFS": f"hdfs://{self._at('hdfs')}", "hadoop.tmp.dir": str(self.folder / "tmp" / name)}
        _write_xml(conf / "core-site.xml", s3a)
        _write_xml(conf / "hdfs-site.xml", self._hdfs())
        _write_xml(conf / "yarn-site.xml", self._yarn() | (self._node(name) if name in NODES else {}))
        _write_xml(conf / "capacity-scheduler.xml", _SCHEDULER)
        (conf / "log4j2.properties").write_text(_LOG4J)
        write_properties(conf / "spark-defaults.conf", self._spark_defaults())
        return conf

    def _at(self, port: str) -> str:
        return f"{HOST}:{self.ports[port]}"

    def _hdfs(self) -> dict[str, str]:
        return {
            "dfs.replication": "1",
            "dfs.namenode.name.dir": f"file://{self.folder}/hdfs/name",
            "dfs.datanode.data.dir": f"file://{self.folder}/hdfs/data",
            "dfs.namenode.safemode.extension": "0",
            "dfs.permissions.enabled": "false",
            "dfs.namenode.http-address": self._at("hdfs-http"),
            "dfs.datanode.address": self._at("data"),
            "dfs.datanode.http.address": self._at("data-http"),
            "dfs.datanode.ipc.address": self._at("data-ipc"),
            "dfs.datanode.hostname": HOST,
        }

    def _yarn(self) -> dict[str, str]:
        manager = "yarn.resourcemanager"
        return {
            f"{manager}.hostname": HOST,
            f"{manager}.address": self._at("rm"),
            f"{manager}.scheduler.address": self._at("rm-scheduler"),
            f"{manager}.resource-tracker.address": self._at("rm-tracker"),
            f"{manager}.admin.address": self._at("rm-admin"),
            f"{manager}.webapp.address": self._at("rm-http"),
            # Two nodes on one host.
            "yarn.scheduler.include-port-in-node-name": "true",
            "yarn.scheduler.minimum-allocation-mb": str(STEP_MB),
            "yarn.scheduler.maximum-allocation-mb": str(NODE_MB),
            "yarn.nm.liveness-monitor.expiry-interval-ms": "10000",
            "yarn.resourcemanager.nm.liveness-monitor.interval-ms": "1000",
            "yarn.nodemanager.resource.memory-mb": str(NODE_MB),
            "yarn.nodemanager.resource.cpu-vcores": str(NODE_CORES),
            "yarn.nodemanager.vmem-check-enabled": "false",
            # Used to find and stop a node's containers.
            "yarn.nodemanager.env-whitelist": f"JAVA_HOME,{PLATFORM_VARIABLE},{SERVICE_VARIABLE}",
            # Even if the machine's disk is nearly full.
            "yarn.nodemanager.disk-health-checker.enable": "false",
        }

    def _node(self, name: str) -> dict[str, str]:
        manager, folder = "yarn.nodemanager", self.folder / name
        return {
            f"{manager}.hostname": HOST,
            f"{manager}.address": self._at(name),
            f"{manager}.localizer.address": self._at(f"{name}-localizer"),
            f"{manager}.webapp.address": self._at(f"{name}-http"),
            f"{manager}.local-dirs": str(folder / "local"),
            f"{manager}.log-dirs": str(folder / "logs"),
        }

    def _spark_defaults(self) -> dict[str, str]:
        """EMR's: event logs are on, Hadoop's and AWS's jars on the class path, a tenth and more for overhead."""
        return {
            "spark.driver.extraClassPath": job_class_path(),
            "spark.executor.extraClassPath": job_class_path(),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{self.events}",
            "spark.yarn.executor.memoryOverheadFactor": "0.1875",
            "spark.yarn.jars": f"local:{spark_home()}/jars/*",
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": HOST,
            "spark.executorEnv.SPARK_LOCAL_IP": HOST,
        }

    def logs_of_containers(self) -> list[Path]:
        return [path for node in NODES for path in (self.folder / node / "logs").rglob("stderr")]

    @property
    def events(self) -> Path:
        path = self.folder / "events"
        path.mkdir(exist_ok=True)
        return path


_SCHEDULER: Mapping[str, str] = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.root.default.maximum-capacity": "100",
    # EMR's own is as generous: an application's master may take what it needs.
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
}


def _write_xml(path: Path, properties: Mapping[str, str]) -> None:
    root = ElementTree.Element("configuration")
    for name, value in properties.items():
        entry = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(entry, "name").text = name
        ElementTree.SubElement(entry, "value").text = value
    ElementTree.ElementTree(root).write(path, encoding="utf-8")
