"""The users of the local broker: one per role, each with a random password that only files hold.

SASL/PLAIN, on loopback alone: the broker knows exactly the users of its configuration, so a new role, or a platform
folder of an earlier release, needs only a restart (docs/decisions/0035).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from local.private_files import password, write_private

LISTENER, CONTROLLER = "CLIENTS", "CONTROLLER"
MECHANISM, PROTOCOL = "PLAIN", "SASL_PLAINTEXT"
# Both have all rights: the broker itself, and the platform, which creates, reads and repairs everything.
BROKER, ADMIN = "broker", "admin"
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True, kw_only=True)
class KafkaUsers:
    """The users of one broker and their passwords, which are left out of its representation."""

    folder: Path
    passwords: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, folder: Path, roles: Iterable[str] = ()) -> Self:
        """Return the users whose passwords are kept in `folder` (mode 0700), created the first time."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(folder=folder, passwords={name: password(folder / name) for name in (BROKER, ADMIN, *roles)})

    def login(self, user: str) -> dict[str, str]:
        """Return how librdkafka's clients log in as a user."""
        return {
            "security.protocol": PROTOCOL,
            "sasl.mechanisms": MECHANISM,
            "sasl.username": user,
            "sasl.password": self.passwords[user],
        }

    def java_login(self, user: str) -> dict[str, str]:
        """Return how Java's clients log in as a user."""
        return {"security.protocol": PROTOCOL, "sasl.mechanism": MECHANISM, "sasl.jaas.config": self.jaas(user)}

    def jaas(self, user: str) -> str:
        return f'{_MODULE} username="{user}" password="{self.passwords[user]}";'

    def client_path(self, user: str) -> Path:
        """Name the file that `client_file` writes."""
        return self.folder / f"{user}.properties"

    def client_file(self, user: str, bootstrap_servers: str) -> Path:
        """Write librdkafka clients' settings to connect as a user (`kcat -F` reads them, too); return the file."""
        path = self.client_path(user)
        properties = {"bootstrap.servers": bootstrap_servers, **self.login(user)}
        write_private(path, "".join(f"{name}={value}\n" for name, value in properties.items()))
        return path

    @property
    def broker_properties(self) -> dict[str, str]:
        """The broker's settings: both listeners require a login, and all but broker and administrator need ACLs."""
        known = " ".join(f'user_{name}="{word}"' for name, word in self.passwords.items())
        module = f'{_MODULE} username="{BROKER}" password="{self.passwords[BROKER]}" {known};'
        return {
            "listener.security.protocol.map": f"{LISTENER}:{PROTOCOL},{CONTROLLER}:{PROTOCOL}",
            "inter.broker.listener.name": LISTENER,
            "controller.listener.names": CONTROLLER,
            "sasl.enabled.mechanisms": MECHANISM,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "sasl.mechanism.controller.protocol": MECHANISM,
            **{
                f"listener.name.{listener.lower()}.{MECHANISM.lower()}.sasl.jaas.config": module
                for listener in (LISTENER, CONTROLLER)
            },
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "false",
            "super.users": f"User:{BROKER};User:{ADMIN}",
        }
