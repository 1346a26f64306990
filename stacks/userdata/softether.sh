#!/bin/bash
# Makes this machine the VPN bastion: SoftEther for L2TP over IPsec, set up anew at the first boot, or by hand with
# /usr/local/sbin/softether-setup. With the argument `people`, every five minutes: makes the server's users those of the
# list, each with the password that her secret has now. stacks/vpn.py fills in what is between @.
set -Eeuo pipefail

readonly release_url='@RELEASE_URL@'
readonly release_sha256='@RELEASE_SHA256@'
readonly pre_shared_key_secret='@PRE_SHARED_KEY_SECRET@'
# Who may connect: names with commas between them, or `-`. A person's secret is named by the prefix and her name.
readonly users_parameter='@USERS_PARAMETER@'
readonly user_secret_prefix='@USER_SECRET_PREFIX@'
readonly hub='@HUB@'
# Where clients send through the VPN: address/mask. Everything else they send as before.
readonly vpc_network='@VPC_NETWORK@'
readonly stack='@STACK@'
readonly resource='@RESOURCE@'
readonly AWS_DEFAULT_REGION='@REGION@' AWS_RETRY_MODE=standard AWS_MAX_ATTEMPTS=10
export AWS_DEFAULT_REGION AWS_RETRY_MODE AWS_MAX_ATTEMPTS

readonly home=/opt/vpnserver
readonly service=softether
readonly swap_file=/swapfile
# There once the server is set up; of no use elsewhere, made anew by each set-up.
readonly admin_password_file=$home/admin-password
# In memory: what the server was last told of each person, and when the list was last read.
readonly state=/run/softether-people
# Where an instance finds its role's credentials.
readonly metadata='169.254.0.0/16 fd00:ec2::254/128'
readonly longest_silence_minutes=60
reason='unexpected error'
runtime=''
admin_password=''

main() {
  # One at a time: the boot, the timer, somebody's hand.
  exec 9>/run/softether.lock
  flock 9
  if [[ ${1:-} == people ]]; then
    trap say_why EXIT
  else
    trap finish EXIT
  fi
  # In memory, readable by root alone, and gone at the end.
  runtime=$(mktemp --directory --tmpdir=/run softether.XXXXXX)
  if [[ ${1:-} == people ]]; then
    keep_people
  else
    set_up
  fi
}

set_up() {
  install --mode=700 "$0" /usr/local/sbin/softether-setup.new
  mv /usr/local/sbin/softether-setup.new /usr/local/sbin/softether-setup
  [[ -x $home/vpnserver ]] || install_server
  configure
  systemctl enable --now "$service-people.timer"
  reason='the VPN server is up'
}

# Tell CloudFormation how it went: a failure here fails the deployment, with the reason. A server that is half set up
# doesn't stay up.
finish() {
  local status=$?
  [[ -z $runtime ]] || rm --recursive --force -- "$runtime"
  if ((status != 0)); then
    echo "softether: $reason" >&2
    rm --force -- "$admin_password_file"
    systemctl stop "$service" || true
  fi
  # Once the stack is there it takes no more signals.
  /opt/aws/bin/cfn-signal --exit-code "$status" --reason "$reason" \
    --stack "$stack" --resource "$resource" --region "$AWS_DEFAULT_REGION" || true
}

say_why() {
  local status=$?
  [[ -z $runtime ]] || rm --recursive --force -- "$runtime"
  ((status == 0)) || echo "softether: $reason" >&2
}

fail() {
  reason=$1
  exit 1
}

install_server() {
  [[ $release_sha256 =~ ^[0-9a-f]{64}$ ]] ||
    fail 'the SoftEther release has no checksum: run ./lake dev lock plugins, check it, and deploy again'
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
# Users' traffic leaves from this process, and the instance's credentials aren't theirs.
IPAddressDeny=$metadata
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_RAW CAP_SYS_NICE CAP_SYSLOG CAP_SETUID

[Install]
WantedBy=multi-user.target
UNIT
  cat >"/etc/systemd/system/$service-people.service" <<UNIT
[Unit]
Description=VPN users as their list and their secrets say
After=network-online.target $service.service

[Service]
Type=oneshot
ExecStart=/usr/local/sbin/softether-setup people
UNIT
  cat >"/etc/systemd/system/$service-people.timer" <<UNIT
[Timer]
OnBootSec=1min
OnUnitInactiveSec=5min

[Install]
WantedBy=timers.target
UNIT
  systemctl daemon-reload
  systemctl enable "$service"
}

configure() {
  reason='cannot make a password'
  # It stays here. Letters and digits: SoftEther's command language has its own idea of the others.
  admin_password=$(head --bytes=24 /dev/urandom | base64 --wrap=0 | tr '+/' 'ab')
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
  # From here on the server wants the password.
  vpn "ServerPasswordSet $admin_password"$'\n''Flush'
  check
  (
    umask 077
    printf '%s\n' "$admin_password" >"$admin_password_file"
  )
  keep_people
}

# Let in who is on the list, with the password of now, and nobody else. One whose secret can't be read keeps her old one,
# and the others don't wait for her.
keep_people() {
  local listed user users unread=''
  [[ -s $admin_password_file ]] || fail 'the VPN server is not set up: run softether-setup'
  admin_password=$(<"$admin_password_file")
  mkdir --mode=700 --parents "$state"
  listed=$(read_list) || close_after_silence
  touch "$state/.read"
  systemctl is-active --quiet "$service" || start_server
  users=$(server_users) || fail 'SoftEther shows no users'
  for user in $users; do
    [[ ,$listed, == *",$user,"* ]] || remove_person "$user"
  done
  for user in ${listed//,/ }; do
    [[ $user == - ]] || keep_person "$user" "$users" || unread+=" $user"
  done
  keep_pre_shared_key
  [[ -z $unread ]] || fail "cannot read the VPN secret of$unread"
}

read_list() {
  aws ssm get-parameter --name "$users_parameter" --query Parameter.Value --output text
}

# Who was taken from the list must not stay in because nobody can read it.
close_after_silence() {
  [[ -e $state/.read ]] || touch "$state/.read"
  [[ -n $(find "$state/.read" -mmin "+$longest_silence_minutes") ]] || fail 'cannot read who may connect'
  systemctl stop "$service"
  fail "cannot read who may connect, for more than $longest_silence_minutes minutes: the VPN server is stopped"
}

# The first column of SoftEther's table, below its head; without a table it fails.
server_users() {
  run_vpncmd 'UserList' "$hub" || return 1
  awk -F, 'NF >= 8 && seen++ { print $1 } END { exit !seen }' "$runtime/output"
}

keep_person() {
  local password mark
  password=$(secret "$user_secret_prefix$1") && [[ -n $password ]] || return 1
  mark=$(sha256sum <<<"$password")
  if [[ $'\n'$2$'\n' != *$'\n'"$1"$'\n'* ]]; then
    vpn "UserCreate $1 /GROUP:none /REALNAME:none /NOTE:none" "$hub"
  elif [[ -e $state/$1 && $(<"$state/$1") == "$mark" ]]; then
    return 0
  fi
  vpn "UserPasswordSet $1 /PASSWORD:$password" "$hub"
  disconnect "$1"
  printf '%s\n' "$mark" >"$state/$1"
  echo "softether: $1 has the password of now"
}

remove_person() {
  vpn "UserDelete $1" "$hub"
  disconnect "$1"
  rm --force -- "$state/$1"
  echo "softether: $1 may no longer connect"
}

# A session would outlive its user and its password.
disconnect() {
  local session sessions
  vpn 'SessionList' "$hub"
  mapfile -t sessions < <(
    awk -F, -v user="$1" '{ for (i = 2; i <= NF; i++) if (tolower($i) == user) { print $1; next } }' "$runtime/output"
  )
  for session in "${sessions[@]}"; do
    # It may have ended meanwhile.
    run_vpncmd "SessionDisconnect $session" "$hub" || true
  done
}

keep_pre_shared_key() {
  local key mark
  reason='cannot read the VPN pre-shared key'
  key=$(secret "$pre_shared_key_secret")
  mark=$(sha256sum <<<"$key")
  [[ ! -e $state/.key || $(<"$state/.key") != "$mark" ]] || return 0
  vpn "IPsecEnable /L2TP:yes /L2TPRAW:no /ETHERIP:no /PSK:$key /DEFAULTHUB:$hub"
  printf '%s\n' "$mark" >"$state/.key"
}

secret() {
  aws secretsmanager get-secret-value --secret-id "$1" --query SecretString --output text
}

# Begin with a configuration of our own: no DEFAULT hub, one management port, and none of the functions that would make
# this server known to, or reachable through, others.
start_afresh() {
  reason='cannot start SoftEther'
  systemctl stop "$service"
  rm --recursive --force -- "$home/vpn_server.config" "$home/backup.vpn_server.config" "$admin_password_file" "$state"
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
  start_server
}

start_server() {
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

# Commands and the password, which vpncmd asks for once the server has one, go through files in memory, because arguments
# are in the process list; and vpncmd repeats commands, so its output goes there, too. After a wrong password it asks
# again: the end-of-input character is its way out.
run_vpncmd() {
  (
    umask 077
    printf '%s\n' "$1" >"$runtime/command"
    printf '%s\n\004' "$admin_password" >"$runtime/input"
    timeout 10 "$home/vpncmd" localhost:443 /SERVER /CSV ${2:+"/ADMINHUB:$2"} "/IN:$runtime/command" \
      <"$runtime/input" >"$runtime/output" 2>&1
  )
}

# Ask the server itself, and don't trust that the commands did what they say.
check() {
  reason='SoftEther is up, but not as it should be'
  ! admin_password='' run_vpncmd 'HubList' || fail 'SoftEther takes commands without a password'
  # As the service runs: with its addresses denied.
  ! systemd-run --quiet --wait --collect --property="IPAddressDeny=$metadata" \
    curl --silent --output /dev/null --max-time 5 http://169.254.169.254/ ||
    fail "VPN users would reach the instance's credentials: systemd doesn't deny addresses here"
  # Its lines end as on Windows.
  ! grep --quiet --line-regexp --perl-regexp '\s*declare DEFAULT\s*' "$home/vpn_server.config" ||
    fail 'SoftEther has a hub DEFAULT'
  grep --quiet --line-regexp --perl-regexp "\\s*declare $hub\\s*" "$home/vpn_server.config" ||
    fail "SoftEther has not saved the hub $hub"
}

main "$@"
