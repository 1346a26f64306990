"""What a person needs to connect the VPN: read with their own AWS credentials, from the current secrets."""

from operate import outputs
from operate.errors import OperateError
from settings.environment import Environment


def connection(environment: Environment, user: str) -> list[tuple[str, str]]:
    """Return what a VPN client needs, by name. Raises OperateError for an unknown user, or when AWS refuses."""
    if user not in environment.vpn.users:
        known = ", ".join(environment.vpn.users) or "nobody"
        raise OperateError(
            f"there is no VPN user {user}: vpn.users of environments/{environment.name}.toml names "
            f"{known}; name one of these, or add it there and deploy"
        )
    session = outputs.check_account(environment)
    address = outputs.output(environment, "vpn", "ServerAddress")
    with outputs.one_line(environment):
        client = session.client("secretsmanager", config=outputs.QUICK)
        key, password = (
            client.get_secret_value(SecretId=name)["SecretString"]
            for name in (environment.vpn_secret(".pre-shared-key"), environment.vpn_secret(user))
        )
    return [("server", address), ("pre-shared key", key), ("user name", user), ("password", password)]
