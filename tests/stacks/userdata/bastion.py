"""The bastion's disk, as a folder in which bash runs its user data script; the script's commands are stubbed.

The server's stub imitates the real one (SoftEther 5.01): commands echoed on the screen, lines of the saved
configuration with Windows line ends, nothing without a password once one is set.
"""

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stacks.vpn_script import USER_DATA, fill

SECRETS = {"psk-arn": "PreSharedKey123", "vpn/alice": "AlicesPassword456", "vpn/bob": "BobsPassword789"}
# Each stub records its arguments, which the process list would show.
NOTE = """#!/bin/bash
printf '%s\\n' "${0##*/} $*" >>"$ROOT/arguments"
"""
STUBS = {
    # Both search for a name in the same place, `--secret-id` or `--name`.
    "aws": """exec cat "$ROOT/secrets/$4" """,
    "curl": """for last; do :; done; while [[ $1 != --output ]]; do shift; done; cp "$ROOT/release" "$2" """,
    "systemctl": """case $1 in
  start) touch "$ROOT/opt/vpnserver/running" ;;
  stop) rm -f "$ROOT/opt/vpnserver/running" ;;
  is-active) [[ -e $ROOT/opt/vpnserver/running ]] ;;
esac""",
    "systemd-run": """[[ -n $METADATA ]]""",
    "cfn-signal": "",
    **dict.fromkeys(("dnf", "dd", "mkswap", "swapon"), ""),
}
VPNCMD = """#!/bin/bash
printf '%s\\n' "vpncmd $*" >>"$ROOT/arguments"
home=$ROOT/opt/vpnserver
[[ -e $home/running ]] || exit 1
for last; do :; done
file=${last#/IN:}
command=$(<"$file")
stat --format=%a "$file" >>"$ROOT/modes"
echo "$command"
read -r given
# The configuration has the password, so a new one has none.
password=$(sed -n 's/^password //p' "$home/vpn_server.config")
[[ -z $password || $given == "$password" ]] || exit 1
[[ $command != "$REFUSED"* ]] || exit 33
echo "$command" >>"$ROOT/commands"
set -- $command
case $command in
  HubCreate*) printf '\\tdeclare lake\\r\\n' >>"$home/vpn_server.config" ;;
  ServerPasswordSet*) [[ -n $OPEN ]] || echo "password $2" >>"$home/vpn_server.config" ;;
  UserCreate*) echo "user $2" >>"$home/vpn_server.config" ;;
  UserDelete*) sed -i "/^user $2$/d" "$home/vpn_server.config" ;;
  UserList)
    echo 'User Name,Full Name,Group Name,Description,Auth Method,Num Logins,Last Login,Expiration Date,Bytes,Packets'
    sed -n 's/^user \\(.*\\)/\\1,,-,,Password Authentication,0,(None),No Expiration,0,0/p' "$home/vpn_server.config" ;;
  SessionList)
    echo 'Session Name,VLAN ID,Location,User Name,Source Host Name,TCP Connections,Transfer Bytes,Transfer Packets'
    [[ ! -e $ROOT/sessions ]] || cat "$ROOT/sessions" ;;
esac
"""
MAKEFILE = """i_read_and_agree_the_license_agreement:
\tcp vpncmd.in vpncmd
\tcp vpncmd.in vpnserver
\tchmod 755 vpncmd vpnserver
"""


@dataclass
class Machine:
    """A folder that replaces the bastion's disk."""

    root: Path
    status: int = 0

    def boot(
        self, *, sha256: str | None = None, refused: str = "no command", open_: bool = False, metadata: bool = False
    ) -> str:
        """Run the script; return its output. Its status is in `signal`, as CloudFormation would get it.

        `open_`: the server takes commands without a password; `metadata`: users would reach the instance's credentials.
        """
        script = self.root / "user-data"
        script.write_text(self._script(sha256 if sha256 is not None else self.checksum))
        return self._run(script, REFUSED=refused, OPEN="yes" if open_ else "", METADATA="yes" if metadata else "")

    def sync(self, *, refused: str = "no command") -> str:
        """Do what the timer does; return its output."""
        return self._run(self.root / "usr/local/sbin/softether-setup", "people", REFUSED=refused)

    def _run(self, script: Path, *arguments: str, **variables: str) -> str:
        environment = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root), **variables}
        done = subprocess.run(
            ["bash", str(script), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        self.status = done.returncode
        return done.stdout

    @property
    def checksum(self) -> str:
        return hashlib.sha256((self.root / "release").read_bytes()).hexdigest()

    @property
    def signal(self) -> str:
        """The last signal to CloudFormation."""
        return [line for line in self.lines("arguments") if line.startswith("cfn-signal ")][-1]

    def lines(self, name: str) -> list[str]:
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []

    @property
    def users(self) -> list[str]:
        """The server's users."""
        lines = self.lines("opt/vpnserver/vpn_server.config")
        return [line.removeprefix("user ") for line in lines if line.startswith("user ")]

    def forget(self) -> None:
        """Clear the records."""
        (self.root / "commands").unlink()

    def called(self, program: str) -> bool:
        return any(line.startswith(f"{program} ") for line in self.lines("arguments"))

    def _script(self, sha256: str) -> str:
        values = {
            "RELEASE_URL": "https://example.org/softether.tar.gz",
            "RELEASE_SHA256": sha256,
            "PRE_SHARED_KEY_SECRET": "psk-arn",
            "USERS_PARAMETER": "users",
            "USER_SECRET_PREFIX": "vpn/",
            "HUB": "lake",
            "VPC_NETWORK": "10.100.0.0/255.255.0.0",
            "STACK": "dev-cdc-lake-vpn",
            "RESOURCE": "Bastion",
            "REGION": "ap-southeast-2",
        }
        text = fill(USER_DATA.read_text(), values)
        for folder in ("/opt/aws/bin/", "/opt", "/run", "/etc/", "/usr/local/sbin", "/swapfile"):
            instead = f"{self.root}/bin/" if folder == "/opt/aws/bin/" else f"{self.root}{folder}"
            text = text.replace(f"={folder}", f"={instead}").replace(f" {folder}", f" {instead}")
            text = text.replace(f'"{folder}', f'"{instead}').replace(f">{folder}", f">{instead}")
        return text
