# shellcheck shell=bash disable=SC2154
# Sourced by run.sh: unpacks the folder into $packed, and makes sure that its programs run on this machine.

# unxz FILE: the bytes of a compressed file.
unxz_file() {
    xz -dc "$1" 2>/dev/null || python3 -c 'import lzma, shutil, sys
shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$1"
}

mkdir -p "$packed"
for entry in "$folder"/*; do
    # The wheels of peers are unpacked later.
    [ "${entry##*/}" = peers ] || cp -r "$entry" "$packed/"
done

# The harness is compiled anew if the packed one does not run.
harness=$packed/harness
chmod +x "$harness"
"$harness" >/dev/null 2>&1
if [ $? -ne 1 ]; then
    if ! "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -pthread -o "$harness" \
        "$packed"/source/*.c -ldl -lm; then
        echo "error: the harness does not run with this C library, and there is no C compiler" >&2
        exit 2
    fi
fi
archive=$packed/models.tar.xz
if [ -f "$archive" ] && ! { unxz_file "$archive" | tar -x -C "$packed"; }; then
    echo "error: $archive cannot be unpacked: it needs tar, and xz or python3" >&2
    exit 2
fi

# The compiler; empty if the packed one does not run here, with the reason in the result.
schedc=$packed/schedc
if [ -f "$schedc.xz" ]; then
    unxz_file "$schedc.xz" >"$schedc"
    rm "$schedc.xz"
fi
if [ ! -f "$schedc" ]; then
    left_out program "the folder has none"
    schedc=
elif ! { chmod +x "$schedc" && "$schedc" --version >"$work/out" 2>&1; }; then
    left_out program "it does not start on this machine: $(head -c 300 "$work/out")"
    schedc=
fi

models() { awk '{ print $1 }' "$packed/models.txt"; }
magnitude() { awk -v name="$1" '$1 == name { print $2 }' "$packed/models.txt"; }

# Pairs of model and schedule in the order in which they are measured: the chosen schedules of all models
# first, since they tell most.
pairs() {
    local model path
    for model in $(models); do
        for path in "$packed/$model"/*.so; do
            case $(basename "$path" .so) in
                cpu | '*') ;;
                chosen) echo "0 $model chosen" ;;
                *) echo "1 $model $(basename "$path" .so)" ;;
            esac
        done
    done | sort -s -k 1,1 -k 3,3 | cut -d ' ' -f 2-
}

# The options of the harness that give a model's rows.
given() { echo --sample "$packed/$1/sample.npy" --seed "$seed" --model "$1"; }
