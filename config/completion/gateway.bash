# Completion of gateway(8) for bash.

# The values of a key in tables of one name, in the configuration and its drop-ins.
_gateway_names() {
    local table=$1 key=$2 file=$3
    awk -v head="[[$table]]" -v key="$key" '
        { line = $0; sub(/^[ \t]+/, "", line) }
        line ~ /^\[/ { inside = index(line, head) == 1 }
        inside && match(line, "^" key "[ \t]*=[ \t]*\"[^\"]*\"") {
            value = substr(line, RSTART, RLENGTH)
            sub(/^[^"]*"/, "", value)
            sub(/"$/, "", value)
            print value
        }' "$file" "${file%.toml}.d"/*.toml 2>/dev/null
}

_gateway() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} file=/etc/gateway/gateway.toml number options offers=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        offers='run check-config status flush quarantine purge-sealed discard-evidence audit pair forget scan probe --help --version'
        mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$word")
        return
    fi
    case $before in
        --config | --socket)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --seconds) return ;;
    esac
    for ((number = 2; number < COMP_CWORD; number++)); do
        if [ "${COMP_WORDS[number - 1]}" = --config ]; then file=${COMP_WORDS[number]}; fi
    done
    options='--json --config --socket'
    case $command in
        run) options=--config ;;
        check-config) options='--print --config' ;;
        status | flush | audit) ;;
        quarantine)
            options="--yes $options"
            if [ "$before" = quarantine ]; then offers='release give settle'; fi
            ;;
        purge-sealed | discard-evidence) options="--yes $options" ;;
        pair | forget | probe) offers=$(_gateway_names collar name "$file") ;;
        scan) options="--seconds $options" ;;
        *) return ;;
    esac
    case $word in
        -*) offers="$options --help" ;;
        *) if [ -z "$offers" ]; then offers="$options --help"; fi ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$word")
}

complete -F _gateway gateway
