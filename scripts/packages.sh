# shellcheck shell=bash
# Sourced by other scripts, which define a function `say`: packages of Debian, and environments of Python.

# Runs apt-get as root. Waits while another process runs it.
apt() {
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Updates the list of packages. If that fails, the previous list is used.
apt_update() {
    apt update || say 'the lists of packages could not be updated: using the old ones'
}

# Installs packages of Debian.
apt_install() {
    apt install -y --no-install-recommends "$@" >/dev/null
}

# Creates a Python environment in a folder, with the packages of a requirements file. An environment that is
# up to date stays; otherwise the folder is replaced. Further arguments are options of pip.
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
