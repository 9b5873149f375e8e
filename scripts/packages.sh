# shellcheck shell=bash
# To be read by other scripts, which have a function `say`: packages of Debian, and environments of Python.

# Runs apt-get as root. It waits while another one works.
apt() {
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Reads which packages there are. What an earlier time has read is good enough where that does not work.
apt_update() {
    apt update || say 'the lists of packages could not be updated: trying those that are there'
}

# Installs packages of Debian.
apt_install() {
    apt install -y --no-install-recommends "$@" >/dev/null
}

# Makes an environment of Python in a folder, with the packages of a list. Nothing is done where it is there already; else what
# was in the folder goes. More arguments are options of pip.
python_environment() {
    local folder=$1 list=$2
    shift 2
    cmp -s "$list" "$folder/installed.txt" && return
    if ! python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        say 'installing python3-venv'
        apt_update
        apt_install python3-venv
    fi
    say "the packages of $list"
    rm -rf "$folder"
    mkdir -p "${folder%/*}"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list" "$@"
    cp "$list" "$folder/installed.txt"
}
