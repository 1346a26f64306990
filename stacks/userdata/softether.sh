#!/bin/bash
# Makes this machine the VPN bastion: SoftEther for L2TP over IPsec, set up anew from the secrets of now. Runs once, at the
# first boot; run /usr/local/sbin/softether-setup to take changed secrets over. stacks/vpn.py fills in what is between @.
set -Eeuo pipefail

readonly release_url='@RELEASE_URL@'
readonly release_sha256='@RELEASE_SHA256@'
readonly pre_shared_key_secret='@PRE_SHARED_KEY_SECRET@'
readonly admin_password_secret='@ADMIN_PASSWORD_SECRET@'
readonly user_password_secret='@USER_PASSWORD_SECRET@'
readonly hub='@HUB@'
readonly user='@USER@'
# Where clients send through the VPN: address/mask. Everything else they send as before.
readonly vpc_network='@VPC_NETWORK@'
readonly stack='@STACK@'
readonly resource='@RESOURCE@'
readonly AWS_DEFAULT_REGION='@REGION@' AWS_RETRY_MODE=standard AWS_MAX_ATTEMPTS=10
export AWS_DEFAULT_REGION AWS_RETRY_MODE AWS_MAX_ATTEMPTS

readonly home=/opt/vpnserver
readonly service=softether
readonly swap_file=/swapfile
reason='unexpected error'
runtime=''

main() {
  trap finish EXIT
  install --mode=700 "$0" /usr/local/sbin/softether-setup.new
  mv /usr/local/sbin/softether-setup.new /usr/local/sbin/softether-setup
  # In memory, readable by root alone, and gone at the end.
  runtime=$(mktemp --directory --tmpdir=/run softether.XXXXXX)
  [[ -x $home/vpnserver ]] || install_server
  configure
  reason='the VPN server is up'
}

# Tell CloudFormation how it went: a failure here fails the deployment, with the reason. A server that is half set up
# doesn't stay up.
finish() {
  local status=$?
  [[ -z $runtime ]] || rm --recursive --force -- "$runtime"
  if ((status != 0)); then
    echo "softether: $reason" >&2
    systemctl stop "$service" || true
  fi
  # Once the stack is there it takes no more signals.
  /opt/aws/bin/cfn-signal --exit-code "$status" --reason "$reason" \
    --stack "$stack" --resource "$resource" --region "$AWS_DEFAULT_REGION" || true
}

fail() {
  reason=$1
  exit 1
}

install_server() {
  [[ $release_sha256 =~ ^[0-9a-f]{64}$ ]] ||
    fail 'the SoftEther release has no checksum: run make lock-plugins, check it, and deploy again'
  reason='cannot make swap space'
  add_swap
  reason='cannot install the compiler that links SoftEther'
  dnf install --assumeyes --quiet gcc make tar gzip
  reason="cannot download $release_url"
  curl --fail --silent --show-error --location --proto '=https' --retry 5 --retry-all-errors \
    --output "$runtime/release.tar.gz" "$release_url"
  check_release
  reason='cannot build SoftEther'
  tar --extract --gzip --no-same-owner --file="$runtime/release.tar.gz" --directory=/opt
  make --directory="$home" i_read_and_agree_the_license_agreement >"$runtime/make.log" 2>&1 || {
    tail --lines=20 "$runtime/make.log" >&2
    exit 1
  }
  chmod --recursive go= "$home"
  write_unit
}

# 512 MB aren't enough for dnf.
add_swap() {
  [[ ! -e $swap_file ]] || return 0
  dd if=/dev/zero of="$swap_file" bs=1M count=1024 status=none
  chmod 600 "$swap_file"
  mkswap --quiet "$swap_file"
  swapon "$swap_file"
  echo "$swap_file none swap defaults 0 0" >>/etc/fstab
}

# Nothing of the release is unpacked or run before this.
check_release() {
  local actual
  actual=$(sha256sum "$runtime/release.tar.gz" | cut --delimiter=' ' --fields=1)
  [[ $actual == "$release_sha256" ]] ||
    fail "the SoftEther release has SHA-256 $actual, pinned is $release_sha256: nothing was installed"
}

write_unit() {
  cat >"/etc/systemd/system/$service.service" <<UNIT
[Unit]
Description=SoftEther VPN server
After=network-online.target
Wants=network-online.target

[Service]
Type=forking
ExecStart=$home/vpnserver start
ExecStop=$home/vpnserver stop
Restart=on-failure
KillMode=process
UMask=0077
NoNewPrivileges=yes
PrivateTmp=yes
ProtectHome=yes
ProtectSystem=strict
ReadWritePaths=$home
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_RAW CAP_SYS_NICE CAP_SYSLOG CAP_SETUID

[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable "$service"
}

configure() {
  local pre_shared_key admin_password user_password
  reason='cannot read the VPN secrets'
  pre_shared_key=$(secret "$pre_shared_key_secret")
  admin_password=$(secret "$admin_password_secret")
  user_password=$(secret "$user_password_secret")
  start_afresh
  vpn "HubCreate $hub /PASSWORD:$admin_password"
  # NAT in the server's own process: the other two ways need raw packets and a firewall rule.
  vpn 'ExtOptionSet DisableKernelModeSecureNAT /VALUE:1' "$hub"
  vpn 'ExtOptionSet DisableIpRawModeSecureNAT /VALUE:1' "$hub"
  vpn "DhcpSet /START:192.168.30.10 /END:192.168.30.200 /MASK:255.255.255.0 /EXPIRE:7200 /GW:none /DNS:192.168.30.1 \
/DNS2:none /DOMAIN:none /LOG:yes /PUSHROUTE:$vpc_network/192.168.30.1" "$hub"
  vpn 'SecureNatEnable' "$hub"
  # Who connected stays in the security log; every packet's header needn't.
  vpn 'LogDisable packet' "$hub"
  vpn "UserCreate $user /GROUP:none /REALNAME:none /NOTE:none" "$hub"
  vpn "UserPasswordSet $user /PASSWORD:$user_password" "$hub"
  vpn "IPsecEnable /L2TP:yes /L2TPRAW:no /ETHERIP:no /PSK:$pre_shared_key /DEFAULTHUB:$hub"
  # Last: from here on the server wants the password, which vpncmd would only take as an argument or from a keyboard.
  vpn "ServerPasswordSet $admin_password"$'\n''Flush'
  check
}

secret() {
  aws secretsmanager get-secret-value --secret-id "$1" --query SecretString --output text
}

# Begin with a configuration of our own: no DEFAULT hub, one management port, and none of the functions that would make
# this server known to, or reachable through, others.
start_afresh() {
  reason='cannot start SoftEther'
  systemctl stop "$service"
  rm --recursive --force -- "$home/vpn_server.config" "$home/backup.vpn_server.config"
  (
    umask 077
    cat >"$home/vpn_server.config" <<'CONFIG'
declare root
{
	declare DDnsClient
	{
		bool Disabled true
	}
	declare ListenerList
	{
		declare Listener0
		{
			bool DisableDos false
			bool Enabled true
			uint Port 443
		}
	}
	declare ServerConfiguration
	{
		bool DisableNatTraversal true
		bool DisableOpenVPNServer true
		bool DisableSSTPServer true
		bool EnableVpnAzure false
		bool UseKeepConnect false
	}
	declare VirtualHUB
	{
	}
}
CONFIG
  )
  systemctl start "$service"
  for _ in {1..30}; do
    ! run_vpncmd 'About' || return 0
    sleep 1
  done
  fail "SoftEther doesn't answer"
}

# Give the server one command: `vpn COMMAND [HUB]`. What fails is named by its first word, because the rest may be secret.
vpn() {
  reason="SoftEther refused ${1%% *}"
  run_vpncmd "$@" || exit 1
}

# Commands go through a file in memory, because arguments are in the process list; and vpncmd repeats them, so its output
# goes there, too. Without an end to its input it would wait for one for ever.
run_vpncmd() {
  (
    umask 077
    printf '%s\n' "$1" >"$runtime/command"
    timeout 10 "$home/vpncmd" localhost:443 /SERVER ${2:+"/ADMINHUB:$2"} "/IN:$runtime/command" \
      </dev/null >"$runtime/output" 2>&1
  )
}

# Ask the server itself, and don't trust that the commands did what they say.
check() {
  reason='SoftEther is up, but not as it should be'
  ! run_vpncmd 'HubList' || fail 'SoftEther takes commands without a password'
  # Its lines end as on Windows.
  ! grep --quiet --line-regexp --perl-regexp '\s*declare DEFAULT\s*' "$home/vpn_server.config" ||
    fail 'SoftEther has a hub DEFAULT'
  grep --quiet --line-regexp --perl-regexp "\\s*declare $hub\\s*" "$home/vpn_server.config" ||
    fail "SoftEther has not saved the hub $hub"
}

main
